"""The rule `CrossThreadReduction`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .....analysis.scopes import loops_around, lowest_common_ancestor
from .....analysis.threads.axes import is_thread_loop
from .....core.errors import ScheduleError
from .....dialects.schedule import BindOp, SplitOp
from .....dialects.tir import BlockOp, ForOp
from .....schedule.handles import ExprRV, LoopRV
from ...tir import SBlockRV, Schedule
from ..blocks import (
    accesses,
    fuse_reduction_loops,
    inner_block,
    is_split_reduction,
    kind_of_loop,
    needs_tiling,
)
from .schedule_rule import ScheduleRule

if TYPE_CHECKING:
    from ..tune_context import TuneContext

_THREAD = "threadIdx.x"


class CrossThreadReduction(ScheduleRule):
    """Distributes the steps of a reduction over threads, in the loops of the block that uses it if that is legal.

    thread_extents: numbers of threads, of which one is drawn.
    """

    def __init__(self, thread_extents: Sequence[int]):
        self.thread_extents = list(thread_extents)
        self._most = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._most = int(context.target.max_threads_per_block) if "gpu" in context.target.keys else -1

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        op = inner_block(sch, block)
        if self._most == -1 or op is None or not is_split_reduction(op, self._most):
            return [sch]
        new = sch.copy()
        new.seed(sch.fork_seed())
        user = _user(new, block, op)
        count = len(self.thread_extents)
        threads: ExprRV = new.sample_categorical(self.thread_extents, [1.0 / count] * count)
        if user is not None:
            threads = _move_into_user(new, block, *user, threads)
        loop, _ = fuse_reduction_loops(new, block)
        _, inner = new.split(loop, [None, threads])
        new.bind(inner, _THREAD)
        return [new, sch]


def _user(sch: Schedule, block: SBlockRV, op: BlockOp) -> tuple[SBlockRV, list[LoopRV], int] | None:
    """The block that uses the results of a reduction, its loops, and the index of the loop around which the reduction
    may move. None if the reduction stays where it is."""
    if len(accesses(op, write=True)) != 1:
        return None
    users = sch.get_consumers(block)
    ops = [each for user in users if (each := inner_block(sch, user)) is not None]
    if not ops or needs_tiling(ops[0]):
        return None
    common = lowest_common_ancestor(ops)
    if len(ops) > 1 and not isinstance(common, ForOp):
        return None
    index = _place(loops_around(op), loops_around(ops[0]), common)
    return None if index < 0 else (users[0], sch.get_loops(users[0]), index)


def _place(loops: Sequence[ForOp], of_user: Sequence[ForOp], common: object) -> int:
    """The index of the innermost loop of the user for which the reduction has a spatial loop, and that is around all
    users; -1 without one."""
    for n, (loop, outer) in enumerate(zip(loops, of_user, strict=False)):
        if kind_of_loop(loop) != "spatial":
            return n - 1
        if outer is common:
            return n
    return min(len(loops), len(of_user)) - 1


def _move_into_user(
    sch: Schedule, block: SBlockRV, user: SBlockRV, loops: Sequence[LoopRV], index: int, threads: ExprRV
) -> ExprRV:
    """Moves a reduction into the loops of the block that uses it, whose innermost loop is distributed over threads.

    Returns the number of threads.
    """
    target = loops[index]
    if any(is_thread_loop(sch.op(loop)) for loop in loops):
        threads = _threads_of_trace(sch)
    else:
        outer, inner = sch.split(loops[-1], [None, threads])
        sch.bind(inner, _THREAD)
        target = outer if index == len(loops) - 1 else target
    sch.compute_at(block, target, preserve_unit_loops=True)
    sch.set_scope(block, 0, "shared")
    return threads


def _threads_of_trace(sch: Schedule) -> ExprRV:
    """The number of threads of the first loop that the trace binds. ScheduleError if it is no number of the trace."""
    for bind in sch.trace.instructions:
        if isinstance(bind, BindOp) and bind.thread_axis.data == _THREAD:
            split = bind.loop.owner
            if isinstance(split, SplitOp):
                factor = split.arguments()["factors"][list(split.results).index(bind.loop)]  # pyright: ignore[reportArgumentType]
                handle = factor if isinstance(factor, int) else sch.handle_of(factor)
                if isinstance(handle, ExprRV):
                    return handle
    raise ScheduleError("CrossThreadReduction: the number of threads of threadIdx.x is no number of the trace")
