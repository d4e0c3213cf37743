"""Hybrid functions whose loops store each element of one tensor once: computed tensors, whose axes can be scheduled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....expressions.buffers import Buffer
from ....expressions.expr import IntImm, PrimExpr, Var, cast
from ....expressions.statements import BufferElement, Loop, Store
from ....expressions.tensor import Tensor, compute, is_same_extent


def computed_tensor(
    name: str, output: Buffer, inputs: Mapping[Tensor, Buffer], statements: Sequence[Any]
) -> Tensor | None:
    """The tensor that a nest of loops computes; None unless the nest has a loop for each dimension of the output, in
    order, and stores the element at their variables, from elements of the inputs."""
    loops: list[Loop] = []
    while len(statements) == 1 and isinstance(loop := statements[0], Loop) and _is_plain(loop):
        loops.append(loop)
        statements = loop.body
    if len(statements) != 1 or not isinstance(store := statements[0], Store) or store.target.buffer is not output:
        return None
    indices = store.target.indices
    in_order = len(loops) == len(indices) and all(i is loop.variable for i, loop in zip(indices, loops, strict=True))
    if not in_order or not all(is_same_extent(loop.extent, n) for loop, n in zip(loops, output.shape, strict=True)):
        return None
    tensors = {id(buffer): tensor for tensor, buffer in inputs.items()}
    if not _reads_only(store.value, tensors):
        return None

    def element(*variables: Var) -> PrimExpr:
        axes = {id(loop.variable): each for loop, each in zip(loops, variables, strict=True)}
        return cast(output.data_type.name, _with_tensors(store.value, tensors, axes))

    return compute(output.shape, element, name, varargs_names=[loop.variable.name for loop in loops])


def _is_plain(loop: Loop) -> bool:
    return loop.kind == "serial" and isinstance(loop.low, IntImm) and loop.low.value == 0


def _reads_only(expr: PrimExpr, tensors: Mapping[int, Tensor]) -> bool:
    """Whether all buffers in an expression are those of tensors."""
    if isinstance(expr, BufferElement) and id(expr.buffer) not in tensors:
        return False
    return all(_reads_only(child, tensors) for child in expr.children)


def _with_tensors(expr: PrimExpr, tensors: Mapping[int, Tensor], axes: Mapping[int, Var]) -> PrimExpr:
    """An expression with tensors in place of their buffers, and axes in place of variables of loops."""
    if isinstance(expr, Var):
        return axes.get(id(expr), expr)
    children = [_with_tensors(child, tensors, axes) for child in expr.children]
    if isinstance(expr, BufferElement):
        return tensors[id(expr.buffer)][tuple(children)]
    return expr.with_children(children) if children else expr


__all__ = ["computed_tensor"]
