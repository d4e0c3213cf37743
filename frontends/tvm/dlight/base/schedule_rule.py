"""Rules: functions that schedule a kernel, or decline it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....core.errors import OptionError
from .....dialects.tir import FuncOp
from .....schedule.rules.results import DefaultSchedules, FunctionSchedule
from ...ir.module import PrimFunc
from ...tir import Schedule

Apply = Callable[[Any, Any, bool], Any]
"""Schedules a function for a target. Returns a schedule, or None for a function that the rule does not support."""


class ScheduleRule:
    """A rule. Subclasses override `apply`."""

    def apply(self, func: Any, target: Any, tunable: bool) -> Any:
        """The schedule of a function for a target, a list of one schedule, or None for a function that the rule does
        not support. tunable: whether the schedule may leave decisions to a tuner; False here."""
        raise NotImplementedError(f"{type(self).__name__} has no method apply")

    def is_target_available(self, target: Any) -> bool:
        """Whether the rule is for a target."""
        return True

    @staticmethod
    def from_callable(name: str) -> Callable[[Apply], ScheduleRule]:
        """The decorator that makes a rule of a function with the arguments of `apply`. OptionError for a value that
        cannot be called."""

        def decorate(function: Apply) -> ScheduleRule:
            if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
                raise OptionError(f"rule {name}: {function!r}, expected a function of a kernel, a target and a bool")
            return _FunctionRule(name, function)

        return decorate


class DefaultScheduleRule(ScheduleRule):
    """A rule that gives a function its default schedule, if the function is of the kind of the rule."""

    kinds: frozenset[str] = frozenset()
    """The rules of default schedules, of which one has scheduled a block of the function."""

    def default_schedules(self, func: PrimFunc) -> DefaultSchedules:
        """The function with its default schedule."""
        raise NotImplementedError(f"{type(self).__name__} has no method default_schedules")

    def fits(self, func: FuncOp, schedule: FunctionSchedule) -> bool:
        """Whether a function with its default schedule is of the kind of the rule."""
        return any(each.rule in self.kinds for each in schedule.applied)

    def apply(self, func: Any, target: Any, tunable: bool) -> Any:
        """A schedule of the function with its default schedule, None for a function of another kind."""
        if not isinstance(func, PrimFunc):
            return None
        result = self.default_schedules(func)
        (original,) = func.function_ops.values()
        if not all(self.fits(original, each) for each in result.functions.values()) or not result.functions:
            return None
        return Schedule(PrimFunc(result.mod.op, func.constants))


class _FunctionRule(ScheduleRule):
    """The rule of a function."""

    def __init__(self, name: str, function: Apply):
        self.name = name
        self.function = function

    def apply(self, func: Any, target: Any, tunable: bool) -> Any:
        return self.function(func, target, tunable)

    def __call__(self, func: Any, target: Any, tunable: bool) -> Any:
        return self.function(func, target, tunable)
