"""Searches for fast configurations: `tvm.autotvm.tuner.tuner`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

from ...absent import report_absent
from .. import env
from ..measure import MeasureInput, MeasureResult, create_measure_batch
from ..task.space import ConfigEntity
from ..task.task import Task
from ..utils import format_si_prefix

__getattr__ = report_absent("tvm.autotvm.tuner.tuner")
logger = logging.getLogger("autotvm")


class Tuner:
    """A search in the space of a task; the base class of users' own.

    best_config, best_flops, best_measure_pair: of the fastest configuration so far; None and 0 before one is measured.
    best_iter: the number of its trial.  n_trial, early_stopping: of `tune`.  ttl: the trials that are left at most.
    """

    def __init__(self, task: Task, **kwargs: Any):
        self.task = task
        self.param = kwargs
        self.best_config: ConfigEntity | None = None
        self.best_flops: float = 0
        self.best_measure_pair: tuple[MeasureInput, MeasureResult] | None = None
        self.best_iter = 0
        self.error_ct_threshold = 150
        self.n_trial: int | None = None
        self.early_stopping: float | None = None
        self.ttl: float | None = None

    def has_next(self) -> bool:
        """Whether the space has configurations that were not measured."""
        raise NotImplementedError(f"{type(self).__name__} has no method has_next")

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        """The next configurations to measure, at most `batch_size`."""
        raise NotImplementedError(f"{type(self).__name__} has no method next_batch")

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Learns from the results of a batch."""

    def tune(
        self,
        n_trial: int,
        measure_option: dict[str, Any],
        early_stopping: int | None = None,
        callbacks: Iterable[Callable[..., Any]] = (),
        si_prefix: str = "G",
    ) -> None:
        """Measures up to `n_trial` configurations. A configuration with an error counts as a trial.

        measure_option: of `autotvm.measure_option`.  early_stopping: the trials without a faster configuration after
        which the search ends.  callbacks: called with the tuner, the inputs and the results of each batch.  si_prefix:
        of the logged FLOPS.  A warning states the last error if no configuration is measured.
        """
        format_si_prefix(0, si_prefix)  # checks the prefix
        measure_batch = create_measure_batch(self.task, measure_option)
        patience = early_stopping or float("inf")
        self.n_trial, self.early_stopping = n_trial, patience
        callbacks = list(callbacks)
        done, last_error = 0, ""
        env.GLOBAL_SCOPE.in_tuning = True
        try:
            while done < n_trial and self.has_next():
                count = min(getattr(measure_batch, "n_parallel", 1), n_trial - done)
                inputs = [MeasureInput(self.task.target, self.task, config) for config in self.next_batch(count)]
                results = measure_batch(inputs)
                last_error = self._keep_best(inputs, results, done, si_prefix) or last_error
                done += len(results)
                self.ttl = min(patience + self.best_iter, n_trial) - done
                self.update(inputs, results)
                for callback in callbacks:
                    callback(self, inputs, results)
                if not results or done >= self.best_iter + patience:
                    logger.debug("Early stopped. Best iter: %d.", self.best_iter)
                    break
        finally:
            env.GLOBAL_SCOPE.in_tuning = False
        if done and self.best_config is None and last_error:
            logger.warning("No configuration of %s could be measured, the last error is: %s", self.task, last_error)

    def _keep_best(
        self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult], done: int, si_prefix: str
    ) -> str:
        """Keeps the fastest configuration of a batch. Returns the message of the last error, if any."""
        last_error = ""
        for n, (inp, result) in enumerate(zip(inputs, results, strict=True), done):
            flops = flops_of(inp, result)
            if result.error_no != 0:
                last_error = str(result.costs[0])
            if flops > self.best_flops:
                self.best_flops, self.best_config, self.best_iter = flops, inp.config, n
                self.best_measure_pair = inp, result
            logger.debug(
                "No: %d\t%sFLOPS: %.2f/%.2f\tresult: %s\t%s",
                n + 1,
                si_prefix,
                format_si_prefix(flops, si_prefix),
                format_si_prefix(self.best_flops, si_prefix),
                result,
                inp.config,
            )
        return last_error

    def reset(self) -> None:
        """Forgets the fastest configuration."""
        self.best_config, self.best_flops, self.best_measure_pair = None, 0, None

    def load_history(self, data_set: Iterable[tuple[MeasureInput, MeasureResult]], min_seed_records: int = 500) -> None:
        """Learns from records of other tasks. data_set: the records.  min_seed_records: the least number to learn
        from."""
        raise NotImplementedError(f"{type(self).__name__} does not learn from records, expected XGBTuner")

    def set_error_threshold(self, threshold: int) -> None:
        """Sets a number of errors, which is without effect: all errors are logged."""
        self.error_ct_threshold = threshold


def flops_of(inp: MeasureInput, result: MeasureResult) -> float:
    """The operations per second of a configuration, 0 after an error."""
    return 0.0 if result.error_no != 0 else (inp.task.flop or 0) / fmean(result.costs)


__all__ = ["Tuner", "flops_of"]
