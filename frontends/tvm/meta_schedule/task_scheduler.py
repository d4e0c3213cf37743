"""Searches for the schedules of several kernels: `tvm.meta_schedule.task_scheduler`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....core.errors import OptionError
from ..absent import report_absent
from .cost_model import model_of_users
from .database import Database
from .tune_context import TuneContext
from .tuning import search, tools_of

__getattr__ = report_absent("tvm.meta_schedule.task_scheduler")


class TaskScheduler:
    """A search for the schedules of kernels, one kernel after another."""

    def tune(
        self,
        tasks: Sequence[TuneContext],
        task_weights: Sequence[float],
        max_trials_global: int,
        max_trials_per_task: int,
        num_trials_per_iter: int = 64,
        builder: Any = "local",
        runner: Any = "local",
        measure_callbacks: Any = "default",
        database: Database | None = None,
        cost_model: Any = None,
    ) -> None:
        """Adds measured schedules of the kernels of contexts to a database.

        task_weights: a number for each context, which are ignored, and so is num_trials_per_iter.  The others: as of
        `tune_tir`. OptionError for another number of weights.
        """
        if len(task_weights) != len(tasks):
            raise OptionError(f"tune: {len(task_weights)} weights for {len(tasks)} tasks, expected one for each")
        records = Database.create("memory") if database is None else database
        tools = tools_of(runner, builder, measure_callbacks)
        most = min(max_trials_per_task, max(1, max_trials_global // max(1, len(tasks))))
        for number, task in enumerate(tasks):
            search(task, most, tools, records, model_of_users(cost_model), scheduler=self, task_id=number)

    @staticmethod
    def create(kind: Any = "gradient", *args: Any, **named: Any) -> TaskScheduler:
        """A scheduler in any accepted form: itself, "round-robin" or "gradient" with the arguments of the class.
        OptionError for another value."""
        if isinstance(kind, TaskScheduler):
            return kind
        classes = {"round-robin": RoundRobin, "gradient": GradientBased}
        if kind not in classes:
            raise OptionError(f"task scheduler {kind!r}, expected {', '.join(classes)}")
        return classes[kind](*args, **named)


class RoundRobin(TaskScheduler):
    """The kernels in order."""


@dataclass(frozen=True)
class GradientBased(TaskScheduler):
    """The kernels in order. The numbers, of a search that divides measurements by their gain, are ignored."""

    alpha: float = 0.2
    window_size: int = 3
    seed: int = -1


create = TaskScheduler.create

__all__ = ["GradientBased", "RoundRobin", "TaskScheduler", "create"]
