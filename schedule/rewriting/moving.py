"""Moves of a block to a gap in a loop, with new loops around it over ranges of its axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Operation, SSAValue

from ...analysis.index import Analyzer, Lin, export
from ...analysis.names import block_name, buffer_name, loop_name
from ...analysis.regions import IndexRange
from ...analysis.scopes import ancestors, child_towards, enclosing_scope, lowest_common_ancestor
from ...core.errors import ScheduleError
from ...dialects.tir import BlockOp, ForOp, TirBuilder
from ...dialects.tir.tree import captured_operands, erase_if_dead, with_expressions
from ..state import State
from .gaps import Gap
from .instances import AxisCondition, Condition, conditions_on_axes, runs_same_instances
from .nest import (
    builder_before,
    erase_empty_around,
    export_mixed,
    make_loop,
    set_predicate,
    simplify_blocks,
)


def move_block(
    state: State, analyzer: Analyzer, block: BlockOp, sides: Sequence[IndexRange], gap: Gap, preserve_unit_loops: bool
) -> None:
    """Move a block to a gap, in new loops over the values of each axis in its side; a predicate restricts them to the
    axis domain, and to the instances that ran before. Loops and branches that become empty are erased.

    sides: sums of values known at the gap.  preserve_unit_loops: build loops of one iteration too. ScheduleError if
    the value flow changes, or the block uses a value that is not known at the gap.
    """
    left = child_towards(lowest_common_ancestor([block, gap.outer]), block)
    conditions = conditions_on_axes(analyzer, block, left)
    region = _compared_region(analyzer, block, sides, gap.outer)
    with state.changing([block], among=[gap.outer, region]):
        _rebuild(analyzer, block, sides, gap, conditions, preserve_unit_loops)


def _compared_region(analyzer: Analyzer, block: BlockOp, sides: Sequence[IndexRange], loop: Operation) -> Operation:
    """The innermost op around a block and its destination loop in which the same instances run after the move: in one
    iteration of a loop around both, more instances may run than before."""
    scope = enclosing_scope(block)
    around = lowest_common_ancestor([block, loop])
    for outer in (around, *ancestors(around)):
        if outer is scope or (isinstance(outer, ForOp) and runs_same_instances(analyzer, block, sides, outer)):
            return outer
    return scope


def _rebuild(
    analyzer: Analyzer,
    block: BlockOp,
    sides: Sequence[IndexRange],
    gap: Gap,
    conditions: Sequence[Condition],
    preserve_unit_loops: bool,
) -> None:
    old_place, old_values = block.parent_op(), [*block.operands]
    ops = with_expressions(block)
    for op in ops:
        op.detach()
    loops, steps = _loops_for(analyzer, block, sides, gap, preserve_unit_loops)
    if loops:
        for op in ops:
            loops[-1].body.block.add_op(op)
    else:
        gap.insert(ops)
    builder = builder_before(block)
    indices = [side.low if step is None else side.low + Lin.of(step) for side, step in zip(sides, steps, strict=True)]
    for n, (variable, side, step) in enumerate(zip(block.variables, sides, steps, strict=True)):
        if step is None or not side.low.terms:
            block.operands[n] = export(analyzer, indices[n], builder, variable.type)
        else:
            block.operands[n] = builder.add(export(analyzer, side.low, builder, variable.type), step)
    values: dict[SSAValue, Lin] = dict(zip(block.variables, indices, strict=True))
    written = [*_in_domains(analyzer, block, sides), *conditions]
    set_predicate(block, [condition.write(analyzer, builder_before(block), values) for condition in written])
    for value in old_values:
        erase_if_dead(value)
    new = loops[0] if loops else block
    _require_known(block, new, gap.outer)
    erase_empty_around(old_place)
    simplify_blocks([new], fixed=block)


def _loops_for(
    analyzer: Analyzer, block: BlockOp, sides: Sequence[IndexRange], gap: Gap, preserve_unit_loops: bool
) -> tuple[list[ForOp], list[SSAValue | None]]:
    """Build the new loops at a gap; returns the loops, and the variable that each axis adds to its start."""
    loops: list[ForOp] = []
    steps: list[SSAValue | None] = []
    builder = gap.builder()
    for variable, side in zip(block.variables, sides, strict=True):
        if analyzer.constant(side.extent) == 1 and not preserve_unit_loops:
            steps.append(None)
            continue
        extent = export_mixed(analyzer, side.extent, builder, variable.type)
        new = builder.insert(make_loop(f"ax{len(loops)}", 0, extent, variable.type))
        builder = TirBuilder(new.body.block)
        loops.append(new)
        steps.append(new.variable)
    return loops, steps


def _in_domains(analyzer: Analyzer, block: BlockOp, sides: Sequence[IndexRange]) -> Iterator[AxisCondition]:
    """The conditions that keep each axis in its domain, if its side may exceed the domain."""
    for axis, variable, side in zip(block.axes, block.variables, sides, strict=True):
        domain = IndexRange.of(analyzer, axis.low, axis.extent)
        below, above = side.leaves(analyzer, domain)
        if below:
            yield AxisCondition("ge", Lin.of(variable) - domain.low)
        if above:
            yield AxisCondition("lt", Lin.of(variable) - domain.high - 1)


def _require_known(block: BlockOp, new: Operation, outer: Operation) -> None:
    """Raise ScheduleError if a moved block, or a new loop around it, uses a value of its old position."""
    values = [value for op in with_expressions(new) for value in captured_operands(op)]
    lost = next((value for value in values if not _is_known(value, new)), None)
    if lost is not None:
        raise ScheduleError(
            f"block {block_name(block)} uses {buffer_name(lost)}, which is not known in loop {loop_name(outer)}",
            [block],
        )


def _is_known(value: SSAValue, user: Operation) -> bool:
    """Whether the definition of a value precedes or encloses an op."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    if block is None or not block.is_ancestor(user):
        return False
    ancestor = user
    while ancestor.parent is not block:
        parent = ancestor.parent_op()
        assert parent is not None
        ancestor = parent
    return isinstance(owner, Block) or owner is ancestor or owner.is_before_in_block(ancestor)
