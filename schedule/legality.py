"""Whether a change kept the flow of values: the bridge from primitives to `analysis.dependence`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import islpy as isl
from xdsl.ir import Operation

from ..analysis.dependence import Flow, Init, Violation, compare_flows, has_self_conflicts, value_flow
from ..analysis.dependence.touched import touched_memories
from ..analysis.scopes import ancestors, child_blocks, lowest_common_ancestor, statements
from ..analysis.threads.axes import cooperates, team_of
from ..core.errors import ScheduleError
from ..dialects.tir import BlockOp, ForOp, FuncOp
from .concurrency import CONCURRENT, require_concurrent_loops
from .rewriting.nest import all_in_blocks


@dataclass
class Change:
    """A change of the program that is under way; what is said here is for the check behind it.

    copies_before, copies_after: blocks that only hand values on, and are seen through, in front of and behind the
    change: inlined producers, caches.  renamed: what a statement or buffer in front of the change is behind it; or a
    new block, and the reduction block whose init it is.
    """

    copies_before: list[BlockOp] = field(default_factory=list)
    copies_after: list[BlockOp] = field(default_factory=list)
    renamed: dict[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """The flow of values in front of a change: in which region, and which statements it was about."""

    region: Operation
    flow: Flow


def take_snapshot(moved: Collection[Operation], among: Collection[Operation] = ()) -> Snapshot:
    """The flow of values that the statements in `moved`, blocks or loops of one scope, take part in.

    among: ops of the same scope that the region has to contain too.
    """
    region = _region(moved, among)
    return Snapshot(region, _flow(region, moved, _statements(moved), None))


def require_same_flow(before: Snapshot, moved: Collection[Operation], change: Change) -> None:
    """ScheduleError unless the flow of values is the one it was `before` the change, and the loops whose iterations run
    at the same time still may do so."""
    memories = _memories(before, moved, change)
    after = _flow(before.region, moved, None, memories)
    violation = compare_flows(
        before.flow, after, change.copies_before, change.copies_after, _renamed(before.flow, change)
    )
    if violation is not None:
        raise refusal(violation)
    require_concurrent_loops(_concurrent_loops(_there(before, moved, change)), memories)


def _flow(
    region: Operation, moved: Collection[Operation], ops: list[Operation] | None, buffers: set[Any] | None
) -> Flow:
    """The flow of values in a region; ScheduleError if that takes too much to find out."""
    try:
        return value_flow(region, ops, buffers, around=False)
    except isl.Error as error:
        reason = "which instance reads what another writes takes too much to find out"
        raise ScheduleError(reason, dict.fromkeys(moved, "")) from error


def _there(before: Snapshot, moved: Collection[Operation], change: Change) -> list[Operation]:
    """What has moved and what is new, as far as it is in the program behind the change."""
    known = (op for op in (*change.renamed, *change.renamed.values()) if isinstance(op, Operation))
    return [op for op in (*moved, *change.copies_after, *known) if before.region.is_ancestor(op)]


def _concurrent_loops(ops: Sequence[Operation]) -> list[ForOp]:
    """The loops around and below some ops whose iterations run at the same time."""
    loops = [op for moved in ops for op in (*ancestors(moved), *moved.walk()) if isinstance(op, ForOp)]
    return list(dict.fromkeys(loop for loop in loops if loop.kind.data in CONCURRENT))


def refusal(violation: Violation) -> ScheduleError:
    """The error that says why a change is not legal."""
    return ScheduleError(str(violation), dict.fromkeys(violation.statements, ""))


def keeps_any_order(loop: ForOp) -> bool:
    """Whether the instances of the blocks below a loop may run in any order: there is one block, no two instances of
    which touch the same element, but for contributions to a reduction."""
    blocks = child_blocks(loop)
    return len(blocks) == 1 and all_in_blocks(loop.body.block) and not has_self_conflicts(blocks[0])


def _region(moved: Collection[Operation], among: Collection[Operation]) -> Operation:
    """The innermost loop around everything that moves, and that is or is around what is in `among`, or the scope it is
    in."""
    common = lowest_common_ancestor([*moved, *among])
    is_around = common not in moved or isinstance(common, FuncOp)
    for outer in (common, *ancestors(common)) if is_around else ancestors(common):
        if isinstance(outer, ForOp | FuncOp | BlockOp):
            team = team_of(outer)
            return outer if team is None or not cooperates(team) else scope_of_team(team)
    raise ValueError("statements outside of a function")


def scope_of_team(team: Operation) -> Operation:
    """What is around the threads of a block, whose statements depend on each other."""
    return next(op for op in ancestors(team) if isinstance(op, ForOp | FuncOp | BlockOp))


def _statements(moved: Collection[Operation]) -> list[Operation]:
    found: list[Operation] = []
    todo = list(moved)
    while todo:
        op = todo.pop()
        if isinstance(op, BlockOp) or not op.regions:
            found.append(op)
        else:
            todo += [inner for region in op.regions for block in region.blocks for inner in statements(block)]
    return found


def _memories(before: Snapshot, moved: Collection[Operation], change: Change) -> set[Any]:
    """The memory that the change is about: that of the flow before, and what its statements touch behind it."""
    touched = (touched_memories(op) for op in _statements(_there(before, moved, change)))
    return set(before.flow.memories).union(*touched)


def _renamed(before: Flow, change: Change) -> dict[Any, Any]:
    """Statements of the flow before, and what they are behind the change. A new block that is said to take the part of
    an old one is its init."""
    return {
        key if key in before.statements else Init(value): value if key in before.statements else key
        for key, value in change.renamed.items()
    }
