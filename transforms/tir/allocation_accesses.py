"""Conditions and masks of accesses of an allocation, where the accesses do no harm without them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, ForOp, FuncOp, IfOp, LoadOp, RampOp, StoreOp, TirBuilder, constant_value
from ...dialects.tir.copying import copy_expression
from ...dialects.tir.operands import drop_mask, set_operands
from ...dialects.tir.tree import (
    erase_if_dead,
    erase_statement,
    expression_key,
    insertion_point_before,
    is_pure_expression,
    move_ops_before,
    with_expressions,
)

_SEQUENTIAL = ("serial", "unrolled")
"""The kinds of loops whose iterations are executed one after the other."""


def drop_conditions_of_first_stores(function: FuncOp) -> None:
    """Stores a number unconditionally where the first statements after an allocation store it, some under conditions.

    An element that no condition allowed to store has no value before, and no program reads it. So registers that hold
    elements of the buffer have a value in each iteration, and need not keep one from the iteration before.
    """
    analyzer = Analyzer()
    for alloc in list(find_ops(function, AllocBufferOp)):
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
            for store in stores:
                _drop_mask(store)
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


def unmask_updates(function: FuncOp) -> None:
    """Updates all lanes of vectors of private allocations where a mask excludes some: these keep their values by a
    selection. Such vectors stay in registers; an access with a mask has a place in memory.

    An update loads the vector that it stores, with the same mask, at indices that are numbers, each lane at an element
    of its own. All lanes have values: a store beside the allocation, before the update, has no mask. No other iteration
    of a concurrent loop accesses the allocation.
    """
    analyzer = Analyzer()
    for store in [op for op in find_ops(function, StoreOp) if op.predicate is not None]:
        alloc = store.buffer.owner
        if (
            isinstance(alloc, AllocBufferOp)
            and _is_inside(store, alloc, analyzer)
            and any(analyzer.number(index.owner.stride) for index in store.indices if isinstance(index.owner, RampOp))
            and _is_private(store, alloc)
        ):
            _unmask_update(store)


def _unmask_update(store: StoreOp) -> None:
    """Replaces the mask of an update by a selection; leaves other stores as they are."""
    mask = store.predicate
    assert mask is not None
    place, key = _place(store), expression_key(mask)
    loads = [op for op in with_expressions(store) if isinstance(op, LoadOp) and op.buffer is store.buffer]
    are_updated = all(
        load.predicate is not None and expression_key(load.predicate) == key and _place(load) == place for load in loads
    )
    if not loads or not are_updated or not _has_values(store, place):
        return
    for load in loads:
        _drop_mask(load)
    builder = TirBuilder(insertion_point_before(store), store.location)
    indices = [copy_expression(index, builder, {}) for index in store.indices]
    old = builder.load(store.buffer, indices)
    builder = TirBuilder(InsertPoint.before(store), store.location)
    value = builder.select(mask, store.value, old)
    set_operands(store, [[value], [store.buffer], store.indices, []])


def _place(access: LoadOp | StoreOp) -> list[Hashable]:
    """A key of the indices of an access."""
    return [expression_key(index) for index in access.indices]


def _has_values(access: StoreOp, place: Sequence[Hashable]) -> bool:
    """Whether a store in the block of an allocation, before an access, stores all lanes of a place."""
    op = access.buffer.owner
    while isinstance(op, Operation) and not op.is_ancestor(access):
        if isinstance(op, StoreOp) and op.buffer is access.buffer and op.predicate is None and _place(op) == place:
            return True
        op = op.next_op
    return False


def _drop_mask(access: LoadOp | StoreOp) -> None:
    """Removes the mask of an access."""
    mask = access.predicate
    if mask is not None:
        drop_mask(access)
        erase_if_dead(mask)


def _is_private(access: LoadOp | StoreOp, alloc: AllocBufferOp) -> bool:
    """Whether no loop whose iterations are concurrent is around an access, inside of the block of its allocation."""
    parent = access.parent_op()
    while parent is not None and parent is not alloc.parent_op():
        if not isinstance(parent, IfOp) and not (isinstance(parent, ForOp) and parent.kind.data in _SEQUENTIAL):
            return False
        parent = parent.parent_op()
    return True


def _is_inside(access: LoadOp | StoreOp, alloc: AllocBufferOp, analyzer: Analyzer) -> bool:
    """Whether all lanes of an access are elements of an allocation, at indices that are numbers."""
    shape = alloc.mixed_shape
    if access.buffer is not alloc.buffer or alloc.mixed_strides is not None:
        return False
    ends = (_ends_of(index, analyzer) for index in access.indices)
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
