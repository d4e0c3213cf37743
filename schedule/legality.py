"""The check that a change keeps the value flow: the bridge from primitives to `analysis.dependence`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation, SSAValue

from ..analysis import isl
from ..analysis.dependence import (
    CyclicCopyError,
    Flow,
    Init,
    Violation,
    compare_flows,
    has_self_conflicts,
    value_flow,
)
from ..analysis.dependence.touched import accessed_memories
from ..analysis.names import block_name
from ..analysis.scopes import ancestors, child_blocks, lowest_common_ancestor, statements
from ..analysis.threads.axes import divides_among_threads, team_of
from ..core.errors import ScheduleError
from ..dialects.tir import CONCURRENT_KINDS, BlockOp, ForOp, FuncOp
from .concurrency import require_concurrent_loops
from .rewriting.nest import all_in_blocks


@dataclass
class Change:
    """A change of the program in progress, as described to the check after it.

    copies_before, copies_after: blocks before and after the change that only copy values, so that the check looks
    through them: inlined producers, caches.  renamed: the counterpart after the change of a statement or buffer before
    it; or, for a new block, the reduction block whose init it is.  relocated: new buffers whose elements have other
    indices than in their counterparts before; each instance of a writer writes one element.
    """

    copies_before: list[BlockOp] = field(default_factory=list)
    copies_after: list[BlockOp] = field(default_factory=list)
    counterparts: dict[Any, Any] = field(default_factory=dict)
    relocated: list[SSAValue] = field(default_factory=list)


@dataclass(frozen=True)
class Snapshot:
    """The value flow of a region before a change. memories: the memories whose accesses change; None if unknown."""

    region: Operation
    flow: Flow
    memories: frozenset[Any] | None = None


def take_snapshot(
    moved: Collection[Operation], among: Collection[Operation] = (), memories: Collection[Any] | None = None
) -> Snapshot:
    """The value flow before a change in which the statements in `moved`, blocks or loops of one scope, take part.

    among: ops of the same scope that the region must also contain.  memories: the only memories whose accesses change.
    """
    region = _region(moved, among)
    chosen = None if memories is None else frozenset(memories)
    return Snapshot(region, _flow(region, moved, _statements(moved), None if chosen is None else set(chosen)), chosen)


def require_same_flow(before: Snapshot, moved: Collection[Operation], change: Change) -> None:
    """Raise ScheduleError unless the value flow equals the flow `before` the change, and concurrent loops may still run
    their iterations concurrently."""
    memories = _memories(before, moved, change)
    after = _flow(before.region, moved, None, memories)
    counterparts = _counterparts(before.flow, change)
    try:
        copies = change.copies_before, change.copies_after
        violation = compare_flows(before.flow, after, *copies, counterparts, change.relocated)
    except CyclicCopyError as error:
        raise _cyclic_copy_error(error) from None
    if violation is not None:
        raise legality_error(violation)
    require_concurrent_loops(_concurrent_loops(_ops_after(before, moved, change)), memories)


def _cyclic_copy_error(error: CyclicCopyError) -> ScheduleError:
    """The error for a copy that may read its own results, so that the values in it are unknown."""
    block = error.statement.block if isinstance(error.statement, Init) else error.statement
    marks = [block] if isinstance(block, Operation) else []
    names = ", ".join(block_name(op) for op in marks if isinstance(op, BlockOp))
    return ScheduleError(f"whether block {names} reads what it has written itself is not known", marks)


def _flow(
    region: Operation, moved: Collection[Operation], ops: list[Operation] | None, buffers: set[Any] | None
) -> Flow:
    """The value flow in a region; ScheduleError if its computation exceeds the limit."""
    try:
        return value_flow(region, ops, buffers, around=False)
    except isl.Error as error:
        reason = "which instance reads what another writes takes too much to find out"
        raise ScheduleError(reason, dict.fromkeys(moved, "")) from error


def _ops_after(before: Snapshot, moved: Collection[Operation], change: Change) -> list[Operation]:
    """The moved and the new ops that are in the region after the change."""
    known = (op for op in (*change.counterparts, *change.counterparts.values()) if isinstance(op, Operation))
    return [op for op in (*moved, *change.copies_after, *known) if before.region.is_ancestor(op)]


def _concurrent_loops(ops: Sequence[Operation]) -> list[ForOp]:
    """The concurrent loops around and inside of some ops."""
    loops = [op for moved in ops for op in (*ancestors(moved), *moved.walk()) if isinstance(op, ForOp)]
    return list(dict.fromkeys(loop for loop in loops if loop.kind.data in CONCURRENT_KINDS))


def legality_error(violation: Violation) -> ScheduleError:
    """The error that reports a violation."""
    return ScheduleError(str(violation), dict.fromkeys(violation.statements, ""))


def allows_any_order(loop: ForOp) -> bool:
    """Whether the instances of the blocks in a loop may run in any order: the loop contains one block, and two
    instances of it access the same element only to contribute to a reduction."""
    blocks = child_blocks(loop)
    return len(blocks) == 1 and all_in_blocks(loop.body.block) and not has_self_conflicts(blocks[0])


def _region(moved: Collection[Operation], among: Collection[Operation]) -> Operation:
    """The innermost loop or scope around all moved ops that contains all of `among`; if it is among cooperating
    threads, the loop or scope around these."""
    common = lowest_common_ancestor([*moved, *among])
    is_around = common not in moved or isinstance(common, FuncOp)
    for outer in (common, *ancestors(common)) if is_around else ancestors(common):
        if isinstance(outer, ForOp | FuncOp | BlockOp):
            team = team_of(outer)
            return outer if team is None or not divides_among_threads(team) else scope_of_team(team)
    raise ValueError("statements outside of a function")


def scope_of_team(team: Operation) -> Operation:
    """The innermost loop or scope around the threads of a block, in which their statements depend on each other."""
    return next(op for op in ancestors(team) if isinstance(op, ForOp | FuncOp | BlockOp))


def _statements(moved: Collection[Operation]) -> list[Operation]:
    leaves: list[Operation] = []
    todo = list(moved)
    while todo:
        op = todo.pop()
        if isinstance(op, BlockOp) or not op.regions:
            leaves.append(op)
        else:
            todo += [inner for region in op.regions for block in region.blocks for inner in statements(block)]
    return leaves


def _memories(before: Snapshot, moved: Collection[Operation], change: Change) -> set[Any]:
    """The memories that a change affects: those of the flow before, and those that its statements access afterwards."""
    if before.memories is not None:
        return set(before.flow.memories)
    touched = (accessed_memories(op) for op in _statements(_ops_after(before, moved, change)))
    return set(before.flow.memories).union(*touched)


def _counterparts(before: Flow, change: Change) -> dict[Any, Any]:
    """The counterparts after the change of statements and buffers of the flow before it. A new block that corresponds
    to an old one is the init of the old block."""
    return {
        key if _is_old(before, key) else Init(value): value if _is_old(before, key) else key
        for key, value in change.counterparts.items()
    }


def _is_old(before: Flow, key: Any) -> bool:
    """Whether a key of counterparts is a statement of the flow before the change, or a buffer."""
    return isinstance(key, SSAValue) or key in before.statements
