"""The primitives `cache_read` and `cache_write`: copies of buffers in other memory scopes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...analysis.index import Analyzer
from ...analysis.names import block_name, buffer_name
from ...analysis.regions import (
    AccessBox,
    required_region,
    shape_sides,
    why_not_covered,
    written_box,
)
from ...analysis.regions.access_regions import buffer_shape
from ...analysis.scopes import BlockScope, enclosing_scope, precedes_in_text, reads_of, root_buffer, writes_of
from ...core.errors import ScheduleError
from ...dialects.schedule import CacheReadOp, CacheWriteOp
from ...dialects.tir import BlockOp, FuncOp
from ..handles import BlockLike, BlockRV
from ..rewriting.caching import Cache, reads_in, require_one_name, touched_region
from ..rewriting.copies import (
    BufferLike,
    access_at,
    accesses_of,
    find_accesses,
    reads_results,
    redirect,
    require_block,
)
from ..rewriting.gaps import Gap, body_start, gap_after_writers, gap_before_next_user
from ..state import State, applies
from .annotations import require_memory
from .arguments import BufferArguments


class CachePrimitives(BufferArguments):
    """Primitives that redirect the accesses of blocks to a copy of a buffer."""

    def cache_read(
        self,
        block: BlockLike,
        read_buffer_index: BufferLike,
        storage_scope: str,
        consumer_blocks: Sequence[BlockLike] | None = None,
    ) -> BlockRV:
        """Copy the elements of a buffer that a block reads to memory of another scope, and read the copy.

            for i, j in T.grid(8, 8):           for ax0, ax1 in T.grid(8, 8):
                with T.block("B"):                  with T.block("A_shared"):
                    vi, vj = ...         ->             v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    B[vi, vj] = A[vi, vj]               A_shared[v0, v1] = A[v0, v1]
                                                for i, j in T.grid(8, 8):
                                                    with T.block("B"):
                                                        B[vi, vj] = A_shared[vi, vj]

        block: a block that reads the buffer.  read_buffer_index: the index of the buffer among the buffers that the
        block reads, or its name.  storage_scope: "global", "shared", "local", ...  consumer_blocks: the blocks of the
        same scope that read the copy; by default all that read the buffer and do not write it.
        Returns the copying block. It precedes the first reader, in the innermost loop around a reader and the last
        block that writes the buffer; it is at the start of the scope if no block writes the buffer. At the level of
        the scope only the written elements (or, in a nested block, its declared reads) are copied.
        Legal if every reader still reads the same values. ScheduleError if not, or if the copy would read elements
        that were never written.
        """
        handle = self._block(block)
        index = self._buffer_index(handle, "read", read_buffer_index)
        return self.record(
            CacheReadOp,
            block=handle,
            read_buffer_index=index,
            storage_scope=storage_scope,
            consumer_blocks=[self._block(consumer) for consumer in consumer_blocks or ()],
        )[0]

    def cache_write(
        self,
        block: BlockLike,
        write_buffer_index: BufferLike,
        storage_scope: str,
        consumer_blocks: Sequence[BlockLike] | None = None,
    ) -> BlockRV:
        """Redirect the writes of a block to memory of another scope, and copy them from there to the buffer.

            for i, j in T.grid(8, 8):           for i, j in T.grid(8, 8):
                with T.block("B"):                  with T.block("B"):
                    vi, vj = ...         ->             B_local[vi, vj] = A[vi, vj]
                    B[vi, vj] = A[vi, vj]       for ax0, ax1 in T.grid(8, 8):
                                                    with T.block("B_local"):
                                                        v0, v1 = T.axis.remap("SS", [ax0, ax1])
                                                        B[v0, v1] = B_local[v0, v1]

        block: a block that writes the buffer.  write_buffer_index: the index of the buffer among the buffers that the
        block writes, or its name.  storage_scope: "global", "shared", "local", ...  consumer_blocks: the blocks of the
        same scope that read the copy in that memory; the others read the buffer.
        Returns the copying block. It precedes the first block after `block` that uses the buffer, in the innermost
        loop around both; it is at the end of the scope if no such block exists.
        Legal if every reader still reads the same values. ScheduleError if not, or if the copy would read elements
        that `block` does not write.
        """
        handle = self._block(block)
        index = self._buffer_index(handle, "write", write_buffer_index)
        return self.record(
            CacheWriteOp,
            block=handle,
            write_buffer_index=index,
            storage_scope=storage_scope,
            consumer_blocks=[self._block(consumer) for consumer in consumer_blocks or ()],
        )[0]


# cache_read


@applies(CacheReadOp)
def cache_read(
    state: State, block: BlockOp | FuncOp, read_buffer_index: int, storage_scope: str, consumer_blocks: list[BlockOp]
) -> BlockOp:
    buffer = access_at(block, "read", read_buffer_index).buffer
    block = require_block(block)
    require_memory(storage_scope, block)
    scope = BlockScope(enclosing_scope(block))
    require_one_name(scope, buffer)
    writers = [w for w in scope.writers.get(root_buffer(buffer), ()) if precedes_in_text(w, block)]
    readers = list(dict.fromkeys(consumer_blocks)) or _readers(scope, block, buffer, writers)
    for reader in readers:
        _require_reader(scope, reader, buffer)
    analyzer = Analyzer(through_lets=False)
    cache = _find_read(analyzer, scope, buffer, writers, readers)
    moves, pointers = cache.in_copy() is not None, cache.has_layout_of_buffer(storage_scope)
    redirections = [reads_in(reader, buffer, moves=moves, pointers=pointers) for reader in readers]
    with state.changing(readers, among=[cache.gap.outer]) as change:
        copy = cache.make(analyzer, storage_scope)
        for accesses in redirections:
            redirect(accesses, copy, cache.in_copy())
        new = cache.copy(analyzer, copy, storage_scope, block, into=True)
        change.copies_after.append(new)
    return new


def _readers(scope: BlockScope, block: BlockOp, buffer: SSAValue, writers: Sequence[BlockOp]) -> list[BlockOp]:
    """The blocks that can read the same copy as `block`: the readers that do not write the buffer, between the last
    writer before `block` and the next one after it."""
    if block in writer_blocks(scope, buffer):
        return [block]
    last = writers[-1] if writers else None
    others = [w for w in scope.writers.get(root_buffer(buffer), ()) if w not in writers]
    return [
        reader
        for reader in scope.readers[root_buffer(buffer)]
        if root_buffer(buffer) not in writes_of(reader)
        and (last is None or precedes_in_text(last, reader))
        and not any(precedes_in_text(w, reader) for w in others)
    ]


def writer_blocks(scope: BlockScope, buffer: SSAValue) -> list[BlockOp]:
    """The blocks of a scope that write a buffer."""
    return scope.writers.get(root_buffer(buffer), [])


def _require_reader(scope: BlockScope, reader: BlockOp | FuncOp, buffer: SSAValue) -> None:
    reader = require_block(reader)
    if reader not in scope.blocks:
        raise ScheduleError(f"consumer block {block_name(reader)} is in another scope", [reader])
    if root_buffer(buffer) not in reads_of(reader):
        raise ScheduleError(f"consumer block {block_name(reader)} does not read buffer {buffer_name(buffer)}", [reader])


def _find_read(
    analyzer: Analyzer, scope: BlockScope, buffer: SSAValue, writers: Sequence[BlockOp], readers: Sequence[BlockOp]
) -> Cache:
    if not writers:
        return _input(analyzer, scope.op, buffer)
    return _region(analyzer, scope.op, buffer, gap_after_writers(writers, readers), writers)


def _input(analyzer: Analyzer, scope: FuncOp | BlockOp, buffer: SSAValue) -> Cache:
    """The cache of a buffer without writers in the scope: the declared reads of the scope's block, or all elements."""
    gap = body_start(scope)
    shape = buffer_shape(buffer)
    whole = shape_sides(analyzer, shape)
    accesses = accesses_of(scope, "read", buffer) if isinstance(scope, BlockOp) else []
    boxes = [written_box(analyzer, access) for access in accesses]
    region = required_region(analyzer, boxes, gap.is_fixed, whole) if boxes else whole
    if isinstance(region, str):
        region = whole
    return Cache(
        buffer, scope, gap, [s.intersect(analyzer, w) for s, w in zip(region, whole, strict=True)], is_whole=not boxes
    )


def _region(
    analyzer: Analyzer, scope: FuncOp | BlockOp, buffer: SSAValue, gap: Gap, writers: Sequence[BlockOp]
) -> Cache:
    """The cache of the elements that the writers write each time the region of the gap runs."""
    accesses = [access for writer in writers for access in accesses_of(writer, "write", buffer)]
    boxes, region = touched_region(analyzer, buffer, accesses, gap)
    whole = shape_sides(analyzer, buffer_shape(buffer))
    reason = why_not_covered(
        analyzer, boxes, [AccessBox(tuple((side.low, side.extent) for side in region))], gap.is_fixed, whole
    )
    if reason is not None and all(box.is_exact for box in boxes) and "as far as is known" not in reason:
        names = ", ".join(block_name(writer) for writer in writers)
        raise ScheduleError(
            f"the copy would read elements of buffer {buffer_name(buffer)} that block {names} does not write: {reason}",
            writers,
        )
    is_whole = gap.outer is not scope
    return Cache(buffer, scope, gap, region, is_whole)


# cache_write


@applies(CacheWriteOp)
def cache_write(
    state: State, block: BlockOp | FuncOp, write_buffer_index: int, storage_scope: str, consumer_blocks: list[BlockOp]
) -> BlockOp:
    buffer = access_at(block, "write", write_buffer_index).buffer
    block = require_block(block)
    require_memory(storage_scope, block)
    scope = BlockScope(enclosing_scope(block))
    require_one_name(scope, buffer)
    readers = list(dict.fromkeys(consumer_blocks))
    for reader in readers:
        _require_reader(scope, reader, buffer)
    analyzer = Analyzer(through_lets=False)
    gap = gap_before_next_user(scope, block, buffer, ignored=readers)
    cache = _region(analyzer, scope.op, buffer, gap, [block])
    moves = cache.in_copy() is not None
    redirections = [find_accesses(block, buffer, loads=reads_results(block, buffer), moves=moves)]
    redirections += [reads_in(reader, buffer, moves=moves) for reader in readers if reader is not block]
    with state.changing([block, *readers], among=[cache.gap.outer]) as change:
        copy = cache.make(analyzer, storage_scope)
        for accesses in redirections:
            redirect(accesses, copy, cache.in_copy())
        new = cache.copy(analyzer, copy, storage_scope, block, into=False)
        change.copies_after.append(new)
    return new
