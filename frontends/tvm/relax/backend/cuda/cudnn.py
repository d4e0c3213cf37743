"""Patterns of cuDNN: convolutions of images, with a bias and an activation."""

from __future__ import annotations

from ......module import Module
from ..pattern_registry import FusionPattern, get_patterns_with_prefix, register_patterns
from ..patterns import make_conv2d_pattern

register_patterns(
    [
        FusionPattern("cudnn.conv2d.nchw", *make_conv2d_pattern()),
        FusionPattern("cudnn.conv2d.nchw_bias", *make_conv2d_pattern(with_bias=True)),
        FusionPattern("cudnn.conv2d.nchw_bias_relu", *make_conv2d_pattern(with_bias=True, activation="relax.nn.relu")),
    ]
)


def partition_for_cudnn(mod: Module) -> Module:
    """A module in which the operators that cuDNN computes are functions, as of `FuseOpsByPattern`."""
    # lazy: the module imports this package
    from ...partition import FuseOpsByPattern

    return FuseOpsByPattern(get_patterns_with_prefix("cudnn"), True, annotate_codegen=True)(mod)


__all__ = ["partition_for_cudnn"]
