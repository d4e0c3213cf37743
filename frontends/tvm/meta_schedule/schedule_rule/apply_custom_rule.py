"""The rule `ApplyCustomRule`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ...registry import get_global_func
from ...tir import SBlockRV, Schedule
from ..blocks import target_of_block, text_annotation
from .schedule_rule import ScheduleRule

if TYPE_CHECKING:
    from ..tune_context import TuneContext

SCHEDULE_RULE = "schedule_rule"
"""The annotation of a block with the name of its own rule, which other rules leave alone."""


class ApplyCustomRule(ScheduleRule):
    """Schedules a block by the function `meta_schedule.KEY.NAME` of `tvm.register_func`, where NAME is the annotation
    `schedule_rule` of the block, and KEY a key of the target (`cpu`, `cuda`).

    The function takes the schedule and the block, and returns schedules. Without a function the annotation is removed,
    with a warning.
    """

    def __init__(self) -> None:
        self._keys: tuple[str, ...] = ()

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._keys = tuple(context.target.keys)

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        name = text_annotation(target_of_block(sch, block), SCHEDULE_RULE)
        if name is None or name == "None":
            return [sch]
        names = [f"meta_schedule.{key}.{name}" for key in self._keys]
        functions: list[Any] = [get_global_func(each, True) for each in names]
        for function in functions:
            if function is not None:
                result = function(sch, block)
                return list(result) if isinstance(result, list | tuple) else [result]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        warnings.warn(f"schedule rule {name!r}: no function, expected one of {', '.join(names)}", stacklevel=2)
        sch.unannotate(block, SCHEDULE_RULE)
        return [sch]
