"""Gradients of products of matrices, and of additions of a bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.errors import UnsupportedError
from ..expr import Call, Expr, call
from .rules import collapse, rule, shape, sizes


@rule("nn.bias_add")
def _bias_add(node: Call, grad: Any) -> Sequence[Expr | None]:
    axis = node.attrs.axis  # pyright: ignore[reportAttributeAccessIssue]
    return [grad, call("sum", grad, axis=[axis], exclude=True)]


def _transposed(matrix: Expr, rank: int = 2) -> Expr:
    return call("transpose", matrix, axes=[*range(rank - 2), rank - 1, rank - 2])


@rule("nn.dense")
def _dense(node: Call, grad: Any) -> Sequence[Expr | None]:
    data, weight = node.args
    rank = len(shape(data))
    rows, columns = sizes(weight)
    flat = [call("reshape", x, newshape=[-1, n]) if rank != 2 else x for x, n in ((grad, rows), (data, columns))]
    of_weight = call("nn.dense", _transposed(flat[0]), _transposed(flat[1]))
    return [call("nn.dense", grad, _transposed(weight)), of_weight]


@rule("nn.matmul", "nn.batch_matmul")
def _matmul(node: Call, grad: Any) -> Sequence[Expr | None]:
    a, b = node.args
    turns_a, turns_b = node.attrs.transpose_a, node.attrs.transpose_b  # pyright: ignore[reportAttributeAccessIssue]
    of_a = _product(node, (b, turns_b), (grad, True)) if turns_a else _product(node, (grad, False), (b, not turns_b))
    of_b = _product(node, (grad, True), (a, turns_a)) if turns_b else _product(node, (a, not turns_a), (grad, False))
    if node.op.name == "nn.matmul":
        return [of_a, of_b]
    batch = shape(node)[:1]
    return [collapse(of_a, (*batch, *shape(a)[1:]), a), collapse(of_b, (*batch, *shape(b)[1:]), b)]


def _product(node: Call, left: tuple[Expr, bool], right: tuple[Expr, bool]) -> Expr:
    """The product of two matrices, each with the flag of its transposition."""
    return call(node.op.name, left[0], right[0], transpose_a=left[1], transpose_b=right[1])


@rule("einsum")
def _einsum(node: Call, grad: Any) -> Sequence[Expr | None]:
    """The gradient of an operand is the product of all others; each axis of the operand must occur elsewhere."""
    equation = node.attrs.equation.replace(" ", "")  # pyright: ignore[reportAttributeAccessIssue]
    sources, arrow, result = equation.partition("->")
    names = sources.split(",")
    if not arrow or "." in equation or any(len(set(each)) < len(each) for each in names):
        raise UnsupportedError(f"gradient of einsum {equation}, expected a result, no ellipsis and no diagonal")
    grads: list[Expr | None] = []
    for n, own in enumerate(names):
        others = [each for m, each in enumerate(names) if m != n]
        operands = [each for m, each in enumerate(node.args) if m != n]
        if not set(own) <= set("".join([result, *others])):
            raise UnsupportedError(f"gradient of einsum {equation}, whose operand {n} is summed alone")
        grads.append(call("einsum", grad, *operands, equation=f"{','.join([result, *others])}->{own}"))
    return grads
