"""The primitive `compute_inline`: blocks inlined into their consumers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...analysis.index import Analyzer, Lin, export
from ...analysis.names import block_name, buffer_name
from ...analysis.scopes import child_towards, enclosing_scope, ops_between
from ...core.errors import ScheduleError
from ...dialects.schedule import ComputeInlineOp
from ...dialects.tir import BlockOp, LoadOp, StoreOp, TirBuilder
from ...dialects.tir.tree import erase_if_dead
from ..handles import BlockLike
from ..recorder import Recorder
from ..rewriting.copying import Copier, require_invariant_values
from ..rewriting.elementwise import (
    blocks_using,
    element_stores,
    element_text,
    erase_block,
    erase_buffer,
    require_allocation,
    require_loads,
    solve_axes,
)
from ..rewriting.nest import builder_before, erase_accesses, renew_accesses, simplify_accesses
from ..state import State, applies


class InlinePrimitives(Recorder):
    """The primitive that inlines a block into its consumers."""

    def compute_inline(self, block: BlockLike) -> None:
        """Compute the values of a block at each load of them, and erase the block and its buffers.

            for i in range(8):                          for i in range(8):
                with T.block("B"):                          with T.block("D"):
                    vi = T.axis.spatial(8, i)                   vi = T.axis.spatial(8, i)
                    B[vi] = A[vi] * 2.0           ->            D[vi] = A[7 - vi] * 2.0 + 1.0
            for i in range(8):
                with T.block("D"):
                    vi = T.axis.spatial(8, i)
                    D[vi] = B[7 - vi] + 1.0

        block: a block that stores one element, of one or more buffers, in each instance; the indices of the element
        determine the axes that the value depends on, except those bound to a loop around all blocks that read it, to
        which these blocks bind axes too (the time of a scan). Its buffers are allocated in its scope, and other blocks
        only load from them.
        Legal if the inputs of the block are the same wherever its values are read, and only elements that it has
        written are read. ScheduleError if the block is not of this kind, or with two conflicting instances.
        """
        self.record(ComputeInlineOp, block=self._block(block))


@applies(ComputeInlineOp)
def compute_inline(state: State, block: BlockOp) -> None:
    stores = element_stores(block)
    by_buffer = {store.buffer: store for store in stores}
    if len(by_buffer) < len(stores):
        twice = next(buffer_name(store.buffer) for store in stores if by_buffer[store.buffer] is not store)
        raise ScheduleError(
            f"block {block_name(block)} stores twice to buffer {twice}, expected one store to each buffer", [block]
        )
    loads: list[LoadOp] = []
    for store in stores:
        alloc = require_allocation(block, store.buffer)
        loads += require_loads(block, store.buffer)
        require_invariant_values(block, alloc)
    for load in loads:
        store = by_buffer[load.buffer]
        _inverse(Analyzer(), block, store, [Lin() for _ in store.indices], _shared_axes(block, store, load))
    readers = dict.fromkeys(_reader(block, load) for load in loads)
    with state.changing([block, *readers], check=bool(readers)) as change:
        change.copies_before.append(block)
        _inline(block, by_buffer)


def _reader(block: BlockOp, load: LoadOp) -> Operation:
    """The statement that contains a load, in the scope of `block`: a block, or else a loop or branch."""
    scope = enclosing_scope(block)
    path = [*ops_between(load, scope), load]
    return next((op for op in path if isinstance(op, BlockOp)), child_towards(scope, load))


def _inline(block: BlockOp, stores: Mapping[SSAValue, StoreOp]) -> None:
    touched = blocks_using(stores) - {block}
    erase_accesses([*touched, block])
    for buffer, store in stores.items():
        for load in [use.operation for use in buffer.uses]:
            if isinstance(load, LoadOp):
                _replace(block, store, load)
    erase_block(block)
    for buffer in stores:
        erase_buffer(buffer)
    renew_accesses([*touched])


def _replace(block: BlockOp, store: StoreOp, load: LoadOp) -> None:
    """Replace a load by a copy of the expression that the store stores."""
    analyzer = Analyzer()
    with analyzer.inside(load):
        shared = _shared_axes(block, store, load)
        axes = _inverse(analyzer, block, store, [analyzer.exact(index) for index in load.indices], shared)

        def replace(builder: TirBuilder, value: SSAValue) -> SSAValue | None:
            if value in shared:
                return shared[value]
            return export(analyzer, axes[value], builder, value.type) if value in axes else None

        copier = Copier(block, replace)
        load.result.replace_all_uses_with(copier.value(builder_before(load), store.value))
    erase_if_dead(load.result)
    simplify_accesses(copier.loads)


def _inverse(
    analyzer: Analyzer, block: BlockOp, store: StoreOp, element: Sequence[Lin], shared: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, Lin]:
    """The values of the axes that a store and its operands depend on when it stores to `element`, without those that
    the reader has too (`shared`). ScheduleError if the element does not determine them."""
    indices = [analyzer.exact(index) for index in store.indices]
    axes = solve_axes(analyzer, block, _axes_of(block, store.operands) - set(shared), indices, element)
    if isinstance(axes, str):
        raise ScheduleError(
            f"block {block_name(block)} stores to {element_text(store)}, which does not tell its axes: {axes}",
            [block],
        )
    return axes


def _shared_axes(block: BlockOp, store: StoreOp, load: LoadOp) -> dict[SSAValue, SSAValue]:
    """The axes that the value of a store depends on, but not its indices, and that are bound to a loop to which the
    reader binds an axis: this axis for each. The check of the value flow requires the same iteration of both."""
    reader = _reader(block, load)
    if not isinstance(reader, BlockOp):
        return {}
    others = {binding: axis for axis, binding in zip(reader.variables, reader.bindings, strict=True)}
    free = _axes_of(block, [store.value]) - _axes_of(block, store.indices)
    return {
        axis: others[binding]
        for axis, binding in zip(block.variables, block.bindings, strict=True)
        if axis in free and isinstance(binding, BlockArgument) and binding in others
    }


def _axes_of(block: BlockOp, operands: Iterable[SSAValue]) -> set[SSAValue]:
    """The axes that operands of a store depend on; the branches around it do not count."""
    axes: set[SSAValue] = set()
    seen: set[SSAValue] = set()
    todo = list(operands)
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in block.variables:
            axes.add(value)
        elif isinstance(value.owner, Operation) and block.is_ancestor(value.owner):
            todo += [operand for inner in value.owner.walk() for operand in inner.operands]
    return axes
