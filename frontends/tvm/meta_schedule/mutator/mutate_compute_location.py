"""The mutator `MutateComputeLocation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....core.errors import ScheduleError
from .....dialects.schedule import SampleComputeLocationOp
from .....schedule.trace import Instruction, Trace
from ...tir import Schedule
from .mutator import Mutator

if TYPE_CHECKING:
    from ..tune_context import TuneContext

_DRAWS = 16
"""The draws after which a block counts as one with a single location."""


class MutateComputeLocation(Mutator):
    """Draws another loop in which a block is computed."""

    def __init__(self) -> None:
        self._context: TuneContext | None = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._context = context

    def apply(self, trace: Trace) -> Trace | None:
        choices = [inst for inst in trace.insts if isinstance(inst.op, SampleComputeLocationOp)]
        if not choices or self._context is None or self._context.mod is None:
            return None
        inst = self.random.choice(choices)
        other = self._draw(trace, inst)
        return None if other is None else trace.with_decision(inst, other, remove_postproc=True)

    def _draw(self, trace: Trace, inst: Instruction) -> int | None:
        """Another decision of a choice, None if no draw finds one."""
        assert self._context is not None
        insts = trace.insts
        before = insts[: insts.index(inst) + 1]
        decisions = {each: decision for each, decision in trace.decisions.items() if each in before and each != inst}
        for _ in range(_DRAWS):
            sch = Schedule(self._context.mod, seed=self.random.randrange(1, 2**31), enable_check=False)  # pyright: ignore[reportArgumentType]
            try:
                sch.replay(Trace(before, decisions))
            except ScheduleError:
                return None
            drawn = sch.trace.insts[-1].decision
            if drawn != inst.decision:
                return drawn
        return None
