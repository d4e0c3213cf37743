"""Patterns of an accelerator for neural networks, as an example for those of your own; it has no code generator."""

from __future__ import annotations

from collections.abc import Iterator

from ...dpl import is_op, wildcard
from ..pattern_registry import FusionPattern, register_patterns
from ..patterns import make_conv2d_pattern, make_matmul_pattern

_OF_ONE = ("nn.relu", "sigmoid", "tanh", "nn.gelu", "nn.softmax", "nn.max_pool2d", "nn.avg_pool2d", "nn.batch_flatten")
_OF_TWO = ("add", "multiply")


def _patterns() -> Iterator[FusionPattern]:
    for word in _OF_ONE:
        yield FusionPattern(f"example_npu.{word.removeprefix('nn.')}", is_op(f"relax.{word}")(wildcard()))
    for word in _OF_TWO:
        yield FusionPattern(f"example_npu.{word}", is_op(f"relax.{word}")(wildcard(), wildcard()))
    yield FusionPattern("example_npu.matmul", *make_matmul_pattern())
    yield FusionPattern("example_npu.conv2d", *make_conv2d_pattern())
    yield FusionPattern("example_npu.matmul_relu_fused", *make_matmul_pattern(activation="relax.nn.relu"))
    yield FusionPattern("example_npu.conv2d_relu_fused", *make_conv2d_pattern(activation="relax.nn.relu"))


register_patterns(list(_patterns()))
