"""Patterns of cuDNN: convolutions of images, with a bias and an activation."""

from __future__ import annotations

from ..pattern_registry import FusionPattern, register_patterns
from ..patterns import make_conv2d_pattern

register_patterns(
    [
        FusionPattern("cudnn.conv2d.nchw", *make_conv2d_pattern()),
        FusionPattern("cudnn.conv2d.nchw_bias", *make_conv2d_pattern(with_bias=True)),
        FusionPattern("cudnn.conv2d.nchw_bias_relu", *make_conv2d_pattern(with_bias=True, activation="relax.nn.relu")),
    ]
)
