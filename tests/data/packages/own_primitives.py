"""A primitive with an op, and a primitive that fails after a change."""

from own import RenameLoopOp
from xdsl.dialects.builtin import StringAttr

from stepwell import Schedule, ScheduleError
from stepwell.dialects.tir import ForOp
from stepwell.schedule.extending import primitive
from stepwell.schedule.handles import LoopRV
from stepwell.schedule.state import State, applies


@primitive
def rename_loop(sch: Schedule, loop: LoopRV, to: str) -> None:
    """Gives a loop another name."""
    sch.record(RenameLoopOp, loop=loop, to=to)


@applies(RenameLoopOp)
def apply_rename_loop(state: State, loop: ForOp, to: str) -> None:
    if not to.isidentifier():
        raise ScheduleError(f"{to!r} is no name", [loop])
    with state.changing():
        loop.loop_var = StringAttr(to)


@primitive
def unroll_and_fail(sch: Schedule, loop: LoopRV) -> None:
    """Unrolls a loop and then fails."""
    sch.unroll(loop)
    sch.split(loop, [3, 0])
