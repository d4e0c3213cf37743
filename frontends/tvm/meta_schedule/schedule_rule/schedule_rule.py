"""The base class of rules."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

from .....core.errors import OptionError
from ...tir import SBlockRV, Schedule

if TYPE_CHECKING:
    from ..tune_context import TuneContext


class ScheduleRule:
    """A rule: for a block of a schedule, the schedules that continue it. Subclasses override `apply`."""

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        """The schedules in which the block is scheduled. `sch` itself may be changed and returned; a rule that declines
        the block returns `[sch]`."""
        raise NotImplementedError(f"{type(self).__name__} has no method apply")

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Reads the target of a context before the first block."""
        self._initialize_with_tune_context(context)

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        """The part of `initialize_with_tune_context` that subclasses override. By default nothing."""

    def clone(self) -> Self:
        """A copy."""
        return copy(self)

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """The rules of TVM for a kind of target: "llvm", "cuda", "hexagon" or "c". OptionError for another kind."""
        # lazy: the rules are subclasses
        from .defaults import DEFAULTS

        if kind not in DEFAULTS:
            raise OptionError(f"ScheduleRule: kind {kind!r}, expected {', '.join(DEFAULTS)}")
        return DEFAULTS[kind]()


PyScheduleRule = ScheduleRule
"""The base class of the rules of users."""


def cores_of(context: TuneContext) -> int:
    """The number of cores of the processor of a context: the option `num-cores` of its target, else that of this
    machine."""
    cores: Any = context.target.attrs.get("num-cores")
    return context.cores if cores is None else int(cores)
