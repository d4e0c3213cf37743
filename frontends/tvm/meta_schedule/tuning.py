"""Draws of schedules, their measurement, and the choice of the fastest."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np

from ....core.errors import ExecutionError, OptionError
from ....module import Module
from ..ir.module import IRModule
from ..target.target import Target
from ..tir import Schedule
from .arg_info import args_info_of
from .builder import Builder, BuilderInput, BuilderResult, LocalBuilder
from .candidates import Candidates, MeasureCandidate
from .cost_model import CostModel, model_of_users
from .database import Database, TuningRecord
from .measure_callback import MeasureCallback, callbacks_of
from .runner import LocalRunner, Runner, RunnerInput, RunnerResult
from .space_generator import PostOrderApply, SpaceGenerator, space_of
from .tune_context import TuneContext


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


@dataclass(frozen=True)
class Tools:
    """The parts of a search that measure: a runner, a builder, and functions that see measurements."""

    runner: Runner
    builder: Builder
    callbacks: Sequence[MeasureCallback] = ()

    def measure(self, sch: Schedule, target: Target) -> tuple[BuilderResult, RunnerResult]:
        """The build and the run of a schedule; an error is part of the results."""
        if isinstance(self.runner, LocalRunner) and isinstance(self.builder, LocalBuilder) and self.builder.is_default:
            measured = self.runner.measure(lambda: sch.mod, target, self.runner.timeout_sec)
            failure = measured.error or None
            seconds = None if failure else measured.seconds
            return BuilderResult("", None), RunnerResult(seconds, failure)
        (built,) = self.builder.build([BuilderInput(sch.mod, target)])
        if built.error_msg is not None or built.artifact_path is None:
            return built, RunnerResult(None, built.error_msg or "no file of the build")
        (future,) = self.runner.run([RunnerInput(built.artifact_path, target.kind.name, args_info_of(sch.mod))])
        return built, future.result()


def tools_of(runner: Any = "local", builder: Any = "local", measure_callbacks: Any = "default") -> Tools:
    """The tools of a search in any accepted form. OptionError for other values, such as a remote machine."""
    return Tools(
        Runner.create("local" if runner is None else runner),
        Builder.create("local" if builder is None else builder),
        callbacks_of(measure_callbacks),
    )


def tune_kernel(
    kernel: Module, target: Target, space: SpaceGenerator, trials: int, tools: Tools, database: Database,
    seed: int | None = None, strategy: Any = "evolutionary", model: CostModel | None = None,
) -> None:  # fmt: skip
    """Adds measured schedules of a kernel to a database.

    space: of the schedules.  trials: the greatest number of measurements.  strategy: of the search.  model: of speed,
    by which twice as many draws as measurements are ordered. The schedule of a space without choices is measured once,
    and kept without a time where it cannot be. A schedule whose program does not compile counts as a trial and is left
    out; the last error is raised if no schedule is kept.
    """
    rand_state = -1 if seed is None else seed
    context = TuneContext(
        kernel, target=target, space_generator=space, search_strategy=strategy, rand_state=rand_state
    )  # fmt: skip
    search(context, trials, tools, database, model)


_ROUND = 16
"""The greatest number of measurements between two predictions of a model of speed."""


def search(
    context: TuneContext, trials: int, tools: Tools, database: Database, model: CostModel | None = None,
    scheduler: Any = None, task_id: int = 0,
) -> None:  # fmt: skip
    """Adds measured schedules of the kernel of a context to a database, as of `tune_kernel`. scheduler, task_id: the
    search of several kernels and the number of this one, for functions that see measurements."""
    candidates = context.candidates()
    workload = database.commit_workload(candidates.mod)
    is_random, found = context.space_generator.is_random, False
    is_default = not is_random and isinstance(context.space_generator, PostOrderApply)
    left = trials if is_random else 1
    while left and (batch := _next_batch(context, candidates, min(left, _ROUND), model)):
        left -= len(batch)
        builds: list[BuilderResult] = []
        results: list[RunnerResult] = []
        for candidate in batch:
            built, result = tools.measure(candidate.sch, context.target)
            builds.append(built)
            results.append(result)
            seconds = None if result.run_secs is None else tuple(map(_number, result.run_secs))
            if seconds is None and is_random:
                candidates.failure = ExecutionError(result.error_msg or "no seconds")
                continue
            found = True
            record = TuningRecord(candidate.sch.trace, workload, seconds or (), context.target, is_default=is_default)
            database.commit_tuning_record(record)
            candidates.report(candidate.sch, record.mean)
        if model is not None:
            model.update(context, batch, results)
        for callback in tools.callbacks:
            callback.apply(scheduler, task_id, batch, builds, results)
    if candidates.failure is not None and not found:
        raise candidates.failure


def _number(value: Any) -> float:
    """The number of a constant, or of a number."""
    return float(getattr(value, "value", value))


def _next_batch(
    context: TuneContext, candidates: Candidates, count: int, model: CostModel | None
) -> list[MeasureCandidate]:
    """The next schedules to measure: one, or by a model the `count` with the greatest scores of twice as many draws.
    OptionError for another number of scores."""
    draws = (candidates.draw() for _ in range(1 if model is None else 2 * count))
    drawn = [MeasureCandidate(sch, args_info_of(sch.mod)) for sch in takewhile(lambda sch: sch is not None, draws)]  # pyright: ignore
    if model is None or not drawn:
        return drawn
    scores = np.asarray(model.predict(context, drawn))
    if scores.shape != (len(drawn),):
        raise OptionError(f"cost model {model}: scores of shape {scores.shape}, expected ({len(drawn)},)")
    return [drawn[n] for n in np.argsort(-scores, kind="stable")[:count]]


def tune_tasks(
    *,
    tasks: Sequence[TuneContext],
    task_weights: Sequence[float],
    work_dir: str | None = None,
    max_trials_global: int = 64,
    max_trials_per_task: int | None = None,
    runner: Any = "local",
    database: Any = "json",
    cost_model: Any = None,
    builder: Any = "local",
    measure_callbacks: Any = "default",
    **_parts: Any,
) -> Database:
    """A database with measured schedules of the kernels of contexts.

    task_weights: a number for each context, which are ignored.  The others: as of `tune_tir`. OptionError for another
    number of weights. Ignored are the parts of TVM's search.
    """
    if len(task_weights) != len(tasks):
        raise OptionError(f"tune_tasks: {len(task_weights)} weights for {len(tasks)} tasks, expected one for each")
    records = create_database(database, work_dir)
    most = max_trials_per_task or max(1, max_trials_global // max(1, len(tasks)))
    tools = tools_of(runner, builder, measure_callbacks)
    for number, task in enumerate(tasks):
        search(task, most, tools, records, model_of_users(cost_model), task_id=number)
    return records


def create_database(database: Any, work_dir: Any) -> Database:
    """A database in any accepted form, in memory without a folder and a value. OptionError for another value."""
    given = ("memory" if work_dir is None else "json") if database is None else database
    return Database.create(given, work_dir=work_dir) if given == "json" else Database.create(given)


def extracted_tasks_to_tune_contexts(
    extracted_tasks: Sequence[ExtractedTask],
    work_dir: str | None = None,
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    num_tuning_cores: Any = "physical",
    seed: int | None = None,
) -> tuple[list[TuneContext], list[float]]:
    """Contexts of the kernels of tasks, and their weights. The arguments: as of `tune_tir`."""
    contexts = [
        TuneContext(
            task.dispatched[0], target=task.target, space_generator=space, search_strategy=strategy,
            task_name=task.task_name, rand_state=-1 if seed is None else seed + n, num_threads=num_tuning_cores,
        )
        for n, task in enumerate(extracted_tasks)
    ]  # fmt: skip
    return contexts, [float(task.weight) for task in extracted_tasks]


def tune_extracted_tasks(
    extracted_tasks: Sequence[ExtractedTask],
    config: TuneConfig | None = None,
    work_dir: str | None = None,
    *,
    runner: Any = None,
    database: Any = None,
    space: Any = None,
    sch_rules: Any = None,
    postprocs: Any = None,
    mutator_probs: Any = None,
    seed: int | None = None,
    **_parts: Any,
) -> Database:
    """A database with measured schedules of the kernels of tasks, as of v0.9 and v0.10.

    config: the greatest number of measurements of all tasks and of each.  space, its parts, runner, database, seed: as
    of `tune_tir`.  Ignored are the parts of TVM's search.
    """
    records = create_database(database, work_dir)
    numbers = config or TuneConfig()
    most = numbers.max_trials_per_task or max(1, numbers.max_trials_global // max(1, len(extracted_tasks)))
    chosen = space_of(space, sch_rules, postprocs, mutator_probs)
    for task in extracted_tasks:
        for kernel in task.dispatched:
            tune_kernel(kernel, task.target, chosen, most, tools_of(runner), records, seed)
    return records


class Profiler:
    """The seconds of a `with` statement: `profiler.get()["Total"]`, and those of the statements that `timeit` names."""

    _entered: ClassVar[list[Profiler]] = []

    def __init__(self) -> None:
        self._start = self._end = perf_counter()
        self._parts: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._start = self._end = perf_counter()
        Profiler._entered.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        self._end = perf_counter()
        Profiler._entered.pop()

    @staticmethod
    def current() -> Profiler | None:
        """The profiler of the innermost `with`, None outside of one."""
        return Profiler._entered[-1] if Profiler._entered else None

    @staticmethod
    @contextmanager
    def timeit(name: str) -> Generator[None]:
        """A context whose seconds the current profiler adds up under a name."""
        profiler, start = Profiler.current(), perf_counter()
        try:
            yield
        finally:
            if profiler is not None:
                profiler._parts[name] = profiler._parts.get(name, 0.0) + perf_counter() - start

    def get(self) -> dict[str, float]:
        """The seconds by name."""
        return {**self._parts, "Total": self._end - self._start}

    def table(self) -> str:
        """The seconds as a text."""
        return "\n".join(f"{name}: {seconds:.3f} s" for name, seconds in self.get().items())
