"""Conditions around the first stores to an allocation, where a store does no harm without them."""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from ...analysis.index import Analyzer
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, FuncOp, IfOp, RampOp, StoreOp, constant_value
from ...dialects.tir.tree import erase_statement, is_pure_expression, move_ops_before


def drop_conditions_of_first_stores(function: FuncOp) -> None:
    """Stores a number unconditionally where the first statements after an allocation store it, some under conditions.

    An element that no condition allowed to store has no value before, and no program reads it. So registers that hold
    elements of the buffer have a value in each iteration, and need not keep one from the iteration before.
    """
    analyzer = Analyzer()
    for alloc in find_ops(function, AllocBufferOp):
        _drop_conditions(alloc, analyzer)


def _drop_conditions(alloc: AllocBufferOp, analyzer: Analyzer) -> None:
    number, op = None, alloc.next_op
    while op is not None:
        following = op.next_op
        stores = _stores(op)
        if stores is None:
            if not is_pure_expression(op):
                return
        else:
            numbers = {constant_value(store.value) for store in stores} | ({number} if number is not None else set())
            if len(numbers) != 1 or None in numbers or not all(_is_inside(store, alloc, analyzer) for store in stores):
                return
            (number,) = numbers
            if isinstance(op, IfOp):
                move_ops_before(op.then.block, op)
                erase_statement(op)
        op = following


def _stores(op: Operation) -> list[StoreOp] | None:
    """The stores of a store, or of an `if` of stores alone; None for other operations."""
    if isinstance(op, StoreOp):
        return [op]
    if not isinstance(op, IfOp) or op.orelse.block.ops:
        return None
    inner = list(op.then.block.ops)
    stores = [each for each in inner if isinstance(each, StoreOp)]
    return stores if stores and all(isinstance(each, StoreOp) or is_pure_expression(each) for each in inner) else None


def _is_inside(store: StoreOp, alloc: AllocBufferOp, analyzer: Analyzer) -> bool:
    """Whether a store is to elements of an allocation, at indices that are numbers."""
    shape = alloc.mixed_shape
    if store.buffer is not alloc.buffer or store.predicate is not None or alloc.mixed_strides is not None:
        return False
    ends = (_ends_of(index, analyzer) for index in store.indices)
    return all(
        isinstance(extent, int) and pair is not None and 0 <= pair[0] and pair[1] < extent
        for extent, pair in zip(shape, ends, strict=True)
    )


def _ends_of(index: SSAValue, analyzer: Analyzer) -> tuple[int, int] | None:
    """The least and the greatest lane of an index, None for one that is no number."""
    if isinstance(index.owner, RampOp):
        base, stride = (analyzer.number(value) for value in index.owner.operands)
        if base is None or stride is None:
            return None
        last = base + stride * (index.owner.lanes - 1)
        return min(base, last), max(base, last)
    # other vectors, such as quotients of ramps, have no form
    number = None if isinstance(index.type, VectorType) else analyzer.number(index)
    return None if number is None else (number, number)
