"""Alignment of two flows for comparison: the same names of instances, and contributions in both or in neither."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .flow import Flow
from .statements import Init, Statement


class UnmatchedError(ValueError):
    """The instances of a statement have different names before and after. statements, names: as of a `Violation`."""

    def __init__(self, reason: str, statement: Statement):
        super().__init__(reason)
        self.statements = (statement.key.block if isinstance(statement.key, Init) else statement.key,)
        self.names = (statement.label,)


def align_flows(before: Flow, after: Flow, renamed: Mapping[Any, Any]) -> tuple[Flow, Flow]:
    """The two flows, comparable: contributions in one flow alone become reads and writes, and instances named by loops
    are named by the same loops in the same order. UnmatchedError if that is impossible.

    renamed: objects of the program before, mapped to their counterparts after.
    """
    changed: tuple[dict[Any, Statement], dict[Any, Statement]] = {}, {}
    for key, was in before.statements.items():
        now = after.statements.get(renamed.get(key, key))
        if now is None:
            continue
        old, new = _align_reductions(was, now, renamed)
        new = _align_names(old, new, renamed)
        for table, statement, other in ((changed[0], old, was), (changed[1], new, now)):
            if statement is not other:
                table[statement.key] = statement
    return before.with_statements(changed[0]), after.with_statements(changed[1])


def _align_reductions(was: Statement, now: Statement, renamed: Mapping[Any, Any]) -> tuple[Statement, Statement]:
    different = {
        memory: renamed.get(memory, memory)
        for memory, accesses in was.accesses.items()
        if (other := now.accesses.get(renamed.get(memory, memory))) is not None
        and accesses.reduction != other.reduction
    }
    if not different:
        return was, now
    return was.without_reduction(set(different)), now.without_reduction(set(different.values()))


def _align_names(was: Statement, now: Statement, renamed: Mapping[Any, Any]) -> Statement:
    """The statement after, with its instances named by values in the order of the statement before."""
    if was.is_named_by_loops or now.is_named_by_loops:
        loops = [renamed.get(loop, loop) for loop in was.loops]
        if was.is_named_by_loops and now.is_named_by_loops and set(loops) == set(now.loops):
            order = [now.loops.index(loop) for loop in loops]
            return now if order == sorted(order) else now.permute_names(order)
        how = "is in no block" if not was.is_block else "has an axis that is bound to no affine function of loops"
        label = f"block {was.label}" if was.is_block else was.label
        reason = f"{label} {how}, and is under other loops than before: its instances cannot be told apart"
        raise UnmatchedError(reason, was)
    if len(was.names) != len(now.names):
        raise UnmatchedError(f"block {was.label} has other axes than before", was)
    return now
