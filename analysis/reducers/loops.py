"""Reductions of a loop: elements into which all iterations accumulate."""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue

from ...core.walking import find_ops
from ...dialects.tir import AccessOp, AllocateOp, AllocBufferOp, BlockOp, ForOp, LetOp, LoadOp, StoreOp, YieldOp
from ...dialects.tir.tree import has_effect, is_expression_op, is_pure_expression
from ..index import Analyzer
from ..private import uses_of_memory
from ..threads.memories import memory_of
from .expressions import has_same_indices
from .matching import match_update
from .reducer import Accumulator


def reductions_of_loop(loop: ForOp) -> list[Accumulator]:
    """The elements into which the iterations of a loop accumulate, by an operator whose operands may be reordered.

    The loop accesses the memory of such an element by one update alone, `C[f] = op(C[f], g)` of `match_reducer`, in any
    nest of loops and branches; `f` is computed from values outside of the loop, from variables of loops inside, and
    from elements of allocated memory that the loop does not write.
    """
    analyzer = Analyzer()
    return [a for store in _stores(loop) if (a := _reduction(loop, store, analyzer)) is not None]


def jointly_updated_buffers(loop: ForOp) -> list[SSAValue]:
    """The buffers with elements that all iterations of a loop may update, in any order: those of its reductions, and
    those of the stores that simplifications leave of reductions, of the element itself or of a value that the loop does
    not change."""
    analyzer = Analyzer()
    return [store.buffer for store in _stores(loop) if _is_joint(loop, store, analyzer)]


def _stores(loop: ForOp) -> list[StoreOp]:
    return list(find_ops(loop.body, StoreOp))


def _is_joint(loop: ForOp, store: StoreOp, analyzer: Analyzer) -> bool:
    loads = _operands(loop, store, analyzer)
    if loads is None:
        return False
    is_trivial = any(store.value is load.result for load in loads) or (not loads and is_invariant(loop, store.value))
    return is_trivial or match_update(store, loads, analyzer) is not None


def _reduction(loop: ForOp, store: StoreOp, analyzer: Analyzer) -> Accumulator | None:
    loads = _operands(loop, store, analyzer)
    kind = match_update(store, loads, analyzer) if loads else None
    return None if kind is None else Accumulator(kind, store.buffer, tuple(store.indices), tuple(loads or ()), store)


def _operands(loop: ForOp, store: StoreOp, analyzer: Analyzer) -> list[LoadOp] | None:
    """The loads of the element that a store writes, for its value alone; None if a loop accesses the memory of the
    element in any other way, or changes the indices."""
    memory = memory_of(store.buffer)
    if (
        memory is None
        or loop.is_ancestor(store.buffer.owner)
        or store.predicate is not None
        or isinstance(store.value.type, VectorType)
        or not all(_is_invariant(loop, index, True) for index in store.indices)
    ):
        return None
    loads: list[LoadOp] = []
    for op in uses_in(loop, memory):
        if isinstance(op, LoadOp) and _is_operand(analyzer, op, store):
            loads.append(op)
        elif op is not store:
            return None
    return loads


def uses_in(loop: ForOp, memory: SSAValue) -> list[Operation]:
    """The ops in a loop that access some memory."""
    return [op for op, _ in uses_of_memory(memory) if loop.is_ancestor(op) and not isinstance(op, AccessOp)]


def is_invariant(loop: ForOp, value: SSAValue) -> bool:
    """Whether a value is computed from values outside of a loop, without loads."""
    return _is_invariant(loop, value, False)


def _is_invariant(loop: ForOp, value: SSAValue, inner: bool) -> bool:
    """inner: whether variables of loops inside of the loop, and elements that it only reads, count as invariant."""
    owner = value.owner
    if not loop.is_ancestor(owner):
        return True
    if isinstance(owner, Block):
        parent = owner.parent_op()
        if isinstance(parent, BlockOp):
            binding = next(axis.binding for axis, v in zip(parent.axes, parent.variables, strict=True) if v is value)
            return _is_invariant(loop, binding, inner)
        return inner and parent is not loop
    if isinstance(owner, LoadOp):
        may_move = inner and _is_of_constant_memory(loop, owner)
    else:
        may_move = isinstance(owner, LetOp) or (is_pure_expression(owner) and not owner.regions)
    return may_move and all(_is_invariant(loop, operand, inner) for operand in owner.operands)


def _is_of_constant_memory(loop: ForOp, load: LoadOp) -> bool:
    """Whether a load reads memory allocated outside of a loop that the loop only loads from."""
    memory = memory_of(load.buffer)
    if memory is None or not isinstance(memory.owner, AllocBufferOp | AllocateOp) or loop.is_ancestor(memory.owner):
        return False
    return all(isinstance(op, LoadOp) for op in uses_in(loop, memory))


def _is_operand(analyzer: Analyzer, load: LoadOp, store: StoreOp) -> bool:
    """Whether a load reads the element that a store in the same block writes, for the stored value alone."""
    statement = None if store.parent is None else store.parent.find_ancestor_op_in_block(load)
    if (
        statement is None
        or not statement.is_before_in_block(store)
        or load.buffer is not store.buffer
        or load.predicate is not None
        or not has_same_indices(analyzer, load, store)
    ):
        return False
    pending, seen = [load.result], {load.result}
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if op is store:
                continue
            owner = op.parent_op() if isinstance(op, YieldOp) else op
            if owner is None or isinstance(owner, LoadOp) or has_effect(owner):
                return False
            if not is_expression_op(owner) and not isinstance(owner, LetOp):
                return False
            fresh = [result for result in owner.results if result not in seen]
            seen.update(fresh)
            pending += fresh
    return True
