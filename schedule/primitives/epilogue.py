"""The primitive `fuse_reduction_epilogue`: a term added to the results of a reduction becomes its initial value."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...analysis.index import Analyzer, export
from ...analysis.names import block_name, buffer_name
from ...analysis.scopes import child_towards, enclosing_scope, precedes_in_text, root_buffer, writes_of
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...dialects.schedule import FuseReductionEpilogueOp
from ...dialects.tir import BlockOp, FuncOp, LoadOp, StoreOp, TirBuilder, constant_value
from ...dialects.tir.tree import computing_ops, erase_if_dead
from ..handles import BlockLike
from ..recorder import Recorder
from ..rewriting.copies import require_block
from ..rewriting.copying import Copier, require_invariant_values
from ..rewriting.elementwise import (
    element_stores,
    erase_block,
    erase_buffer,
    initialized_stores,
    require_allocation,
    require_loads,
)
from ..rewriting.nest import builder_before, erase_accesses, renew_accesses, simplify_accesses, simplify_blocks
from ..state import State, applies
from .reverse_inline import ReverseInlinePlan, reading_instance, redirect_producer, require_visible

_ADDITIONS = (arith.AddfOp, arith.AddiOp)
_SUBTRACTIONS = (arith.SubfOp, arith.SubiOp)


class EpiloguePrimitives(Recorder):
    """The primitive that fuses an addition to the results of a reduction into it."""

    def fuse_reduction_epilogue(self, reduction_block: BlockLike, epilogue_block: BlockLike) -> None:
        """Start a sum with a term that another block adds to it, and erase that block and the buffer in between.

            for i, k in T.grid(8, 4):                   for i, k in T.grid(8, 4):
                with T.block("S"):                          with T.block("S"):
                    vi, vk = ...                                vi, vk = ...
                    with T.init():                              with T.init():
                        S[vi] = 0.0                                 D[vi] = B[vi]
                    S[vi] = S[vi] + A[vi, vk]     ->            D[vi] = D[vi] + A[vi, vk]
            for i in range(8):
                with T.block("D"):
                    vi = T.axis.spatial(8, i)
                    D[vi] = S[vi] + B[vi]

        reduction_block: a block with an init that adds to one element, or subtracts from it.  epilogue_block: a block
        that stores the sum of this element and a term, and is the only reader of the element.
        Floats are added in another order; otherwise always legal if the term has the same value at the reduction and
        the old values of the result are not used in between. ScheduleError if not, or for any other epilogue: unlike in
        TVM, a maximum (ReLU) or a clipping is refused, since that of each partial sum is not that of the whole sum.
        """
        self.record(
            FuseReductionEpilogueOp,
            reduction_block=self._block(reduction_block),
            epilogue_block=self._block(epilogue_block),
        )


@applies(FuseReductionEpilogueOp)
def fuse_reduction_epilogue(state: State, reduction_block: BlockOp | FuncOp, epilogue_block: BlockOp | FuncOp) -> None:
    reduction, epilogue = require_block(reduction_block), require_block(epilogue_block)
    _require_order(reduction, epilogue)
    init = _stores_of_sum(reduction)[0]
    buffer = init.buffer
    allocation = require_allocation(reduction, buffer)
    (result,) = _only(epilogue, element_stores(epilogue))
    loads = require_loads(reduction, buffer, epilogue)
    load, term = _term(epilogue, result, loads)
    require_invariant_values(epilogue, allocation)
    require_visible(epilogue, reduction)
    _require_same_term(reduction, epilogue, term)
    plan = ReverseInlinePlan(epilogue, loads, reduction, init, *reading_instance(epilogue, loads, init))
    with state.changing(check=False):
        _start_with(plan, term)
        _store_only(result, load)
        renew_accesses([reduction, epilogue])
    with state.changing([reduction, epilogue]) as change:
        change.copies_before.append(epilogue)
        erase_accesses([reduction, epilogue])
        redirect_producer(plan)
        erase_block(epilogue)
        erase_buffer(buffer)
        renew_accesses([reduction])
        simplify_blocks([reduction])


# Requirements


def _require_order(reduction: BlockOp, epilogue: BlockOp) -> None:
    is_same = enclosing_scope(reduction) is enclosing_scope(epilogue)
    if not is_same or not precedes_in_text(reduction, epilogue):
        raise ScheduleError(
            f"block {block_name(reduction)} is not before block {block_name(epilogue)} in the same scope",
            [reduction, epilogue],
        )


def _only(block: BlockOp, stores: Sequence[StoreOp]) -> Sequence[StoreOp]:
    if len(stores) != 1 or stores[0].parent_op() is not block:
        raise ScheduleError(
            f"block {block_name(block)} is more than one store, expected one, without a condition", [block]
        )
    return stores


def _stores_of_sum(block: BlockOp) -> list[StoreOp]:
    """The store of the init of a block, and the stores of its updates. ScheduleError unless each adds to the element,
    or subtracts from it."""
    if block.init is None:
        raise ScheduleError(f"block {block_name(block)} has no init, expected a reduction", [block])
    stores = initialized_stores(block)
    for store in stores[1:]:
        if store.parent_op() is block.init or not _is_contribution(store):
            raise ScheduleError(
                f"block {block_name(block)} does not add a term to {buffer_name(store.buffer)} in each step, expected "
                "a sum",
                [block],
            )
    return stores


def _is_contribution(store: StoreOp) -> bool:
    op = store.value.owner
    if not isinstance(op, (*_ADDITIONS, *_SUBTRACTIONS)):
        return False
    own = [n for n, operand in enumerate(op.operands) if _loads(operand, store.buffer)]
    is_load = len(own) == 1 and isinstance(op.operands[own[0]].owner, LoadOp)
    return is_load and (own == [0] or isinstance(op, _ADDITIONS))


def _loads(value: SSAValue, buffer: SSAValue) -> bool:
    """Whether a value is computed from the elements of a buffer."""
    return any(isinstance(op, LoadOp) and op.buffer is buffer for op in computing_ops(value))


def _term(epilogue: BlockOp, result: StoreOp, loads: Sequence[LoadOp]) -> tuple[LoadOp, SSAValue]:
    """The load of the sum, and the term that the epilogue adds to it."""
    op = result.value.owner
    if isinstance(op, _ADDITIONS) and len(loads) == 1:
        for load, term in (op.operands, op.operands[::-1]):
            if load.owner is loads[0] and not _loads(term, loads[0].buffer):
                return loads[0], term
    name = buffer_name(loads[0].buffer) if loads else "the sum"
    raise ScheduleError(
        f"block {block_name(epilogue)} does not store the sum of an element of {name} and another term: any other "
        "function of each partial sum is not that of the whole sum",
        [epilogue],
    )


def _require_same_term(reduction: BlockOp, epilogue: BlockOp, term: SSAValue) -> None:
    """Raise ScheduleError if a term may have another value at the reduction than at the epilogue: if a statement from
    the one to the other writes memory that it is computed from."""
    memories = {root_buffer(op.buffer) for op in computing_ops(term) if isinstance(op, LoadOp)}
    scope = enclosing_scope(reduction)
    first, last = child_towards(scope, reduction), child_towards(scope, epilogue)
    op: Operation | None = first
    while op is not None:
        for writer in _writers(op, memories):
            raise ScheduleError(
                f"block {block_name(epilogue)} adds a term computed from memory that is written in between",
                {epilogue: "", writer: "written here"},
            )
        op = None if op is last else op.next_op


def _writers(op: Operation, memories: set[SSAValue]) -> list[Operation]:
    """The blocks and stores in a statement that may write some memory."""
    blocks = [block for block in find_ops(op, BlockOp) if memories & set(writes_of(block))]
    stores = [store for store in find_ops(op, StoreOp) if root_buffer(store.buffer) in memories]
    return [*blocks, *stores]


# Changes


def _start_with(plan: ReverseInlinePlan, term: SSAValue) -> None:
    """Add a term of the epilogue to the initial value."""
    analyzer, init = Analyzer(), plan.store

    def replace(builder: TirBuilder, value: SSAValue) -> SSAValue | None:
        return export(analyzer, plan.axes[value], builder, value.type) if value in plan.axes else None

    builder, old = builder_before(init), init.value
    copier = Copier(plan.block, replace)
    value = copier.value(builder, term)
    if constant_value(old) != 0:
        value = builder.binary("add", old, value)
    init.operands[list(init.operands).index(old)] = value
    erase_if_dead(old)
    simplify_accesses(copier.loads)


def _store_only(result: StoreOp, load: LoadOp) -> None:
    """Store the loaded element itself."""
    old = result.value
    result.operands[list(result.operands).index(old)] = load.result
    erase_if_dead(old)
