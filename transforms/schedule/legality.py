"""Whether a change kept the flow of values: the bridge from primitives to `analysis.dependence`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation

from ...core.errors import ScheduleError
from ...dialects.tir import BlockOp, ForOp
from ..analysis.dependence import Flow, Init, Violation, compare_flows, has_self_conflicts, value_flow
from ..analysis.dependence.touched import touched_memories
from ..analysis.scopes import ancestors, child_blocks, lowest_common_ancestor, scope_of, statements
from .nest import all_in_blocks
from .state import Change


@dataclass(frozen=True)
class Snapshot:
    """The flow of values in front of a change: in which region, and which statements it was about."""

    region: Operation
    flow: Flow


def take_snapshot(moved: Collection[Operation], among: Collection[Operation] = ()) -> Snapshot:
    """The flow of values that the statements in `moved`, blocks or loops of one scope, take part in.

    among: ops of the same scope that the region has to contain too.
    """
    region = _region([*moved, *among])
    return Snapshot(region, value_flow(region, _statements(moved), around=False))


def require_same_flow(before: Snapshot, moved: Collection[Operation], change: Change) -> None:
    """ScheduleError unless the flow of values is the one it was `before` the change."""
    after = value_flow(before.region, buffers=_memories(before, moved, change), around=False)
    violation = compare_flows(
        before.flow, after, change.copies_before, change.copies_after, _renamed(before.flow, change)
    )
    if violation is not None:
        raise refusal(violation)


def refusal(violation: Violation) -> ScheduleError:
    """The error that says why a change is not legal."""
    return ScheduleError(str(violation), dict.fromkeys(violation.statements, ""))


def keeps_any_order(loop: ForOp) -> bool:
    """Whether the instances of the blocks below a loop may run in any order: there is one block, no two instances of
    which touch the same element, but for contributions to a reduction."""
    blocks = child_blocks(loop)
    return len(blocks) == 1 and all_in_blocks(loop.body.block) and not has_self_conflicts(blocks[0])


def _region(moved: Collection[Operation]) -> Operation:
    """The innermost loop around everything that moves, or the scope it is in."""
    common = lowest_common_ancestor(moved)
    scope = scope_of(next(iter(moved)))
    for outer in ancestors(common) if common in moved else (common, *ancestors(common)):
        if isinstance(outer, ForOp) or outer is scope:
            return outer
    raise ValueError("statements of different scopes")


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
    known = (op for op in (*change.renamed, *change.renamed.values()) if isinstance(op, Operation))
    there = [op for op in (*moved, *change.copies_after, *known) if before.region.is_ancestor(op)]
    touched = (touched_memories(op) for op in _statements(there))
    return set(before.flow.memories).union(*touched)


def _renamed(before: Flow, change: Change) -> dict[Any, Any]:
    """Statements of the flow before, and what they are behind the change. A new block that is said to take the part of
    an old one is its init."""
    return {
        key if key in before.statements else Init(value): value if key in before.statements else key
        for key, value in change.renamed.items()
    }
