"""Copies of buffers that are indexed by sums of the axes of a block, as several primitives insert them."""

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
    root_buffer,
    writes_of,
)
from ...core.errors import ScheduleError
from ...dialects.text.names import source_name
from ...dialects.tir import AccessOp, AllocateOp, AllocBufferOp, BlockOp, ForOp, LoadOp, StoreOp
from ..state import State
from .copies import (
    CopyAxis,
    Indices,
    Redirection,
    allocate_copy,
    copy_block,
    find_accesses,
    index_type,
    reads_results,
    redirect,
)
from .gaps import Gap
from .nest import function_of


@dataclass(frozen=True)
class IndexedElement:
    """The only element of a buffer that a block accesses in each instance.

    indices: sums of the axes.  axes: the positions of the axes in them.  accesses: the loads or stores of the element.
    """

    buffer: SSAValue
    block: BlockOp
    reads: bool
    indices: Sequence[Lin]
    axes: Sequence[int]
    accesses: Redirection


def find_element(analyzer: Analyzer, block: BlockOp, buffer: SSAValue, *, reads: bool) -> IndexedElement:
    """The only element of a buffer that a block reads (`reads`) or writes. ScheduleError if there are several."""
    if child_blocks(block):
        raise ScheduleError(f"block {block_name(block)} has blocks inside, expected none", [block])
    accesses = _accesses(block, buffer, reads=reads)
    indices = _common_indices(analyzer, block, buffer, accesses)
    axes = _axes_in(block, buffer, accesses, indices)
    return IndexedElement(buffer, block, reads, indices, axes, accesses)


@dataclass(frozen=True)
class Reindexing:
    """A copy of a buffer with other indices.

    copied: the indices in the copy of the element that the block accesses, sums of the axes in `element`.  shape: the
    shape of the copy.  gap: the position of the copying block.  ranges: the values of each axis in `element` while the
    region of the gap runs once.
    """

    element: IndexedElement
    copied: Sequence[Lin]
    shape: Sequence[Lin]
    gap: Gap
    ranges: Sequence[IndexRange]

    def copy_axes(self, analyzer: Analyzer) -> list[CopyAxis]:
        copy_axes: list[CopyAxis] = []
        for n, side in zip(self.element.axes, self.ranges, strict=True):
            domain = axis_range(analyzer, self.element.block, n)
            copy_axes.append(CopyAxis(domain.low, domain.extent, side.low, side.extent))
        return copy_axes

    def at(self, analyzer: Analyzer, sums: Sequence[Lin]) -> Indices:
        """The map from values of the axes in `element` to sums of them."""
        variables = [self.element.block.variables[n] for n in self.element.axes]
        return lambda values: [analyzer.substitute(total, dict(zip(variables, values, strict=True))) for total in sums]


def plan_reindexing(
    analyzer: Analyzer, element: IndexedElement, copied: Sequence[Lin], shape: Sequence[Lin], gap: Gap
) -> Reindexing:
    """The plan of a copy. ScheduleError if it would access elements that the block does not, and that may not exist."""
    plan = Reindexing(element, copied, shape, gap, _ranges(analyzer, element.block, element.axes, gap))
    _check_touched(analyzer, plan)
    return plan


def insert_reindexed_copy(
    state: State,
    analyzer: Analyzer,
    plan: Reindexing,
    buffer_hint: str,
    block_hint: str,
    space: Attribute | None = None,
    *,
    unit_loops: bool = True,
) -> BlockOp:
    """Allocate the copy, redirect the accesses of the block to it, and insert the copying block; returns the block.

    buffer_hint, block_hint: names, made unique.  space: the memory space of the copy; by default that of the buffer.
    unit_loops: build loops of one iteration around the copying block, too.
    ScheduleError if the value flow changes.
    """
    element = plan.element
    buffer, block = element.buffer, element.block
    func = function_of(block)
    name = fresh_buffer_name(func, buffer_hint)
    if space is None:
        space = cast("MemRefType[Attribute]", buffer.type).memory_space
    with state.changing([block], among=[plan.gap.outer]) as change:
        copy = allocate_copy(analyzer, enclosing_scope(block), name, buffer, plan.shape, space)
        redirect(element.accesses, copy, lambda _: plan.copied)
        ends = [(buffer, plan.at(analyzer, element.indices)), (copy, plan.at(analyzer, plan.copied))]
        source, target = ends if element.reads else ends[::-1]
        new = copy_block(
            analyzer,
            plan.gap,
            fresh_block_name(func, block_hint),
            plan.copy_axes(analyzer),
            source,
            target,
            index_type(block),
            unit_loops=unit_loops,
        )
        change.copies_after.append(new)
    return new


def axis_range(analyzer: Analyzer, block: BlockOp, n: int) -> IndexRange:
    """The domain of axis `n` of a block."""
    axis = block.axes[n]
    return IndexRange.of(analyzer, axis.low, axis.extent)


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


def _ranges(analyzer: Analyzer, block: BlockOp, axes: Sequence[int], gap: Gap) -> list[IndexRange]:
    """The values of the axes while the region of the gap runs once: their bindings, within the domains."""
    bound = bindings(analyzer, block)
    sides: list[IndexRange] = []
    for n in axes:
        domain = axis_range(analyzer, block, n)
        box = AccessBox(((bound[block.variables[n]], Lin(1)),))
        region = required_region(analyzer, [box], gap.is_fixed, [domain])
        assert not isinstance(region, str), "a domain is given, so there is a region"
        (side,) = region
        sides.append(side.intersect(analyzer, domain))
    return sides


def _check_touched(analyzer: Analyzer, plan: Reindexing) -> None:
    """Raise ScheduleError if the copy would access elements that the block does not, and that may not exist."""
    element = plan.element
    reason = _why_more(analyzer, plan)
    if reason is None and _is_unconditional(element):
        return
    name, buffer = block_name(element.block), buffer_name(element.buffer)
    if not element.reads:
        reason = reason or "it does so under a condition"
        raise ScheduleError(f"the copy would read what block {name} does not write: {reason}", [element.block])
    for index, whole in zip(element.indices, shape_sides(analyzer, buffer_shape(element.buffer)), strict=True):
        if not analyzer.is_provably("ge", index, whole.low) or not analyzer.is_provably("le", index, whole.high):
            raise ScheduleError(
                f"the copy would read buffer {buffer} at {lin_text(index)} for all values of the axes, which may be "
                f"outside of it; block {name} reads it under a condition",
                [element.block],
            )
    reason = _why_not_there(analyzer, plan)
    if reason is not None:
        raise ScheduleError(
            f"the copy would read more of buffer {buffer} than block {name} does: {reason}", [element.block]
        )


def _why_more(analyzer: Analyzer, plan: Reindexing) -> str | None:
    """The reason why the block does not run for each combination of axis values of the copy; None if it does."""
    bound = bindings(analyzer, plan.element.block)
    conditions, exact = predicate_constraints(analyzer, plan.element.block.predicate)
    taken = AccessBox(
        tuple((bound[plan.element.block.variables[n]], Lin(1)) for n in plan.element.axes), tuple(conditions), exact
    )
    taken = restrict_to_branches(analyzer, taken, plan.element.block, plan.gap.outer)
    copied = AccessBox(tuple((side.low, side.extent) for side in plan.ranges))
    return why_not_covered(analyzer, [taken], [copied], plan.gap.is_fixed)


def _why_not_there(analyzer: Analyzer, plan: Reindexing) -> str | None:
    """The reason why the scope does not write all elements of an allocated buffer that the copy reads; None if it
    does."""
    if not isinstance(root_buffer(plan.element.buffer).owner, AllocBufferOp | AllocateOp):
        return None
    scope = BlockScope(enclosing_scope(plan.element.block))
    accesses = [a for w in scope.blocks for a in w.accesses if a.is_write and a.buffer is plan.element.buffer]
    if not accesses:
        return None
    written = [access_box(analyzer, access, plan.gap.outer) for access in accesses]
    read = AccessBox(tuple((index, Lin(1)) for index in plan.element.indices))
    return why_not_covered(analyzer, written, [read], plan.gap.is_fixed)


def _is_unconditional(element: IndexedElement) -> bool:
    """Whether the block accesses the element each time it runs: by at least one unconditional access."""
    return any(
        isinstance(use.operation, LoadOp | StoreOp) and is_always_run(use.operation, element.block)
        for use in element.buffer.uses
        if element.block.is_ancestor(use.operation)
    )


def is_always_run(op: Operation, block: BlockOp) -> bool:
    """Whether an op in a block runs each time the block does: it is in loops with iterations alone."""
    return all(
        isinstance(outer, ForOp) and isinstance(outer.mixed_bounds[1], int) and outer.mixed_bounds[1] > 0
        for outer in ops_between(op, block)
    )
