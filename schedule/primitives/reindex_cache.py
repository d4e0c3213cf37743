"""The primitives `reindex_cache_read` and `reindex_cache_write`: copies in other memory, with other indices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...analysis.index import Analyzer, Lin
from ...analysis.names import block_name, buffer_name
from ...analysis.scopes import BlockScope, enclosing_scope, precedes_in_text, root_buffer
from ...core.errors import ScheduleError
from ...dialects.schedule import BoundMap, ReindexCacheReadOp, ReindexCacheWriteOp
from ...dialects.tir import BlockOp, FuncOp
from ...dialects.tir.base import memory_space
from ..handles import BlockLike, BlockRV
from ..rewriting.copies import BufferLike, access_at, require_block
from ..rewriting.gaps import Gap, body_start, gap_after_writers, gap_before_next_user
from ..rewriting.index_maps import IndexMap, bound_index_map, require_sizes_of
from ..rewriting.nest import function_of
from ..rewriting.reindexing import IndexedElement, axis_range, find_element, insert_reindexed_copy, plan_reindexing
from ..state import State, applies
from .annotations import require_memory
from .arguments import BufferArguments
from .layout import new_layout


class ReindexCachePrimitives(BufferArguments):
    """Primitives that redirect the accesses of a block to a copy of a buffer with other indices."""

    def reindex_cache_read(
        self, block: BlockLike, read_buffer_index: BufferLike, storage_scope: str, index_map: IndexMap
    ) -> BlockRV:
        """Copy the elements of a buffer that a block reads to memory of another scope, with indices computed from the
        axes of the block, and read the copy.

            for i, j in T.grid(8, 8):           for ax0, ax1 in T.grid(8, 8):
                with T.block("B"):                  with T.block("A_shared"):
                    vi, vj = ...         ->             v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    B[vi, vj] = A[vi, vj]               A_shared[v1, v0 // 2, v0 % 2] = A[v0, v1]
                                                for i, j in T.grid(8, 8):
                                                    with T.block("B"):
                                                        B[vi, vj] = A_shared[vj, vi // 2, vi % 2]

        block: a block without nested blocks, whose accesses to the buffer all have the same indices.
        read_buffer_index: the index of the buffer among the buffers that the block reads, or its name.
        storage_scope: "global", "shared", "local", ...  index_map: a function of the axes of the block, counted from
        the start of their domains, that returns the indices in the copy, as of `transform_layout`.
        Returns the copying block, at the position of that of `cache_read`. It has the axes that determine the element.
        Legal if the block still reads the same values. ScheduleError if not, if the index map puts different elements
        in the same place, or depends on an axis that does not determine the element.
        """
        handle = self._block(block)
        return self.record(
            ReindexCacheReadOp,
            block=handle,
            read_buffer_index=self._buffer_index(handle, "read", read_buffer_index),
            storage_scope=storage_scope,
            index_map=self._axis_map(handle, index_map),
        )[0]

    def reindex_cache_write(
        self, block: BlockLike, write_buffer_index: BufferLike, storage_scope: str, index_map: IndexMap
    ) -> BlockRV:
        """Redirect the writes of a block to memory of another scope, with indices computed from the axes of the block,
        and copy them from there to the buffer.

            for i, j in T.grid(8, 8):           for i, j in T.grid(8, 8):
                with T.block("B"):                  with T.block("B"):
                    vi, vj = ...         ->             B_local[vj, vi] = A[vi, vj]
                    B[vi, vj] = A[vi, vj]       for ax0, ax1 in T.grid(8, 8):
                                                    with T.block("B_local"):
                                                        v0, v1 = T.axis.remap("SS", [ax0, ax1])
                                                        B[v0, v1] = B_local[v1, v0]

        block: a block without nested blocks, whose accesses to the buffer all have the same indices.
        write_buffer_index: the index of the buffer among the buffers that the block writes, or its name.
        storage_scope: "global", "shared", "local", ...  index_map: a function of the axes of the block, counted from
        the start of their domains, that returns the indices in the copy, as of `transform_layout`.
        Returns the copying block, at the position of that of `cache_write`. It has the axes that determine the element.
        Legal if every reader still reads the same values. ScheduleError if not, if the copy would read elements that
        the block does not write, or if the index map puts different elements in the same place, or depends on an axis
        that does not determine the element.
        """
        handle = self._block(block)
        return self.record(
            ReindexCacheWriteOp,
            block=handle,
            write_buffer_index=self._buffer_index(handle, "write", write_buffer_index),
            storage_scope=storage_scope,
            index_map=self._axis_map(handle, index_map),
        )[0]

    def _axis_map(self, block: BlockRV, index_map: IndexMap) -> BoundMap:
        """An index map of the axes of a block."""
        return bound_index_map(index_map, len(require_block(self._block_op(block)).axes))


@applies(ReindexCacheReadOp)
def reindex_cache_read(
    state: State, block: BlockOp | FuncOp, read_buffer_index: int, storage_scope: str, index_map: BoundMap
) -> BlockOp:
    buffer = access_at(block, "read", read_buffer_index).buffer
    return _reindex(state, require_block(block), buffer, storage_scope, index_map, reads=True)


@applies(ReindexCacheWriteOp)
def reindex_cache_write(
    state: State, block: BlockOp | FuncOp, write_buffer_index: int, storage_scope: str, index_map: BoundMap
) -> BlockOp:
    buffer = access_at(block, "write", write_buffer_index).buffer
    return _reindex(state, require_block(block), buffer, storage_scope, index_map, reads=False)


def _reindex(
    state: State, block: BlockOp, buffer: SSAValue, storage_scope: str, index_map: BoundMap, *, reads: bool
) -> BlockOp:
    require_memory(storage_scope, block)
    require_sizes_of(function_of(block), index_map)
    analyzer = Analyzer(through_lets=False)
    element = find_element(analyzer, block, buffer, reads=reads)
    _require_axes(element, index_map)
    copied, shape = _map_axes(analyzer, element, index_map)
    plan = plan_reindexing(analyzer, element, copied, shape, _gap(block, buffer, reads=reads))
    hint = f"{buffer_name(buffer)}_{storage_scope}"
    space = memory_space(storage_scope)
    return insert_reindexed_copy(state, analyzer, plan, hint.replace(".", "_"), hint, space, unit_loops=False)


def _require_axes(element: IndexedElement, index_map: BoundMap) -> None:
    """Raise ScheduleError if an index map depends on an axis that does not determine the element."""
    leaves = (leaf for result in index_map.map.results for leaf in result.dfs())
    used = sorted({leaf.position for leaf in leaves if isinstance(leaf, AffineDimExpr)})
    other = next((n for n in used if n not in element.axes), None)
    if other is not None:
        raise ScheduleError(
            f"the index map depends on axis {element.block.axes[other].name} of block {block_name(element.block)}, "
            f"which is in no index of buffer {buffer_name(element.buffer)}",
            [element.block],
        )


def _map_axes(analyzer: Analyzer, element: IndexedElement, index_map: BoundMap) -> tuple[list[Lin], Sequence[Lin]]:
    """The results of an index map for the axes of a block, and the shape that contains them. An axis that does not
    determine the element has one value."""
    block = element.block
    domains = [axis_range(analyzer, block, n) for n in range(len(block.axes))]
    shape = [domain.extent if n in element.axes else Lin(1) for n, domain in enumerate(domains)]
    layout = new_layout(analyzer, index_map, shape, [variable.type for variable in block.variables])
    values = [Lin.of(variable) - domain.low for variable, domain in zip(block.variables, domains, strict=True)]
    axes: dict[SSAValue, Lin] = dict(zip(layout.indices, values, strict=True))
    return [analyzer.substitute(total, axes) for total in layout.sums], layout.new


def _gap(block: BlockOp, buffer: SSAValue, *, reads: bool) -> Gap:
    """The gap of the copying block: after the last block before `block` that writes a buffer it reads, at the start of
    the scope if none does; or before the next block that uses a buffer it writes."""
    scope = BlockScope(enclosing_scope(block))
    if not reads:
        return gap_before_next_user(scope, block, buffer)
    writers = [w for w in scope.writers.get(root_buffer(buffer), ()) if precedes_in_text(w, block)]
    return gap_after_writers(writers, [block]) if writers else body_start(scope.op)
