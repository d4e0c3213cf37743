"""The search for the rules that schedule the blocks of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from ...core.errors import ScheduleError
from ...dialects.tir import FuncOp
from .. import Schedule
from .results import Applied, Declined, DeclineError, FunctionSchedule


@dataclass
class Search:
    """The schedule of a function under construction, with the decisions of rules."""

    function: str
    sch: Schedule
    applied: list[Applied] = field(default_factory=list[Applied])
    declined: list[Declined] = field(default_factory=list[Declined])

    @staticmethod
    def of(func: FuncOp, checked: bool = True) -> Search:
        """The search for the schedule of a copy of a function. checked: whether primitives are checked."""
        module = ModuleOp([func.clone()])
        return Search(func.sym_name.data, Schedule(module, error_render_level="fast", enable_check=checked, copy=False))

    @property
    def func(self) -> FuncOp:
        """The function in its current state."""
        func = self.sch.mod.function_ops[self.function]
        assert isinstance(func, FuncOp)
        return func

    def attempt(self, rule: str, block: str, apply: Callable[[], Applied]) -> bool:
        """Applies a rule to a block, and undoes its primitives if it declines. Returns whether it has scheduled the
        block."""
        try:
            with self.sch.attempt():
                applied = apply()
        except DeclineError as reason:
            self.declined.append(Declined(rule, block, str(reason)))
        except ScheduleError as error:
            self.declined.append(Declined(rule, block, error.reason))
        else:
            self.applied.append(applied)
            return True
        return False

    def result(self, alone: int = 0) -> FunctionSchedule:
        """The schedule that has been found. alone: as of `FunctionSchedule`."""
        trace = self.sch.trace.simplified()
        return FunctionSchedule(self.function, trace, tuple(self.applied), tuple(self.declined), alone)

    def detached(self, original: FuncOp) -> FuncOp:
        """The scheduled function, taken out of the schedule, at the location of the original."""
        func = self.func
        func.detach()
        func.location = original.location
        return func
