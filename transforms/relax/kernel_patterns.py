"""The kinds of fusion that kernels permit, by their blocks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from ...core.walking import find_ops
from ...dialects import tir
from ...operators import Pattern

_OPAQUE = (
    tir.AddressOfOp, tir.AllocateOp, tir.AttrOp, tir.BufferDataOp, tir.CallExternOp, tir.CallIntrinOp, tir.CallOp,
    tir.CallPackedOp, tir.DeclBufferOp, tir.LaunchThreadOp, tir.ReturnOp, tir.WhileOp,
)  # fmt: skip
"""Steps of kernels that are not fused."""


def pattern_of_kernel(func: tir.FuncOp) -> Pattern:
    """The kind of fusion that a kernel permits, whose last parameter is the result.

    Blocks without reductions are one element of an operand each, or injective. A reduction may follow such blocks: a
    sum of products is OUT_FUSABLE, another COMM_REDUCE. A kernel of other steps is OPAQUE.
    """
    blocks = [op for op in find_ops(func, tir.BlockOp) if not any(each is not op for each in find_ops(op, tir.BlockOp))]
    if not blocks or _is_scheduled(func) or not _stores_in(blocks, func):
        return Pattern.OPAQUE
    kinds = [{axis.kind for axis in block.axes} for block in blocks]
    if any(each - {"spatial", "reduce"} for each in kinds):
        return Pattern.OPAQUE
    if not any("reduce" in each for each in kinds):
        return _pattern_of_step(blocks[0]) if len(blocks) == 1 else Pattern.INJECTIVE
    if any("reduce" in each for each in kinds[:-1]):
        return Pattern.OPAQUE
    return Pattern.OUT_FUSABLE if _multiplies(blocks[-1]) else Pattern.COMM_REDUCE


def _is_scheduled(func: tir.FuncOp) -> bool:
    """Whether a kernel has steps that are not fused, or loops that are not serial."""
    return any(not isinstance(op, tir.ForOp) or op.kind.data != "serial" for op in find_ops(func, tir.ForOp, *_OPAQUE))


def _stores_in(blocks: Sequence[tir.BlockOp], func: tir.FuncOp) -> bool:
    """Whether all stores of a kernel are in its blocks."""
    return sum(1 for _ in find_ops(func, tir.StoreOp)) == sum(
        1 for block in blocks for _ in find_ops(block, tir.StoreOp)
    )


def _pattern_of_step(block: tir.BlockOp) -> Pattern:
    """The pattern of a block without reductions: ELEMWISE if it reads at the indices of its store, BROADCAST if at some
    of these in their order, else INJECTIVE."""
    stores = list(find_ops(block, tir.StoreOp))
    if len(stores) != 1:
        return Pattern.INJECTIVE
    place = list(stores[0].indices)
    found = Pattern.ELEMWISE
    for load in find_ops(block, tir.LoadOp):
        indices = list(load.indices)
        if indices != place:
            found = max(found, Pattern.BROADCAST if _is_part(indices, place) else Pattern.INJECTIVE)
    return found


def _is_part(indices: Sequence[SSAValue], place: Sequence[SSAValue]) -> bool:
    """Whether indices are some of `place` in their order, or constants."""
    rest = iter(place)
    return all(isinstance(each.owner, arith.ConstantOp) or any(each is other for other in rest) for each in indices)


def _multiplies(block: tir.BlockOp) -> bool:
    """Whether a block multiplies elements of two buffers."""
    for op in find_ops(block, arith.MulfOp, arith.MuliOp):
        loads = [each for each in map(_load_below, op.operands) if isinstance(each, tir.LoadOp)]
        if len(loads) == 2 and loads[0].buffer is not loads[1].buffer:
            return True
    return False


def _load_below(value: SSAValue) -> Operation | Block:
    """The op that computes a value, without casts and selections of one value, or the block whose argument it is."""
    op = value.owner
    while isinstance(op, Operation) and not isinstance(op, tir.LoadOp) and len(op.operands) == 1:
        op = op.operands[0].owner
    return op
