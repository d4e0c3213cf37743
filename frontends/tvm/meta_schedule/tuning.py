"""Draws of schedules, their measurement, and the choice of the fastest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Any, Self

from ....core.errors import ExecutionError, OptionError, StepwellError
from ....module import Module
from ..ir.module import IRModule
from ..target.target import Target
from ..tir import Schedule
from .database import Database, TuningRecord
from .runner import LocalRunner
from .space_generator import SpaceGenerator

_LEAST_DRAWS = 16
"""The draws in a row that repeat known schedules after which a space counts as exhausted."""


@dataclass(frozen=True)
class TuneConfig:
    """The numbers of a search, as of v0.9 and v0.10. num_trials_per_iter and the others: ignored."""

    max_trials_global: int = 64
    num_trials_per_iter: int = 64
    max_trials_per_task: int | None = None
    strategy: Any = "evolutionary"
    adaptive_training: Any = None
    search_strategy_config: Any = None
    task_scheduler: Any = "gradient"
    logger_config: Any = None


def ReplayTraceConfig(
    num_trials_per_iter: int = 64,
    num_trials_total: int | None = None,
    max_trials_per_task: int | None = None,
    max_trials_global: int | None = None,
    **_parts: Any,
) -> TuneConfig:
    """The numbers of a search under the names of v0.8 and v0.9. Ignored are the parts of TVM's search."""
    most = max_trials_global or num_trials_total or max_trials_per_task or 64
    return TuneConfig(most, num_trials_per_iter, max_trials_per_task)


ReplayFuncConfig = EvolutionarySearchConfig = ReplayTraceConfig


@dataclass(frozen=True)
class ExtractedTask:
    """A kernel of a program. dispatched: its module.  weight: the number of its calls."""

    task_name: str
    mod: IRModule
    target: Target
    dispatched: Sequence[IRModule]
    weight: int = 1


def create_runner(kind: Any) -> LocalRunner:
    """A runner in any accepted form: itself, or "local". OptionError for another value, such as a remote machine."""
    if kind is None or kind == "local":
        return LocalRunner()
    if isinstance(kind, LocalRunner):
        return kind
    raise OptionError(f"runner {kind!r}, expected 'local' or a LocalRunner: programs run on this machine")


def tune_kernel(
    kernel: Module, target: Target, space: SpaceGenerator, trials: int, runner: LocalRunner, database: Database,
    seed: int | None = None,
) -> None:  # fmt: skip
    """Adds measured schedules of a kernel to a database.

    space: of the schedules.  trials: the greatest number of measurements.  The schedule of a space without choices is
    measured once, and kept without a time where it cannot be. A draw that fails, or whose program does not compile,
    counts as a trial and is left out; the last error is raised if all draws fail.
    """
    workload = database.commit_workload(kernel)
    random = Random(seed)
    seen: set[str] = set()
    repeats, found = 0, False
    failure: StepwellError | None = None
    for _ in range(trials if space.is_random else 1):
        try:
            sch = space.draw(Schedule(workload.mod, seed=random.randrange(1, 2**31)), target)
            text = str(sch.trace)
            if text in seen:
                repeats += 1
                if repeats == _LEAST_DRAWS:
                    return
                continue
            repeats = 0
            seen.add(text)
            seconds = _seconds(sch, target, runner) if space.is_random else _known_seconds(sch, target, runner)
        except StepwellError as error:
            failure = error
            continue
        found = True
        database.commit_tuning_record(TuningRecord(sch.trace, workload, seconds, target))
    if failure is not None and not found:
        raise failure


def _seconds(sch: Schedule, target: Target, runner: LocalRunner) -> tuple[float, ...]:
    """The seconds of a schedule. ExecutionError for a program that does not compile or run, or takes too long."""
    measured = runner.measure(lambda: sch.mod, target, runner.timeout_sec)
    if measured.error:
        raise ExecutionError(measured.error)
    return measured.seconds


def _known_seconds(sch: Schedule, target: Target, runner: LocalRunner) -> tuple[float, ...]:
    """The seconds of a schedule, nothing if they are not known: its device does not exist, or it takes too long."""
    try:
        return _seconds(sch, target, runner)
    except ExecutionError:
        return ()


def tune_extracted_tasks(
    extracted_tasks: Sequence[ExtractedTask],
    config: TuneConfig | None = None,
    work_dir: str | None = None,
    *,
    runner: Any = None,
    database: Any = None,
    space: Any = None,
    seed: int | None = None,
    **_parts: Any,
) -> Database:
    """A database with measured schedules of the kernels of tasks, as of v0.9 and v0.10.

    config: the greatest number of measurements of all tasks and of each.  space, runner, database, seed: as of
    `tune_tir`.  Ignored are the parts of TVM's search.
    """
    given = ("json" if work_dir is not None else "memory") if database is None else database
    records = Database.create(given, work_dir=work_dir) if given == "json" else Database.create(given)
    numbers = config or TuneConfig()
    most = numbers.max_trials_per_task or max(1, numbers.max_trials_global // max(1, len(extracted_tasks)))
    chosen = SpaceGenerator.create("post-order-apply" if space is None else space)
    for task in extracted_tasks:
        for kernel in task.dispatched:
            tune_kernel(kernel, task.target, chosen, most, create_runner(runner), records, seed)
    return records


class Profiler:
    """The seconds of a `with` statement: `profiler.get()["Total"]`."""

    def __init__(self) -> None:
        self._start = self._end = perf_counter()

    def __enter__(self) -> Self:
        self._start = self._end = perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end = perf_counter()

    def get(self) -> dict[str, float]:
        """The seconds by name."""
        return {"Total": self._end - self._start}

    def table(self) -> str:
        """The seconds as a text."""
        return "\n".join(f"{name}: {seconds:.3f} s" for name, seconds in self.get().items())
