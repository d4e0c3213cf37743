"""Copies of buffers laid out as a block goes through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.iter_map import lin_text, predicate_constraints
from ...analysis.names import block_name, buffer_name, fresh_block_name, fresh_buffer_name
from ...analysis.regions import Box, Side, access_box, bindings, required_region, shape_sides, why_not_covered
from ...analysis.regions.access_regions import buffer_shape
from ...analysis.scopes import (
    Scope,
    between,
    child_blocks,
    comes_before,
    depends_on,
    reads_of,
    root_buffer,
    scope_of,
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
    allocate,
    buffer_index,
    copy_block,
    find_accesses,
    index_type,
    redirect,
    require_block,
)
from ..rewriting.gaps import Gap, beside, deepest_common
from ..rewriting.nest import function_of
from ..state import State, applies

SidedBuffer = tuple[str, int] | str | int
"""A buffer of a block: ("read", number) or ("write", number), a name, or a number among those that it reads."""


class ReindexPrimitives(Recorder):
    """Primitives that let a block reach a buffer by its own axes."""

    def reindex(self, block: BlockLike, buffer: SidedBuffer) -> BlockRV:
        """Copy a buffer so that a block reaches it by its own axes, in their order.

            for i, j, k in T.grid(8, 4, 6):       for ax0, ax1 in T.grid(4, 6):
                with T.block("C"):                    with T.block("B_reindex_reindex"):
                    vi, vj, vk = ...                      v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    C[vi, vj] += ... B[vk, vj]  ->        B_reindex[v0, v1] = B[v1, v0]
                                                      ...     C[vi, vj] += ... B_reindex[vj, vk]

        block: a block without blocks inside, all of whose accesses to the buffer have the same indices.  buffer:
        ("read", number), ("write", number), or the name of the buffer.
        Returns the block that copies: in front of `block` for one that it reads, behind it for one that it writes, in
        the innermost loop that is also around the blocks it has to do with. The new buffer has a dimension for each
        axis that is in the indices, in the order of the axes.
        Legal if every read still gets the value it got. ScheduleError if not, if the indices are not sums of axes, or
        if the copy would touch what the block does not.
        """
        handle = self._block(block)
        side, index = self._side(handle, buffer)
        return self.record(ReindexOp, block=handle, buffer_side=side, buffer_index=index)[0]

    def _side(self, block: BlockRV, buffer: SidedBuffer) -> tuple[str, int]:
        """The side and number of a buffer that may be given in other ways."""
        target = self._target(block)
        if not isinstance(target, BlockOp | FuncOp):
            raise ScheduleError("expected a block")
        return buffer_side(target, buffer)


def buffer_side(block: BlockOp | FuncOp, buffer: SidedBuffer | Sequence[str | int]) -> tuple[str, int]:
    """("read" or "write", number) of a buffer of a block. A name is looked for among the reads first.

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
class _Reindexed:
    """A buffer, the one place of it that a block touches, and the axes that are in its indices.

    ranges: what each axis takes while the region of the gap runs once.
    """

    buffer: SSAValue
    block: BlockOp
    indices: Sequence[Lin]
    axes: Sequence[int]
    gap: Gap
    ranges: Sequence[Side]

    def domain(self, analyzer: Analyzer, n: int) -> Side:
        axis = self.block.axes[n]
        return Side.of(analyzer, axis.low, axis.extent)

    def copy_axes(self, analyzer: Analyzer) -> list[CopyAxis]:
        found: list[CopyAxis] = []
        for n, side in zip(self.axes, self.ranges, strict=True):
            domain = self.domain(analyzer, n)
            found.append(CopyAxis(domain.low, domain.extent, side.low, side.extent))
        return found

    def in_copy(self, analyzer: Analyzer) -> Indices:
        """The indices in the copy for values of the axes: they start at 0 there."""
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
    found = _accesses(block, buffer, reads=reads)
    indices = _common_indices(analyzer, block, buffer, found)
    axes = _axes_in(block, buffer, found, indices)
    gap = _gap(block, buffer, reads=reads)
    ranges = _ranges(analyzer, block, axes, gap)
    reindexed = _Reindexed(buffer, block, indices, axes, gap, ranges)
    _check_touched(analyzer, reindexed, reads=reads)
    func = function_of(block)
    wanted = f"{buffer_name(buffer)}_reindex"
    name = fresh_buffer_name(func, wanted)
    with state.changing([block], among=[gap.outer]) as change:
        shape = [reindexed.domain(analyzer, n).extent for n in axes]
        space = cast("MemRefType[Attribute]", buffer.type).memory_space
        copy = allocate(analyzer, scope_of(block), name, buffer, shape, space)
        values = [Lin.of(block.variables[n]) for n in axes]
        redirect(found, copy, lambda _: reindexed.in_copy(analyzer)(values))
        ends = [(buffer, reindexed.in_buffer(analyzer)), (copy, reindexed.in_copy(analyzer))]
        source, target = ends if reads else ends[::-1]
        # TVM calls the block of a read after the new buffer and not after the old one.
        hint = f"{wanted}_reindex" if reads else wanted
        new = copy_block(
            analyzer,
            gap,
            fresh_block_name(func, hint),
            reindexed.copy_axes(analyzer),
            source,
            target,
            index_type(block),
        )
        change.copies_after.append(new)
    return new


def _accesses(block: BlockOp, buffer: SSAValue, *, reads: bool) -> Redirection:
    """What goes to the copy. What a block reads of a buffer that it also writes is its own result, unless it says that
    it reads the buffer."""
    root = root_buffer(buffer)
    if reads:
        found = find_accesses(block, buffer, stores=root not in writes_of(block), moves=True)
    else:
        found = find_accesses(block, buffer, loads=root not in reads_of(block), moves=True)
    views = [op for op, _ in found.ops if not isinstance(op, LoadOp | StoreOp | AccessOp)]
    if views:
        raise ScheduleError(
            f"block {block_name(block)} looks at a part of buffer {buffer_name(buffer)} under another name, expected "
            "loads and stores alone",
            [block],
        )
    return found


def _common_indices(analyzer: Analyzer, block: BlockOp, buffer: SSAValue, found: Redirection) -> Sequence[Lin]:
    """The indices that all loads and stores have."""
    places = [indices for op, indices in found.ops if isinstance(op, LoadOp | StoreOp) and indices is not None]
    name = buffer_name(buffer)
    if not places:
        raise ScheduleError(f"block {block_name(block)} does not load or store buffer {name}", [block])
    for other in places[1:]:
        if any(analyzer.constant(a - b) != 0 for a, b in zip(places[0], other, strict=True)):
            texts = [f"{name}[{', '.join(map(lin_text, indices))}]" for indices in (places[0], other)]
            raise ScheduleError(
                f"block {block_name(block)} touches {texts[0]} and {texts[1]}, expected the same indices everywhere",
                [block],
            )
    return places[0]


def _axes_in(block: BlockOp, buffer: SSAValue, found: Redirection, indices: Sequence[Lin]) -> list[int]:
    """The numbers of the axes that the indices are written with, also those that take one value only."""
    for leaf in (leaf for index in indices for leaf in index.leaves()):
        if leaf not in block.variables and block.is_ancestor(leaf.owner):
            raise ScheduleError(
                f"an index of buffer {buffer_name(buffer)} in block {block_name(block)} is computed from "
                f"{source_name(leaf) or 'a value'} inside of the block, expected sums of its axes",
                [block],
            )
    written = [v for op, _ in found.ops if isinstance(op, LoadOp | StoreOp) for v in op.indices]
    return [n for n, variable in enumerate(block.variables) if depends_on(written, variable)]


def _gap(block: BlockOp, buffer: SSAValue, *, reads: bool) -> Gap:
    """In front of the block, or behind it, in the innermost loop that is around it and who writes what it reads, or
    touches what it writes."""
    scope = Scope(scope_of(block))
    root = root_buffer(buffer)
    if reads:
        others = [w for w in scope.writers.get(root, ()) if w is not block]
    else:
        users = [*scope.readers.get(root, ()), *scope.writers.get(root, ())]
        others = [user for user in users if user is not block and comes_before(block, user)]
    outer = deepest_common(block, others) if others else scope.op
    return beside(outer, block, behind=not reads)


def _ranges(analyzer: Analyzer, block: BlockOp, axes: Sequence[int], gap: Gap) -> list[Side]:
    """The values that axes take while the region of the gap runs once: their bindings, within the domains."""
    bound = bindings(analyzer, block)
    found: list[Side] = []
    for n in axes:
        axis = block.axes[n]
        domain = Side.of(analyzer, axis.low, axis.extent)
        box = Box(((bound[block.variables[n]], Lin(1)),))
        region = required_region(analyzer, [box], gap.is_fixed, [domain])
        assert not isinstance(region, str), "a domain is given, so there is a region"
        (side,) = region
        found.append(side.within(analyzer, domain))
    return found


def _check_touched(analyzer: Analyzer, found: _Reindexed, *, reads: bool) -> None:
    """ScheduleError if the copy would touch elements that the block does not, and that are not known to be there."""
    reason = _why_more(analyzer, found)
    if reason is None and _is_unconditional(found):
        return
    name, buffer = block_name(found.block), buffer_name(found.buffer)
    if not reads:
        reason = reason or "it does so under a condition"
        raise ScheduleError(f"the copy would read what block {name} does not write: {reason}", [found.block])
    for index, whole in zip(found.indices, shape_sides(analyzer, buffer_shape(found.buffer)), strict=True):
        if not analyzer.is_provably("ge", index, whole.low) or not analyzer.is_provably("le", index, whole.high):
            raise ScheduleError(
                f"the copy would read buffer {buffer} at {lin_text(index)} for all values of the axes, which may be "
                f"outside of it; block {name} reads it under a condition",
                [found.block],
            )
    reason = _why_not_there(analyzer, found)
    if reason is not None:
        raise ScheduleError(
            f"the copy would read more of buffer {buffer} than block {name} does: {reason}", [found.block]
        )


def _why_more(analyzer: Analyzer, found: _Reindexed) -> str | None:
    """None if the block runs for each combination of values of the axes that the copy runs for; else why not."""
    bound = bindings(analyzer, found.block)
    conditions, exact = predicate_constraints(analyzer, found.block.predicate)
    taken = Box(tuple((bound[found.block.variables[n]], Lin(1)) for n in found.axes), tuple(conditions), exact)
    copied = Box(tuple((side.low, side.extent) for side in found.ranges))
    return why_not_covered(analyzer, [taken], [copied], found.gap.is_fixed)


def _why_not_there(analyzer: Analyzer, found: _Reindexed) -> str | None:
    """None if all that the copy reads of an allocated buffer is written in the scope; else an element that is not."""
    if not isinstance(root_buffer(found.buffer).owner, AllocBufferOp | AllocateOp):
        return None
    scope = Scope(scope_of(found.block))
    accesses = [a for w in scope.blocks for a in w.accesses if a.is_write and a.buffer is found.buffer]
    if not accesses:
        return None
    written = [access_box(analyzer, access, found.gap.outer) for access in accesses]
    read = Box(tuple((index, Lin(1)) for index in found.indices))
    return why_not_covered(analyzer, written, [read], found.gap.is_fixed)


def _is_unconditional(found: _Reindexed) -> bool:
    """Whether the block touches the element each time it runs: by one access at least that no condition guards."""
    return any(
        isinstance(use.operation, LoadOp | StoreOp) and _is_always_run(use.operation, found.block)
        for use in found.buffer.uses
        if found.block.is_ancestor(use.operation)
    )


def _is_always_run(op: Operation, block: BlockOp) -> bool:
    return all(
        isinstance(outer, ForOp) and isinstance(outer.mixed_bounds[1], int) and outer.mixed_bounds[1] > 0
        for outer in between(op, block)
    )
