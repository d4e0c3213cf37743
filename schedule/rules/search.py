"""The search for the rules that schedule the blocks of a function."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

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
    keeps_original: bool = False

    @staticmethod
    @contextmanager
    def of(func: FuncOp, checked: bool = True) -> Generator[Search]:
        """A context with the search for the schedule of a function, which is replaced by the scheduled function at its
        end, unless `keeps_original` is set or an exception ends it.

        The schedule is that of a module of its own. checked: whether primitives are checked.
        """
        place = InsertPoint.after(func)
        func.detach()
        start = ModuleOp([func])
        chosen = func
        try:
            schedule = Schedule(start, error_render_level="fast", enable_check=checked, copy=False)
            search = Search(func.sym_name.data, schedule)
            yield search
            if not search.keeps_original:
                chosen = search.func
                chosen.location = func.location
        finally:
            chosen.detach()
            Rewriter.insert_op(chosen, place)

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
