"""The primitives `cache_inplace`, `read_at` and `write_at`: copies of buffers beside a block, or in a loop."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

from xdsl.dialects.builtin import BoolAttr, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.index import Analyzer
from ...analysis.names import block_name, buffer_name, loop_name
from ...analysis.regions import IndexRange
from ...analysis.scopes import (
    BlockScope,
    child_blocks,
    child_towards,
    depends_on,
    enclosing_scope,
    loops_around,
    ops_between,
    reads_of,
    root_buffer,
    writes_of,
)
from ...core.errors import ScheduleError
from ...dialects.schedule import CacheInplaceOp, ReadAtOp, WriteAtOp
from ...dialects.tir import AccessOp, Axis, BlockOp, BufferDataOp, ForOp, FuncOp, StoreOp, scope_of
from ...dialects.tir.copying import copy_bound
from ...dialects.tir.tree import captured_operands, erase_statement, treeify, with_expressions
from ..handles import BlockLike, BlockRV, LoopRV
from ..rewriting.caching import Cache, reads_in, require_one_name, threads_sharing, touched_region
from ..rewriting.copies import (
    BufferLike,
    Redirection,
    access_at,
    accesses_of,
    find_accesses,
    reads_results,
    redirect,
    require_block,
)
from ..rewriting.gaps import Gap, gap_beside
from ..rewriting.nest import (
    builder_before_expressions,
    erase_accesses,
    function_of,
    renew_accesses,
    replace_by_sum,
    set_annotation,
    simplify_indices,
)
from ..rewriting.reindexing import is_always_run
from ..state import State, applies
from .annotations import move_to_memory, require_memory
from .arguments import BufferArguments

AUTO_COPY = "auto_copy"
"""The annotation of TVM on the copying blocks of `read_at` and `write_at`."""


class CacheAtPrimitives(BufferArguments):
    """Primitives that copy a buffer beside one block, or in a loop."""

    def cache_inplace(self, block: BlockLike, read_buffer_index: BufferLike, storage_scope: str) -> list[BlockRV]:
        """Copy the elements of a buffer that a block reads and writes to memory of another scope before the block, and
        back after it.

            for i in range(8):                  for i in range(8):
                with T.block("A"):                  with T.block("A_local"):
                    vi = ...                            v0 = T.axis.spatial(8, i)
                    A[vi] = A[vi] * 2.0  ->             A_local[v0] = A[v0]
                                                    with T.block("A"):
                                                        A_local[vi] = A_local[vi] * 2.0
                                                    with T.block("A_local_1"):
                                                        v0 = T.axis.spatial(8, i)
                                                        A[v0] = A_local[v0]

        block: a block that reads and writes the buffer.  read_buffer_index: the index of the buffer among the buffers
        that the block reads, or its name.  storage_scope: "global", "shared", "local", ...
        Returns the copying blocks: before the block, and after it. They copy its declared reads, and its declared
        writes. Pointers to the buffer go to the copy, too.
        Legal if every reader still reads the same values. ScheduleError with two conflicting instances if not.
        """
        handle = self._block(block)
        index = self._buffer_index(handle, "read", read_buffer_index)
        return self.record(CacheInplaceOp, block=handle, read_buffer_index=index, storage_scope=storage_scope)

    def read_at(self, loop: LoopRV, block: BlockLike, read_buffer_index: BufferLike, storage_scope: str) -> BlockRV:
        """In each iteration of a loop, copy the elements of a buffer that the blocks in it read to memory of another
        scope, and read the copy.

            for i, j in T.grid(8, 8):           for i in range(8):
                with T.block("B"):                  with T.block("A_local"):
                    vi, vj = ...         ->             v0 = T.axis.spatial(8, i)
                    B[vi, vj] = A[vi, vj]               for ax0 in range(8):
                                                            A_local[v0, ax0] = A[v0, ax0]
                                                    for j in range(8):
                                                        with T.block("B"):
                                                            B[vi, vj] = A_local[vi, vj]

        loop: a loop around the block.  block: a block that reads the buffer.  read_buffer_index: the index of the
        buffer among the buffers that the block reads, or its name.  storage_scope: "global", "shared", "local", ...
        Returns the copying block, which contains the loops over the elements, and has the annotation `auto_copy`. It
        directly precedes the first statement in the loop that reads the buffer. Threads around the loop that share the
        memory each copy the elements of all of them.
        Legal if every reader still reads the same values. ScheduleError with two conflicting instances if not.
        """
        handle = self._block(block)
        index = self._buffer_index(handle, "read", read_buffer_index)
        return self.record(ReadAtOp, loop=loop, block=handle, read_buffer_index=index, storage_scope=storage_scope)[0]

    def write_at(self, loop: LoopRV, block: BlockLike, write_buffer_index: BufferLike, storage_scope: str) -> BlockRV:
        """In each iteration of a loop, redirect the writes of the blocks in it to memory of another scope, and copy
        them from there to the buffer.

            for i, j in T.grid(8, 8):           for i in range(8):
                with T.block("B"):                  for j in range(8):
                    vi, vj = ...         ->             with T.block("B"):
                    B[vi, vj] = A[vi, vj]                   B_local[vi, vj] = A[vi, vj]
                                                    with T.block("B_local"):
                                                        v0 = T.axis.spatial(8, i)
                                                        for ax0 in range(8):
                                                            B[v0, ax0] = B_local[v0, ax0]

        loop: a loop around the block.  block: a block that writes the buffer.  write_buffer_index: the index of the
        buffer among the buffers that the block writes, or its name.  storage_scope: "global", "shared", "local", ...
        Returns the copying block, which contains the loops over the elements, and has the annotation `auto_copy`. It
        directly follows the last statement in the loop that writes the buffer; the blocks in the loop up to there that
        read the buffer read the copy. Threads around the loop that share the memory each copy the elements of all of
        them, so that they would read what other threads have not written yet, and the primitive is refused.
        Legal if every reader still reads the same values. ScheduleError with two conflicting instances if not.
        """
        handle = self._block(block)
        index = self._buffer_index(handle, "write", write_buffer_index)
        return self.record(WriteAtOp, loop=loop, block=handle, write_buffer_index=index, storage_scope=storage_scope)[0]


# cache_inplace


@applies(CacheInplaceOp)
def cache_inplace(state: State, block: BlockOp | FuncOp, read_buffer_index: int, storage_scope: str) -> list[BlockOp]:
    buffer = access_at(block, "read", read_buffer_index).buffer
    block = require_block(block)
    require_memory(storage_scope, block)
    if root_buffer(buffer) not in writes_of(block):
        raise ScheduleError(
            f"block {block_name(block)} reads buffer {buffer_name(buffer)}, but does not write it", [block]
        )
    scope = BlockScope(enclosing_scope(block))
    require_one_name(scope, buffer)
    analyzer = Analyzer(through_lets=False)
    outer = block.parent_op()
    assert outer is not None
    before, after = (
        _cache(
            analyzer, scope, buffer, accesses_of(block, side, buffer), gap_beside(outer, block, after=side == "write")
        )
        for side in ("read", "write")
    )
    found = find_accesses(
        block, buffer, pointers=before.has_layout_of_buffer(scope_of(cast("MemRefType[Attribute]", buffer.type)))
    )
    with state.changing([block], among=[outer]) as change:
        copy = before.make(analyzer, storage_scope)
        redirect(found, copy)
        _follow_scope(found, storage_scope)
        blocks = [
            before.copy(analyzer, copy, storage_scope, block, into=True),
            after.copy(analyzer, copy, storage_scope, block, into=False),
        ]
        change.copies_after += blocks
    return blocks


def _follow_scope(found: Redirection, storage_scope: str) -> None:
    """Change the scope in the types of the pointers among redirected accesses."""
    for op, _ in found.ops:
        if isinstance(op, BufferDataOp):
            move_to_memory(op.pointer, storage_scope)


def _cache(
    analyzer: Analyzer,
    scope: BlockScope,
    buffer: SSAValue,
    accesses: Sequence[AccessOp],
    gap: Gap,
    relaxed: Collection[SSAValue] = (),
) -> Cache:
    """The plan of a copy of the shape of a buffer, which holds the accessed elements each time the region of a gap
    runs, for all values of the variables `relaxed`."""
    _, region = touched_region(analyzer, buffer, accesses, gap, relaxed)
    return Cache(buffer, scope.op, gap, region, is_whole=True)


# read_at and write_at


@applies(ReadAtOp)
def read_at(state: State, loop: ForOp, block: BlockOp | FuncOp, read_buffer_index: int, storage_scope: str) -> BlockOp:
    buffer = access_at(block, "read", read_buffer_index).buffer
    scope = _scope(loop, require_block(block), buffer, storage_scope)
    readers = [b for b in child_blocks(loop) if root_buffer(buffer) in reads_of(b)]
    analyzer = Analyzer(through_lets=False)
    gap = gap_beside(loop, readers[0], after=False)
    accesses = [a for b in readers for a in accesses_of(b, "read", buffer)]
    cache = _cache(analyzer, scope, buffer, accesses, gap, threads_sharing(loop, storage_scope))
    pointers = cache.has_layout_of_buffer(storage_scope)
    redirections = [reads_in(reader, buffer, moves=False, pointers=pointers) for reader in readers]
    with state.changing(readers, among=[loop]) as change:
        copy = cache.make(analyzer, storage_scope)
        for accesses in redirections:
            redirect(accesses, copy)
        new = cache.copy(analyzer, copy, storage_scope, readers[0], into=True)
        change.copies_after.append(new)
    with state.changing(check=False):
        return _one_block(new, loop, cache.region)


@applies(WriteAtOp)
def write_at(
    state: State, loop: ForOp, block: BlockOp | FuncOp, write_buffer_index: int, storage_scope: str
) -> BlockOp:
    buffer = access_at(block, "write", write_buffer_index).buffer
    scope = _scope(loop, require_block(block), buffer, storage_scope)
    inside = child_blocks(loop)
    writers = [b for b in inside if root_buffer(buffer) in writes_of(b)]
    analyzer = Analyzer(through_lets=False)
    gap = gap_beside(loop, writers[-1], after=True)
    accesses = [a for b in writers for a in accesses_of(b, "write", buffer)]
    cache = _cache(analyzer, scope, buffer, accesses, gap, threads_sharing(loop, storage_scope))
    for writer in writers:
        _require_writes(writer, buffer)
    last = child_towards(loop, writers[-1])
    readers = [b for b in inside if b not in writers and _reads_until(b, buffer, loop, last)]
    redirections = [find_accesses(w, buffer, loads=reads_results(w, buffer)) for w in writers]
    redirections += [reads_in(reader, buffer, moves=False) for reader in readers]
    with state.changing([*writers, *readers], among=[loop]) as change:
        copy = cache.make(analyzer, storage_scope)
        for accesses in redirections:
            redirect(accesses, copy)
        new = cache.copy(analyzer, copy, storage_scope, writers[-1], into=False)
        change.copies_after.append(new)
    with state.changing(check=False):
        return _one_block(new, loop, cache.region)


def _scope(loop: ForOp, block: BlockOp, buffer: SSAValue, storage_scope: str) -> BlockScope:
    """The scope of a block. ScheduleError unless a loop is around the block there, and the memory scope exists."""
    require_memory(storage_scope, block)
    if loop not in loops_around(block):
        raise ScheduleError(
            f"loop {loop_name(loop)} is not around block {block_name(block)} in the scope that it is in",
            {loop: "", block: ""},
        )
    scope = BlockScope(enclosing_scope(block))
    require_one_name(scope, buffer)
    return scope


def _require_writes(block: BlockOp, buffer: SSAValue) -> None:
    """Raise ScheduleError if a block may leave elements of a buffer unwritten that it declares to write: the copy would
    read them."""
    for use in buffer.uses:
        op = use.operation
        if block.is_ancestor(op) and isinstance(op, StoreOp) and not is_always_run(op, block):
            raise ScheduleError(
                f"the copy would read elements of buffer {buffer_name(buffer)} that block {block_name(block)} writes "
                "under a condition",
                [block],
            )


def _reads_until(block: BlockOp, buffer: SSAValue, loop: ForOp, last: Operation) -> bool:
    """Whether a block reads a buffer in the statements of a loop up to `last`."""
    child = child_towards(loop, block)
    return root_buffer(buffer) in reads_of(block) and (child is last or child.is_before_in_block(last))


def _one_block(block: BlockOp, loop: ForOp, region: Sequence[IndexRange]) -> BlockOp:
    """Replace a copying block and the loops around it in `loop` by one block around these loops; returns it.

    It has an axis for each loop from `loop` outwards that determines the copied region, in the order of the dimensions.
    """
    inner = ops_between(block, loop)
    leaves = [leaf for side in region for total in (side.low, side.extent) for leaf in total.leaves()]
    around = sorted((*loops_around(loop), loop), key=lambda o: _position(o.variable, leaves))
    tile = _wrap(inner[0], block_name(block), around) if inner else block
    if tile is not block:
        _dissolve(block)
        simplify_indices(tile)
        renew_accesses([tile])
        treeify(function_of(tile))
    set_annotation(tile, AUTO_COPY, BoolAttr.from_bool(True))
    return tile


def _position(value: SSAValue, values: Sequence[SSAValue]) -> int:
    """The first position of a value in a sequence; its length if the value is not in it."""
    return next((n for n, other in enumerate(values) if other is value), len(values))


def _wrap(root: Operation, name: str, loops: Sequence[ForOp]) -> BlockOp:
    """Wrap a statement in a block with an axis for each of some loops that it depends on; returns the block."""
    ops = with_expressions(root)
    values = [value for op in ops for value in captured_operands(op)]
    used = [loop for loop in loops if depends_on(values, loop.variable)]
    builder = builder_before_expressions(root)
    axes: list[Axis] = []
    for n, loop in enumerate(used):
        low, extent = (copy_bound(bound, builder, {}) for bound in loop.mixed_bounds[:2])
        axes.append(Axis(f"v{n}", "spatial", low, extent, loop.variable))
    tile = builder.insert(BlockOp(name, axes))
    for op in ops:
        op.detach()
        tile.body.block.add_op(op)
    for loop, variable in zip(used, tile.variables, strict=True):
        loop.variable.replace_uses_with_if(variable, lambda use: tile.body.is_ancestor(use.operation))
    return tile


def _dissolve(block: BlockOp) -> None:
    """Move the body of a block without a predicate to its position, and erase the block."""
    erase_accesses([block])
    analyzer = Analyzer()
    for variable, binding in zip(block.variables, block.bindings, strict=True):
        replace_by_sum(analyzer, variable, analyzer.exact(binding))
    assert block.parent is not None
    for op in list(block.body.block.ops):
        op.detach()
        block.parent.insert_op_before(op, block)
    erase_statement(block)
