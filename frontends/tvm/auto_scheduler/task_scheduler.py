"""Searches of several tasks: `tvm.auto_scheduler.task_scheduler`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from ..absent import report_absent
from .search_policy import SketchPolicy
from .search_task import SearchTask, TuningOptions

__getattr__ = report_absent("tvm.auto_scheduler.task_scheduler")


class TaskScheduler:
    """The search of several tasks, one after another. best_costs: the seconds of each, infinite before its measurement.
    cur_score: the weighted sum of the seconds, or the result of `objective_func`."""

    def __init__(
        self,
        tasks: Sequence[SearchTask],
        task_weights: Sequence[float] | None = None,
        objective_func: Callable[[Sequence[float]], float] | None = None,
        strategy: str = "gradient",
        load_model_file: str | None = None,
        load_log_file: str | None = None,
        alpha: float = 0.2,
        beta: float = 2,
        gamma: float = 0.5,
        backward_window_size: int = 3,
        callbacks: Any = None,
    ):
        """task_weights: the number of calls of each task. The other arguments are ignored: each task is measured
        once."""
        self.tasks = list(tasks)
        weights = [1.0] * len(self.tasks) if task_weights is None else list(task_weights)
        self.objective_func = objective_func or (
            lambda costs: float(sum(cost * weight for cost, weight in zip(costs, weights, strict=True)))
        )
        self.best_costs = [float("inf")] * len(self.tasks)
        self.cur_score = float("inf")

    def tune(
        self,
        tune_option: TuningOptions,
        search_policy: Any = "default",
        search_policy_params: Any = None,
        adaptive_training: bool = False,
        per_task_early_stopping: int | None = None,
    ) -> None:
        """Measures the default schedules of the tasks, at most `num_measure_trials` of them. search_policy: a list of
        policies, one for each task; a name is ignored.  Writes a line for each task, unless `verbose` is 0."""
        policies = list(map(SketchPolicy, self.tasks)) if isinstance(search_policy, str) else list(search_policy)
        for n, (task, policy) in enumerate(zip(self.tasks, policies, strict=True)):
            if n < tune_option.num_measure_trials:
                task.tune(tune_option, policy)
            if policy.result is not None and policy.result.error_no == 0:
                self.best_costs[n] = fmean(policy.result.costs)
            if tune_option.verbose:
                print(f"Task {n}: {self.best_costs[n] * 1e3:.3f} ms  {task.desc or task.workload_key}")
        self.cur_score = self.objective_func(self.best_costs)
        if tune_option.verbose and self.tasks:
            print(f"Estimated total latency: {self.cur_score * 1e3:.3f} ms")


__all__ = ["TaskScheduler"]
