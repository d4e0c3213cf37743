"""MobileNetV2 with inverted residuals: blocks with a wide inside and narrow ends (Sandler et al., 2018)."""

from __future__ import annotations

from typing import Any

from ....relay import Expr, Function, free_vars, nn, op
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import batch_norm_infer, conv2d, data_of, dense_add_bias

_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""The expansion ratio, channels, number of blocks and first stride of each stage (Sandler et al., 2018, table 2)."""


def _convolution(data: Expr, name: str, channels: int, size: int, stride: int = 1, groups: int = 1) -> Expr:
    """A convolution and a batch normalization."""
    attributes: dict[str, Any] = {"channels": channels, "kernel_size": (size, size), "groups": groups}
    padding = (size // 2, size // 2)
    convolved = conv2d(data, name=name, strides=(stride, stride), padding=padding, **attributes)
    return batch_norm_infer(convolved, name=f"{name}_bn")


def _relu6(data: Expr) -> Expr:
    return op.clip(data, 0.0, 6.0)


def inverted_residual(data: Expr, name: str, before: int, after: int, stride: int, expand_ratio: int) -> Expr:
    """A block: expansion, depthwise convolution, projection; plus `data` if the shapes are equal."""
    inner, body = before * expand_ratio, data
    if expand_ratio != 1:
        body = _relu6(_convolution(body, f"{name}_expand", inner, 1))
    body = _relu6(_convolution(body, f"{name}_depthwise", inner, 3, stride, inner))
    body = _convolution(body, f"{name}_project", after, 1)
    return op.add(body, data) if stride == 1 and before == after else body


def _round_to_eight(channels: float) -> int:
    """The nearest multiple of 8, at least 8 and at least nine tenths of `channels`."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    width_mult: float = 1.0,
) -> Function:
    """The network; its results are logits, not probabilities. width_mult: the width multiplier of all layers."""
    before = _round_to_eight(32 * width_mult)
    data = data_of(batch_size, image_shape, dtype)
    body = _relu6(_convolution(data, "features_0", before, 3, 2))
    count = 0
    for ratio, channels, blocks, stride in _STAGES:
        after = _round_to_eight(channels * width_mult)
        for block in range(blocks):
            count += 1
            body = inverted_residual(body, f"features_{count}", before, after, stride if block == 0 else 1, ratio)
            before = after
    body = _relu6(_convolution(body, f"features_{count + 1}", _round_to_eight(1280 * max(1.0, width_mult)), 1))
    flat = nn.batch_flatten(nn.global_avg_pool2d(body))
    net = dense_add_bias(nn.dropout(flat, 0.2), units=num_classes, name="classifier")
    return Function(free_vars(net), net)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    width_mult: float = 1.0,
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype, width_mult))
