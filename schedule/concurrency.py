"""Checks of loops whose iterations run concurrently."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from xdsl.ir import Operation, SSAValue

from ..analysis.dependence import carried_dependence
from ..analysis.names import loop_name
from ..analysis.threads.axes import BLOCK_AXES
from ..core.errors import ScheduleError
from ..dialects.tir import CONCURRENT_KINDS, ForOp


def may_reduce(kind: str, thread: str | None) -> bool:
    """Whether iterations of such a loop may contribute to one reduction: the threads of a block reduce together."""
    return kind == "thread_binding" and thread is not None and thread.startswith("threadIdx")


def require_independent(
    loop: ForOp, kind: str, thread: str | None = None, memories: AbstractSet[SSAValue | None] | None = None
) -> None:
    """Raise ScheduleError with two conflicting iterations if a loop must not run as `kind`.

    memories: only conflicts in one of these count; None for all.
    """
    violation = carried_dependence(loop, allow_reduction=may_reduce(kind, thread), memories=memories)
    if violation is None:
        return
    name = loop_name(loop)
    marks: dict[Operation, str] = {loop: "its iterations depend on each other"}
    marks |= dict.fromkeys(violation.statements, "")
    how = f"as {thread}" if thread is not None else f"{kind}" if kind == "parallel" else "as lanes of a vector"
    is_reduction = thread in BLOCK_AXES and carried_dependence(loop, allow_reduction=True, memories=memories) is None
    hint = "; blocks reduce together by rfactor" if is_reduction else ""
    raise ScheduleError(f"the iterations of loop {name} cannot run {how}: {violation}{hint}", marks)


def require_concurrent_loops(loops: Iterable[ForOp], memories: AbstractSet[SSAValue | None] | None = None) -> None:
    """Raise ScheduleError if a concurrent loop among `loops` must not run its iterations concurrently.

    memories: as for `require_independent`; accesses to other memories have not changed.
    """
    for loop in loops:
        if loop.kind.data in CONCURRENT_KINDS:
            require_independent(loop, loop.kind.data, None if loop.thread is None else loop.thread.data, memories)
