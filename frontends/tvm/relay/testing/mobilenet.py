"""MobileNet: depthwise followed by pointwise convolutions (Howard et al., 2017)."""

from __future__ import annotations

from typing import Any

from .....core.errors import OptionError
from ....relay import Expr, Function, free_vars, nn
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import batch_norm_infer, classifier, conv2d, data_of

_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
"""The channels and the stride of each block (Howard et al., 2017, table 1)."""


def _conv_bn_relu(data: Expr, name: str, layout: str, epsilon: float = 1e-5, **attributes: Any) -> Expr:
    """A convolution, a batch normalization and a ReLU. Weights for NHWC are HWIO, depthwise weights HWOI."""
    is_depthwise = attributes.get("groups", 1) > 1
    kernel = "OIHW" if layout == "NCHW" else "HWOI" if is_depthwise else "HWIO"
    convolved = conv2d(data, name=f"{name}_conv", data_layout=layout, kernel_layout=kernel, **attributes)
    return nn.relu(batch_norm_infer(convolved, name=f"{name}_bn", axis=layout.index("C"), epsilon=epsilon))


def conv_block(
    data: Expr,
    name: str,
    channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
) -> Expr:
    """A convolution, a batch normalization and a ReLU."""
    return _conv_bn_relu(
        data, name, layout, epsilon, channels=channels, kernel_size=kernel_size, strides=strides, padding=padding
    )


def separable_conv_block(
    data: Expr,
    name: str,
    depthwise_channels: int,
    pointwise_channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    downsample: bool = False,
    padding: tuple[int, int] = (1, 1),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Expr:
    """A depthwise and a pointwise convolution, each with a batch normalization and a ReLU."""
    stride = 2 if downsample else 1
    depthwise = {"channels": depthwise_channels, "groups": depthwise_channels, "kernel_size": kernel_size}
    filtered = _conv_bn_relu(data, f"{name}_depthwise", layout, **depthwise, strides=(stride, stride), padding=padding)
    return _conv_bn_relu(filtered, f"{name}_pointwise", layout, channels=pointwise_channels, kernel_size=(1, 1))


def mobile_net(
    num_classes: int = 1000,
    data_shape: tuple[int, ...] = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> Function:
    """The network. alpha: the width multiplier of all layers.  is_shallow: without the five equal blocks.

    OptionError for a layout other than NCHW and NHWC.
    """
    if layout not in ("NCHW", "NHWC"):
        raise OptionError(f"mobilenet: layout {layout!r}, expected 'NCHW' or 'NHWC'")
    data = data_of(data_shape[0], data_shape[1:], dtype)
    body = conv_block(data, "conv_block_1", int(32 * alpha), strides=(2, 2), layout=layout)
    before = int(32 * alpha)
    blocks = [*_BLOCKS[:6], *_BLOCKS[11:]] if is_shallow else _BLOCKS
    for n, (channels, stride) in enumerate(blocks, start=1):
        after = int(channels * alpha)
        name = f"separable_conv_block_{n}"
        body = separable_conv_block(body, name, before, after, downsample=stride == 2, layout=layout, dtype=dtype)
        before = after
    net = classifier(nn.global_avg_pool2d(body, layout=layout), num_classes, "fc")
    return Function(free_vars(net), net)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype, layout))


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """The network for images of shape `image_shape`."""
    return mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout)
