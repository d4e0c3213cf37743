"""The base class of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tir import SBlockRV, Schedule
from ..contextual import Contextual, made_for

if TYPE_CHECKING:
    from ..tune_context import TuneContext


class ScheduleRule(Contextual):
    """A rule: for a block of a schedule, the schedules that continue it. Subclasses override `apply`."""

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        """The schedules in which the block is scheduled. `sch` itself may be changed and returned; a rule that declines
        the block returns `[sch]`."""
        raise NotImplementedError(f"{type(self).__name__} has no method apply")

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """The rules of TVM for a kind of target: "llvm", "cuda", "hexagon" or "c". OptionError for another kind."""
        # lazy: the rules are subclasses
        from .defaults import DEFAULTS

        return made_for(kind, DEFAULTS, "ScheduleRule")


PyScheduleRule = ScheduleRule
"""The base class of the rules of users."""


def cores_of(context: TuneContext) -> int:
    """The number of cores of the processor of a context: the option `num-cores` of its target, else that of this
    machine."""
    cores: Any = context.target.attrs.get("num-cores")
    return context.cores if cores is None else int(cores)
