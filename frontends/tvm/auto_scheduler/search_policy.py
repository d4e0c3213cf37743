"""Searches for schedules: `tvm.auto_scheduler.search_policy`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..absent import report_absent
from .compute_dag import State
from .cost_model import RandomModel
from .measure import LocalBuilder, MeasureInput, MeasureResult, measure
from .measure_record import load_records

__getattr__ = report_absent("tvm.auto_scheduler.search_policy")


class SearchCallback:
    """A function that a search calls at its beginning."""


class PreloadMeasuredStates(SearchCallback):
    """The records of a file count as measured: the default schedule is not measured again. OSError, LoadError."""

    def __init__(self, filename: str | os.PathLike[str] = "auto_scheduler_tuning.json"):
        self.records = load_records(filename) if Path(filename).exists() else []


class PreloadCustomSketchRule(SearchCallback):
    """A rule of users for sketches, of which a search has none: a policy warns that it does not apply the rule."""

    PASS, APPLY, APPLY_AND_SKIP_REST = range(3)

    def __init__(self, meet_condition_func: Any, apply_func: Any, rule_name: str = "CustomSketchRule"):
        self.rule_name = rule_name


class SearchPolicy:
    """The search of a task: its one schedule, the default schedule, which is measured once.

    result: of the measurement, None before it.
    """

    def __init__(self, task: Any, init_search_callbacks: Sequence[SearchCallback] | None = None):
        self.search_task = task
        self.result: MeasureResult | None = None
        for callback in init_search_callbacks or ():
            if isinstance(callback, PreloadCustomSketchRule):
                reason = "the schedule is the default schedule; te.create_schedule and tvm.autotvm take others"
                warnings.warn(f"sketch rule {callback.rule_name} is not applied: {reason}", stacklevel=3)
            if isinstance(callback, PreloadMeasuredStates):
                for inp, result in callback.records:
                    if inp.task.workload_key == task.workload_key and inp.state == State() and result.error_no == 0:
                        self.result = result

    def set_verbose(self, verbose: int) -> None:
        """Nothing: a search writes nothing."""

    def search(
        self, trials: int, builder: LocalBuilder, runner: Any, callbacks: Sequence[Any] = ()
    ) -> MeasureResult | None:
        """Measures the schedule unless it has been measured, or there are no trials. Returns the result. callbacks: of
        the measurement."""
        if self.result is None and trials > 0:
            inp = MeasureInput(self.search_task, self.search_task.compute_dag.get_init_state())
            self.result = measure(inp, builder, runner)
            for callback in callbacks:
                callback.callback(self, [inp], [self.result])
        return self.result


class EmptyPolicy(SearchPolicy):
    """The default schedule."""


class SketchPolicy(SearchPolicy):
    """The default schedule: there are no sketches."""

    def __init__(
        self, task: Any, program_cost_model: RandomModel | None = None, params: Any = None, seed: int | None = None,
        verbose: int = 1, init_search_callbacks: Sequence[SearchCallback] | None = None,
    ):  # fmt: skip
        """Ignored are the model, params, seed and verbose."""
        super().__init__(task, init_search_callbacks)

    def generate_sketches(self, print_for_debug: bool = False) -> list[State]:
        """The default schedule."""
        return [self.search_task.compute_dag.get_init_state()]

    sample_initial_population = generate_sketches


__all__ = [
    "EmptyPolicy", "PreloadCustomSketchRule", "PreloadMeasuredStates", "SearchCallback", "SearchPolicy",
    "SketchPolicy",
]  # fmt: skip
