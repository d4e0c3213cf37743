"""The primitive `reindex`: copies of buffers that are indexed by the axes of a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.iter_map import lin_text, predicate_constraints
from ...analysis.names import block_name, buffer_name, fresh_block_name, fresh_buffer_name
from ...analysis.regions import (
    AccessBox,
    IndexRange,
    access_box,
    bindings,
    required_region,
    restrict_to_branches,
    shape_sides,
    why_not_covered,
)
from ...analysis.regions.access_regions import buffer_shape
from ...analysis.scopes import (
    BlockScope,
    child_blocks,
    depends_on,
    enclosing_scope,
    ops_between,
    precedes_in_text,
    root_buffer,
    writes_of,
)
from ...core.errors import ScheduleError
from ...dialects.schedule import ReindexOp
from ...dialects.text.names import source_name
from ...dialects.tir import AccessOp, AllocateOp, AllocBufferOp, BlockOp, ForOp, FuncOp, LoadOp, StoreOp
from ..handles import BlockLike, BlockRV
from ..recorder import Recorder
from ..rewriting.copies import (
    CopyAxis,
    Indices,
    Redirection,
    access_at,
    allocate_copy,
    buffer_index,
    copy_block,
    find_accesses,
    index_type,
    reads_results,
    redirect,
    require_block,
)
from ..rewriting.gaps import Gap, gap_beside, innermost_common
from ..rewriting.nest import function_of
from ..state import State, applies

SidedBuffer = tuple[str, int] | str | int
"""A buffer of a block: ("read", index) or ("write", index), a name, or an index among the buffers that it reads."""


class ReindexPrimitives(Recorder):
    """The primitive that indexes a buffer by the axes of a block."""

    def reindex(self, block: BlockLike, buffer: SidedBuffer) -> BlockRV:
        """Copy a buffer so that a block indexes the copy by its own axes, in their order.

            for i, j, k in T.grid(8, 4, 6):       for ax0, ax1 in T.grid(4, 6):
                with T.block("C"):                    with T.block("B_reindex_reindex"):
                    vi, vj, vk = ...                      v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    C[vi, vj] += ... B[vk, vj]  ->        B_reindex[v0, v1] = B[v1, v0]
                                                      ...     C[vi, vj] += ... B_reindex[vj, vk]

        block: a block without nested blocks, whose accesses to the buffer all have the same indices.  buffer:
        ("read", index), ("write", index), or the name of the buffer.
        Returns the copying block: before `block` if the block reads the buffer, after it if it writes the buffer, in
        the innermost loop that also encloses a writer of the read buffer, or a later user of the written one. The new
        buffer has a dimension for each axis in the indices, in the order of the axes.
        Legal if every reader still reads the same values. ScheduleError if not, if the indices are not sums of axes, or
        if the copy would access elements that the block does not.
        """
        handle = self._block(block)
        side, index = self._side(handle, buffer)
        return self.record(ReindexOp, block=handle, buffer_side=side, buffer_index=index)[0]

    def _side(self, block: BlockRV, buffer: SidedBuffer) -> tuple[str, int]:
        """The side and index of a buffer, which may be specified in any form of `SidedBuffer`."""
        target = self._target(block)
        if not isinstance(target, BlockOp | FuncOp):
            raise ScheduleError("expected a block")
        return buffer_side(target, buffer)


def buffer_side(block: BlockOp | FuncOp, buffer: SidedBuffer | Sequence[str | int]) -> tuple[str, int]:
    """The side ("read" or "write") and index of a buffer of a block. A name is searched among the reads first.

    ScheduleError if there is no such buffer.
    """
    block = require_block(block)
    if isinstance(buffer, int):
        return "read", buffer_index(block, "read", buffer)
    if isinstance(buffer, str):
        reads = [buffer_name(access.buffer) for access in block.accesses if not access.is_write]
        side = "read" if buffer in reads else "write"
        return side, buffer_index(block, side, buffer)
    if len(buffer) == 2 and buffer[0] in ("read", "write") and isinstance(buffer[1], int):
        return buffer[0], buffer_index(block, buffer[0], buffer[1])
    raise ScheduleError(f'buffer {buffer!r}, expected ("read", number), ("write", number) or a name')


@dataclass(frozen=True)
class _Reindexing:
    """A buffer, the element of it that a block accesses, and the axes in the indices of the element.

    ranges: the values of each axis while the region of the gap runs once.
    """

    buffer: SSAValue
    block: BlockOp
    indices: Sequence[Lin]
    axes: Sequence[int]
    gap: Gap
    ranges: Sequence[IndexRange]

    def domain(self, analyzer: Analyzer, n: int) -> IndexRange:
        axis = self.block.axes[n]
        return IndexRange.of(analyzer, axis.low, axis.extent)

    def copy_axes(self, analyzer: Analyzer) -> list[CopyAxis]:
        copy_axes: list[CopyAxis] = []
        for n, side in zip(self.axes, self.ranges, strict=True):
            domain = self.domain(analyzer, n)
            copy_axes.append(CopyAxis(domain.low, domain.extent, side.low, side.extent))
        return copy_axes

    def in_copy(self, analyzer: Analyzer) -> Indices:
        """The indices in the copy for values of the axes; they count from 0."""
        lows = [self.domain(analyzer, n).low for n in self.axes]
        return lambda values: [value - low for value, low in zip(values, lows, strict=True)]

    def in_buffer(self, analyzer: Analyzer) -> Indices:
        variables = [self.block.variables[n] for n in self.axes]
        return lambda values: [
            analyzer.substitute(index, dict(zip(variables, values, strict=True))) for index in self.indices
        ]


@applies(ReindexOp)
def reindex(state: State, block: BlockOp | FuncOp, buffer_side: str, buffer_index: int) -> BlockOp:
    buffer = access_at(block, buffer_side, buffer_index).buffer
    block = require_block(block)
    if child_blocks(block):
        raise ScheduleError(f"block {block_name(block)} has blocks inside, expected none", [block])
    reads = buffer_side == "read"
    analyzer = Analyzer(through_lets=False)
    accesses = _accesses(block, buffer, reads=reads)
    indices = _common_indices(analyzer, block, buffer, accesses)
    axes = _axes_in(block, buffer, accesses, indices)
    gap = _gap(block, buffer, reads=reads)
    ranges = _ranges(analyzer, block, axes, gap)
    reindexing = _Reindexing(buffer, block, indices, axes, gap, ranges)
    _check_touched(analyzer, reindexing, reads=reads)
    func = function_of(block)
    wanted = f"{buffer_name(buffer)}_reindex"
    name = fresh_buffer_name(func, wanted)
    with state.changing([block], among=[gap.outer]) as change:
        shape = [reindexing.domain(analyzer, n).extent for n in axes]
        space = cast("MemRefType[Attribute]", buffer.type).memory_space
        copy = allocate_copy(analyzer, enclosing_scope(block), name, buffer, shape, space)
        values = [Lin.of(block.variables[n]) for n in axes]
        redirect(accesses, copy, lambda _: reindexing.in_copy(analyzer)(values))
        ends = [(buffer, reindexing.in_buffer(analyzer)), (copy, reindexing.in_copy(analyzer))]
        source, target = ends if reads else ends[::-1]
        # TVM names the block of a read after the new buffer, not after the old one.
        hint = f"{wanted}_reindex" if reads else wanted
        new = copy_block(
            analyzer,
            gap,
            fresh_block_name(func, hint),
            reindexing.copy_axes(analyzer),
            source,
            target,
            index_type(block),
        )
        change.copies_after.append(new)
    return new


def _accesses(block: BlockOp, buffer: SSAValue, *, reads: bool) -> Redirection:
    """The accesses to be redirected to the copy. The reads of a buffer that the block also writes are reads of its own
    results, unless the block declares that it reads the buffer."""
    if reads:
        accesses = find_accesses(block, buffer, stores=root_buffer(buffer) not in writes_of(block), moves=True)
    else:
        accesses = find_accesses(block, buffer, loads=reads_results(block, buffer), moves=True)
    views = [op for op, _ in accesses.ops if not isinstance(op, LoadOp | StoreOp | AccessOp)]
    if views:
        raise ScheduleError(
            f"block {block_name(block)} looks at a part of buffer {buffer_name(buffer)} under another name, expected "
            "loads and stores alone",
            [block],
        )
    return accesses


def _common_indices(analyzer: Analyzer, block: BlockOp, buffer: SSAValue, accesses: Redirection) -> Sequence[Lin]:
    """The common indices of all loads and stores."""
    subscripts = [indices for op, indices in accesses.ops if isinstance(op, LoadOp | StoreOp) and indices is not None]
    name = buffer_name(buffer)
    if not subscripts:
        raise ScheduleError(f"block {block_name(block)} does not load or store buffer {name}", [block])
    for other in subscripts[1:]:
        if any(analyzer.constant(a - b) != 0 for a, b in zip(subscripts[0], other, strict=True)):
            texts = [f"{name}[{', '.join(map(lin_text, indices))}]" for indices in (subscripts[0], other)]
            raise ScheduleError(
                f"block {block_name(block)} touches {texts[0]} and {texts[1]}, expected the same indices everywhere",
                [block],
            )
    return subscripts[0]


def _axes_in(block: BlockOp, buffer: SSAValue, accesses: Redirection, indices: Sequence[Lin]) -> list[int]:
    """The positions of the axes that occur in the indices, including axes with a single value."""
    for leaf in (leaf for index in indices for leaf in index.leaves()):
        if leaf not in block.variables and block.is_ancestor(leaf.owner):
            raise ScheduleError(
                f"an index of buffer {buffer_name(buffer)} in block {block_name(block)} is computed from "
                f"{source_name(leaf) or 'a value'} inside of the block, expected sums of its axes",
                [block],
            )
    written = [v for op, _ in accesses.ops if isinstance(op, LoadOp | StoreOp) for v in op.indices]
    return [n for n, variable in enumerate(block.variables) if depends_on(written, variable)]


def _gap(block: BlockOp, buffer: SSAValue, *, reads: bool) -> Gap:
    """The gap before or after the block, in the innermost loop that encloses the block and a writer of the buffer that
    it reads, or a later user of the buffer that it writes."""
    scope = BlockScope(enclosing_scope(block))
    root = root_buffer(buffer)
    if reads:
        others = [w for w in scope.writers.get(root, ()) if w is not block]
    else:
        users = [*scope.readers.get(root, ()), *scope.writers.get(root, ())]
        others = [user for user in users if user is not block and precedes_in_text(block, user)]
    outer = innermost_common(block, others) if others else scope.op
    return gap_beside(outer, block, after=not reads)


def _ranges(analyzer: Analyzer, block: BlockOp, axes: Sequence[int], gap: Gap) -> list[IndexRange]:
    """The values of the axes while the region of the gap runs once: their bindings, within the domains."""
    bound = bindings(analyzer, block)
    sides: list[IndexRange] = []
    for n in axes:
        axis = block.axes[n]
        domain = IndexRange.of(analyzer, axis.low, axis.extent)
        box = AccessBox(((bound[block.variables[n]], Lin(1)),))
        region = required_region(analyzer, [box], gap.is_fixed, [domain])
        assert not isinstance(region, str), "a domain is given, so there is a region"
        (side,) = region
        sides.append(side.intersect(analyzer, domain))
    return sides


def _check_touched(analyzer: Analyzer, reindexing: _Reindexing, *, reads: bool) -> None:
    """Raise ScheduleError if the copy would access elements that the block does not, and that may not exist."""
    reason = _why_more(analyzer, reindexing)
    if reason is None and _is_unconditional(reindexing):
        return
    name, buffer = block_name(reindexing.block), buffer_name(reindexing.buffer)
    if not reads:
        reason = reason or "it does so under a condition"
        raise ScheduleError(f"the copy would read what block {name} does not write: {reason}", [reindexing.block])
    for index, whole in zip(reindexing.indices, shape_sides(analyzer, buffer_shape(reindexing.buffer)), strict=True):
        if not analyzer.is_provably("ge", index, whole.low) or not analyzer.is_provably("le", index, whole.high):
            raise ScheduleError(
                f"the copy would read buffer {buffer} at {lin_text(index)} for all values of the axes, which may be "
                f"outside of it; block {name} reads it under a condition",
                [reindexing.block],
            )
    reason = _why_not_there(analyzer, reindexing)
    if reason is not None:
        raise ScheduleError(
            f"the copy would read more of buffer {buffer} than block {name} does: {reason}", [reindexing.block]
        )


def _why_more(analyzer: Analyzer, reindexing: _Reindexing) -> str | None:
    """The reason why the block does not run for each combination of axis values of the copy; None if it does."""
    bound = bindings(analyzer, reindexing.block)
    conditions, exact = predicate_constraints(analyzer, reindexing.block.predicate)
    taken = AccessBox(
        tuple((bound[reindexing.block.variables[n]], Lin(1)) for n in reindexing.axes), tuple(conditions), exact
    )
    taken = restrict_to_branches(analyzer, taken, reindexing.block, reindexing.gap.outer)
    copied = AccessBox(tuple((side.low, side.extent) for side in reindexing.ranges))
    return why_not_covered(analyzer, [taken], [copied], reindexing.gap.is_fixed)


def _why_not_there(analyzer: Analyzer, reindexing: _Reindexing) -> str | None:
    """The reason why the scope does not write all elements of an allocated buffer that the copy reads; None if it
    does."""
    if not isinstance(root_buffer(reindexing.buffer).owner, AllocBufferOp | AllocateOp):
        return None
    scope = BlockScope(enclosing_scope(reindexing.block))
    accesses = [a for w in scope.blocks for a in w.accesses if a.is_write and a.buffer is reindexing.buffer]
    if not accesses:
        return None
    written = [access_box(analyzer, access, reindexing.gap.outer) for access in accesses]
    read = AccessBox(tuple((index, Lin(1)) for index in reindexing.indices))
    return why_not_covered(analyzer, written, [read], reindexing.gap.is_fixed)


def _is_unconditional(reindexing: _Reindexing) -> bool:
    """Whether the block accesses the element each time it runs: by at least one unconditional access."""
    return any(
        isinstance(use.operation, LoadOp | StoreOp) and _is_always_run(use.operation, reindexing.block)
        for use in reindexing.buffer.uses
        if reindexing.block.is_ancestor(use.operation)
    )


def _is_always_run(op: Operation, block: BlockOp) -> bool:
    return all(
        isinstance(outer, ForOp) and isinstance(outer.mixed_bounds[1], int) and outer.mixed_bounds[1] > 0
        for outer in ops_between(op, block)
    )
