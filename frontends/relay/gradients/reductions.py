"""Gradients of sums, means, maxima and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..expr import Call, Expr, call
from .rules import dtype, number, reduced_axes, rule, sizes, with_reduced_axes, zeros_like


def _spread(grad: Expr, node: Call) -> Expr:
    """The gradient of a sum for each of its elements."""
    return with_reduced_axes(grad, node) + zeros_like(node.args[0])


def _count(node: Call) -> int:
    """The number of elements of a reduction."""
    extents = sizes(node.args[0])
    return prod(extents[axis] for axis in reduced_axes(node))


@rule("sum")
def _sum(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [_spread(grad, node)]


@rule("mean")
def _mean(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [_spread(grad / number(_count(node), node), node)]


@rule("variance")
def _variance(node: Call, grad: Any) -> Sequence[Expr | None]:
    x = node.args[0]
    mean = call("mean", x, axis=reduced_axes(node), keepdims=True)
    count = _count(node) - bool(node.attrs.unbiased)  # pyright: ignore[reportAttributeAccessIssue]
    return [with_reduced_axes(grad, node) * (x - mean) * number(2 / count if count else float("nan"), x)]


@rule("prod")
def _prod(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [with_reduced_axes(grad * node, node) / node.args[0]]


@rule("max", "min")
def _extreme(node: Call, grad: Any) -> Sequence[Expr | None]:
    """Equal extremes share the gradient."""
    x = node.args[0]
    chosen = call("cast", call("equal", with_reduced_axes(node, node), x), dtype=dtype(x))
    count = call("sum", chosen, axis=reduced_axes(node), keepdims=True)
    return [chosen * with_reduced_axes(grad, node) / count]


@rule("nn.softmax")
def _softmax(node: Call, grad: Any) -> Sequence[Expr | None]:
    total = call("sum", grad * node, axis=[node.attrs.axis], keepdims=True)  # pyright: ignore[reportAttributeAccessIssue]
    return [(grad - total) * node]


@rule("nn.log_softmax")
def _log_softmax(node: Call, grad: Any) -> Sequence[Expr | None]:
    total = call("sum", grad, axis=[node.attrs.axis], keepdims=True)  # pyright: ignore[reportAttributeAccessIssue]
    return [grad - total * call("exp", node)]


@rule("cumsum")
def _cumsum(node: Call, grad: Any) -> Sequence[Expr | None]:
    attrs: Any = node.attrs
    total = call("cumsum", grad, **{**attrs, "reverse": not attrs.reverse})
    return [total if attrs.axis is not None else call("reshape", total, newshape=list(sizes(node.args[0])))]
