"""The table of gradient rules by operator, and expressions that many rules need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ....core.dtypes import is_float_dtype, numpy_dtype
from ....core.errors import UnsupportedError
from ....operators.relay import Size
from ..expr import Call, Constant, Expr, call

Rule: TypeAlias = Callable[[Call, Any], Sequence[Expr | None]]
"""A function from a call and the gradient of its result to the gradient of each operand, None for a gradient of zeros.
The gradient of several results is a list."""

RULES: dict[str, Rule] = {}
"""The rules by the name of the operator."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorates the rule of operators."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def shape(expr: Expr) -> tuple[Size, ...]:
    """The shape of an expression of the differentiated graph."""
    return expr.checked_type.shape


def sizes(expr: Expr) -> tuple[int, ...]:
    """The shape as integers. UnsupportedError for a size that is unknown until run time."""
    if not all(isinstance(size, int) for size in shape(expr)):
        raise UnsupportedError(f"gradient of {expr!r} of shape {shape(expr)}, expected known sizes")
    return tuple(int(size) for size in shape(expr))


def dtype(expr: Expr) -> str:
    """The data type of an expression of the differentiated graph."""
    return expr.checked_type.dtype


def is_float(expr: Expr) -> bool:
    """Whether an expression of the differentiated graph is a tensor of floats."""
    return is_float_dtype(numpy_dtype(dtype(expr)))


def number(value: float, like: Expr) -> Constant:
    """A constant of rank 0 of the data type of an expression of the differentiated graph."""
    return Constant(np.asarray(value, numpy_dtype(dtype(like))))


def zeros_like(expr: Expr) -> Expr:
    """Zeros in the shape of an expression."""
    return call("zeros_like", expr)


def reshape_as(grad: Expr, target: Expr) -> Expr:
    """A gradient in the shape of an operand with as many elements."""
    known = [size for size in shape(target) if isinstance(size, int)]
    if len(known) + 1 < len(shape(target)):
        sizes(target)
    return call("reshape", grad, newshape=[size if isinstance(size, int) else -1 for size in shape(target)])


def collapse(grad: Expr, source: Sequence[Size], target: Expr) -> Expr:
    """The gradient of an operand that broadcasts: the sum of a gradient of shape `source` over the axes along which
    `target` repeats."""
    wanted = shape(target)
    front = len(source) - len(wanted)
    repeated = [n for n, size in enumerate(source) if n < front or (wanted[n - front] == 1 and size != 1)]
    if not repeated:
        return grad
    total = call("sum", grad, axis=repeated, keepdims=True)
    return call("squeeze", total, axis=list(range(front))) if front else total


def reduced_axes(node: Call) -> list[int]:
    """The axes over which a reduction runs, in ascending order."""
    rank, axis = len(shape(node.args[0])), node.attrs.axis  # pyright: ignore[reportAttributeAccessIssue]
    if axis is None:
        return list(range(rank))
    given = {each % rank for each in ([axis] if isinstance(axis, int) else axis)}
    return [n for n in range(rank) if (n in given) != getattr(node.attrs, "exclude", False)]


def with_reduced_axes(value: Expr, node: Call) -> Expr:
    """A tensor in the shape of the result of a reduction, with an axis of one element for each axis reduced."""
    if node.attrs.keepdims:  # pyright: ignore[reportAttributeAccessIssue]
        return value
    for axis in reduced_axes(node):
        value = call("expand_dims", value, axis=axis)
    return value
