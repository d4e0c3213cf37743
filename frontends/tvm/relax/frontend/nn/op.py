"""Operators on the tensors of modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....relay import nn
from .....relay import op as operators
from .core import Tensor, as_expr


def relu(x: Tensor) -> Tensor:
    """`max(x, 0)`."""
    return Tensor(nn.relu(x.expr))


def silu(x: Tensor) -> Tensor:
    """`x * sigmoid(x)`."""
    return Tensor(nn.silu(x.expr))


def gelu(x: Tensor) -> Tensor:
    """`x * (1 + erf(x / sqrt(2))) / 2`."""
    return Tensor(nn.gelu(x.expr))


def sigmoid(x: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return Tensor(operators.sigmoid(x.expr))


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The exponentials along an axis over their sum."""
    return Tensor(nn.softmax(x.expr, axis=axis))


def add(a: Tensor, b: Any) -> Tensor:
    """`a + b`."""
    return a + b


def multiply(a: Tensor, b: Any) -> Tensor:
    """`a * b`."""
    return a * b


def reshape(x: Tensor, shape: Sequence[Any]) -> Tensor:
    """The tensor in another shape."""
    return x.reshape(shape)


def permute_dims(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The tensor with its dimensions in another order, by default reversed."""
    return x.permute_dims(*(axes or ()))


def concat(x: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors joined along a dimension."""
    return Tensor(operators.concatenate([each.expr for each in x], axis=dim))


def take(x: Tensor, indices: Tensor, axis: int | None = None) -> Tensor:
    """Elements by their indices along an axis."""
    return Tensor(operators.take(x.expr, as_expr(indices), axis=axis))


def sum(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The sum along axes."""
    return Tensor(operators.sum(x.expr, axis=axis, keepdims=keepdims))


__all__ = [
    "add",
    "concat",
    "gelu",
    "multiply",
    "permute_dims",
    "relu",
    "reshape",
    "sigmoid",
    "silu",
    "softmax",
    "sum",
    "take",
]
