"""Patterns of common groups of operators, with names of their parts."""

from __future__ import annotations

from collections.abc import Sequence

from ...patterns import DFPattern
from ..dpl import is_op, wildcard

Named = tuple[DFPattern, dict[str, DFPattern]]
"""A pattern, and its named parts."""


def make_matmul_pattern(with_bias: bool = False, activation: str | None = None, transposed_rhs: bool = False) -> Named:
    """A product of matrices, with a bias and an activation. transposed_rhs: whether the right factor is transposed."""
    lhs, rhs = wildcard(), wildcard()
    factor = is_op("relax.permute_dims")(rhs) if transposed_rhs else rhs
    return _finished(is_op("relax.matmul")(lhs, factor), {"lhs": lhs, "rhs": rhs}, with_bias, activation)


def make_conv2d_pattern(with_bias: bool = False, activation: str | None = None) -> Named:
    """A convolution of images, with a bias and an activation."""
    data, weight = wildcard(), wildcard()
    return _finished(is_op("relax.nn.conv2d")(data, weight), {"input": data, "weight": weight}, with_bias, activation)


def make_fused_bias_activation_pattern(op_name: str, with_bias: bool = False, activation: str | None = None) -> Named:
    """An operator of two operands, with a bias and an activation."""
    lhs, rhs = wildcard(), wildcard()
    return _finished(is_op(op_name)(lhs, rhs), {"lhs": lhs, "rhs": rhs}, with_bias, activation)


def make_residual_block_pattern(
    node_output: Named, residual_binary_op: str = "relax.add", activation: str | None = None
) -> Named:
    """The sum, or another operator, of the values of a pattern and a residual, and an activation."""
    node, parts = node_output
    residual = wildcard()
    op = is_op(residual_binary_op)
    return _finished(op(node, residual) | op(residual, node), {**parts, "residual": residual}, False, activation)


def _finished(root: DFPattern, parts: dict[str, DFPattern], with_bias: bool, activation: str | None) -> Named:
    parts = {**parts, "root": root}
    pattern = root
    if with_bias:
        parts["bias"] = wildcard()
        pattern = is_op("relax.add")(pattern, parts["bias"])
    for word in _activations(activation):
        pattern = is_op(word)(pattern)
    return pattern, parts


def _activations(activation: str | None) -> Sequence[str]:
    return [] if activation is None else [activation]


__all__ = [
    "make_conv2d_pattern", "make_fused_bias_activation_pattern", "make_matmul_pattern", "make_residual_block_pattern",
]  # fmt: skip
