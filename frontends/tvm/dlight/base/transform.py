"""The pass that applies rules to the kernels of a module."""

from __future__ import annotations

from typing import Any

from .....core.errors import OptionError
from .....module import Module
from .....schedule import Schedule
from ...ir.module import IRModule, PrimFunc
from ...target.target import Target
from ...transform import Pass, PassContext, PassInfo
from .schedule_rule import ScheduleRule

SCHEDULED = ("tir.is_scheduled", "tirx.is_scheduled")
"""The attribute of functions that a rule has scheduled, under the names of all versions."""


class ApplyDefaultSchedule(Pass):
    """Schedules each kernel without a schedule by the first rule that does not decline it, for the current target."""

    def __init__(self, *rules: ScheduleRule):
        """rules: in the order in which they are tried."""
        self.info = PassInfo(0, "ApplyDefaultSchedule")
        self.rules = rules

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        """The module with scheduled kernels. OptionError outside of `with target:`."""
        target = Target.current()
        if target is None:
            raise OptionError("ApplyDefaultSchedule: no current target, expected `with target:` around the pass")
        result = IRModule(mod.op.clone(), dict(mod.constants))
        for name, func in mod.items():
            if isinstance(func, PrimFunc) and not any(func.attrs.get(key) for key in SCHEDULED):
                scheduled = self._scheduled(name, func, target)
                if scheduled is not None:
                    result[name] = scheduled.with_attrs(dict.fromkeys(SCHEDULED, True))
        return result

    def _scheduled(self, name: str, func: PrimFunc, target: Target) -> PrimFunc | None:
        for rule in self.rules:
            if not rule.is_target_available(target):
                continue
            found: Any = rule.apply(func, target, False)
            if isinstance(found, list | tuple):
                if len(found) != 1:  # pyright: ignore[reportUnknownArgumentType]
                    raise OptionError(f"rule {type(rule).__name__}: {len(found)} schedules for {name}, expected one")  # pyright: ignore[reportUnknownArgumentType]
                found = found[0]  # pyright: ignore[reportUnknownVariableType]
            if found is not None:
                return _only_function(found.mod if isinstance(found, Schedule) else found)
        return None


def _only_function(mod: Module) -> PrimFunc:
    return mod if isinstance(mod, PrimFunc) else PrimFunc(mod.op, mod.constants)
