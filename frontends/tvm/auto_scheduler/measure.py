"""Measurements of schedules: `tvm.auto_scheduler.measure`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ....core.errors import OptionError, StepwellError, UnsupportedError
from ....expressions.tensor import Tensor
from .. import driver, meta_schedule
from ..absent import report_absent
from ..autotvm.measure import MeasureErrorNo, error_of
from ..contrib.utils import TempDirectory
from ..ir.module import IRModule
from ..meta_schedule.arg_info import TensorInfo, args_info_of
from ..meta_schedule.database import MAIN
from ..meta_schedule.runner import EvaluatorConfig, RunnerInput
from ..topi.sparse_inputs import try_get_sparse_input
from .compute_dag import State

__getattr__ = report_absent("tvm.auto_scheduler.measure")


@dataclass(frozen=True)
class MeasureInput:
    """A schedule of a task."""

    task: Any
    state: State


@dataclass(frozen=True)
class MeasureResult:
    """The seconds of the repetitions, or an error. all_cost: the seconds of the whole measurement.  timestamp: its
    end."""

    costs: Sequence[float]
    error_no: int
    error_msg: str
    all_cost: float
    timestamp: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", tuple(self.costs))


def recover_measure_input(inp: MeasureInput, rebuild_state: bool = False) -> MeasureInput:
    """A schedule that was read from a record, of a task with the tensors of its workload. rebuild_state: whether the
    state has stages, which `ComputeDAG.infer_bound_from_state` adds, too. OptionError if the workload's function is not
    registered."""
    # lazy: tasks measure
    from .search_task import SearchTask

    task = SearchTask(workload_key=inp.task.workload_key, target=inp.task.target)
    return MeasureInput(task, State(inp.state.transform_steps, task.compute_dag) if rebuild_state else inp.state)


class MeasureCallback:
    """A function that is called after a measurement; the base class of users' own."""

    def callback(self, policy: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Takes the policy, the inputs and the results."""
        raise NotImplementedError(f"{type(self).__name__} has no method callback")


PythonBasedMeasureCallback = MeasureCallback


@dataclass(frozen=True)
class LocalBuilder:
    """Builds for this machine. timeout: the longest seconds of a schedule and its build. n_parallel: ignored.
    UnsupportedError for another `build_func` than "default"."""

    timeout: float = 15
    n_parallel: int | None = None
    build_func: Any = "default"

    def __post_init__(self) -> None:
        if self.build_func != "default":
            raise UnsupportedError(f"LocalBuilder: build_func {self.build_func!r}, expected 'default'")

    def build(self, measure_inputs: Sequence[MeasureInput], verbose: int = 1) -> list[BuildResult]:
        """Builds schedules for `LocalRunner.run`, as of `local_builder_build`."""
        return local_builder_build(measure_inputs, self.timeout, self.n_parallel, self.build_func, verbose)


@dataclass(frozen=True)
class LocalRunner:
    """Measures on this machine, by `tvm.meta_schedule.runner.LocalRunner`. timeout: the longest seconds of a
    measurement without the build.  device: 0."""

    timeout: float = 10
    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    cooldown_interval: float = 0.0
    enable_cpu_cache_flush: bool = False
    device: int = 0

    @property
    def measurer(self) -> Any:
        """The runner of `tvm.meta_schedule`."""
        number, least = (1, 0) if self.enable_cpu_cache_flush else (self.number, self.min_repeat_ms)
        config = EvaluatorConfig(number, self.repeat, least, self.enable_cpu_cache_flush)
        return meta_schedule.runner.LocalRunner(self.timeout, config, self.cooldown_interval)

    def run(
        self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[BuildResult], verbose: int = 1
    ) -> list[MeasureResult]:
        """Measures the results of `LocalBuilder.build`, as of `local_run`."""
        return [_run(inp, built, self.measurer) for inp, built in zip(measure_inputs, build_results, strict=True)]


class LocalRPCMeasureContext:
    """A runner on this machine. runner: a `LocalRunner`."""

    def __init__(
        self, priority: int = 1, n_parallel: int = 1, timeout: float = 10, number: int = 3, repeat: int = 1,
        min_repeat_ms: int = 0, cooldown_interval: float = 0.0, enable_cpu_cache_flush: bool = False, device: int = 0,
    ):  # fmt: skip
        """priority, n_parallel: ignored. The others: as of `LocalRunner`."""
        self.runner = LocalRunner(
            timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush, device
        )


class RPCRunner:
    """A runner on another machine, which no search can use: UnsupportedError, programs run on this machine."""

    def __init__(self, key: str, host: str, port: int, *args: Any, **options: Any):
        self._place = f"{key!r} at {host}:{port}"

    @property
    def measurer(self) -> NoReturn:
        """Always UnsupportedError."""
        raise UnsupportedError(
            f"RPCRunner {self._place}: programs run on this machine only, expected auto_scheduler.LocalRunner"
        )


# Arrays of inputs

_CHECKS: dict[str, Callable[[Sequence[Tensor]], dict[Tensor, str]]] = {"try_get_sparse_input": try_get_sparse_input}
"""The functions that name inputs whose values matter."""


def register_task_input_check_func(
    func_name: str | Callable[..., Any], f: Callable[..., Any] | None = None, override: bool = False
) -> Any:
    """Registers a function that names input tensors for `task_inputs`. OptionError for a name of another function,
    unless `override`."""
    if callable(func_name):
        return register_task_input_check_func(func_name.__qualname__, func_name, override)

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        if func_name in _CHECKS and not override:
            raise OptionError(f"register_task_input_check_func: {func_name!r} is registered already")
        _CHECKS[func_name] = function
        return function

    return add if f is None else add(f)


def inputs_of(tensors: Sequence[Tensor], arrays: dict[str, Any]) -> list[Any] | None:
    """The array of each tensor, by its name or by the name that a registered function gives it; None for others, and
    for all of them."""
    if not arrays or not tensors:
        return None
    names = {tensor: tensor.name for tensor in tensors}
    for check in _CHECKS.values():
        names.update(check(tensors) or {})
    return [arrays.get(names[tensor]) for tensor in tensors]


def measure(inp: MeasureInput, builder: LocalBuilder, runner: LocalRunner | RPCRunner) -> MeasureResult:
    """Measures a schedule of a task."""
    task, start = inp.task, time.perf_counter()
    inputs = inputs_of(task.compute_dag.tensors, task.input_arrays)
    measured = runner.measurer.measure(
        lambda: IRModule({MAIN: task.compute_dag.kernel(inp.state)}), task.target, builder.timeout, inputs
    )
    seconds = time.perf_counter() - start
    return MeasureResult(measured.seconds, error_of(measured), measured.error, seconds, time.time())


# Builds and runs one after the other


@dataclass(frozen=True)
class BuildResult:
    """The end of a build. filename: the saved kernel, "" after an error.  args: the descriptions of its parameters.
    time_cost: the seconds.  folder: has the file, and is removed with the last result that has the folder."""

    filename: str
    args: Sequence[TensorInfo]
    error_no: int
    error_msg: str
    time_cost: float
    folder: TempDirectory | None = field(default=None, repr=False)


def local_builder_build(
    inputs: Sequence[MeasureInput],
    timeout: float,
    n_parallel: int | None = None,
    build_func: str = "default",
    verbose: int = 1,
) -> list[BuildResult]:
    """Builds schedules for `local_run`; an error is part of a result.

    build_func: "default", UnsupportedError for others.  timeout, n_parallel, verbose: ignored, the builds run in turn
    to their ends.
    """
    LocalBuilder(timeout, n_parallel, build_func)
    return [_build(inp) for inp in inputs]


def _build(inp: MeasureInput) -> BuildResult:
    start, phase = time.perf_counter(), MeasureErrorNo.INSTANTIATION_ERROR
    try:
        mod = IRModule({MAIN: inp.task.compute_dag.kernel(inp.state)})
        phase = MeasureErrorNo.COMPILE_HOST
        built, folder = driver.build(mod, target=inp.task.target), TempDirectory()
        path = folder.relpath("kernel.tar")
        built.export_library(path)
    except StepwellError as error:
        return BuildResult("", (), phase, f"{type(error).__name__}: {error}", time.perf_counter() - start)
    return BuildResult(path, args_info_of(mod), MeasureErrorNo.NO_ERROR, "", time.perf_counter() - start, folder)


def local_run(
    inputs: Sequence[MeasureInput],
    build_results: Sequence[BuildResult],
    timeout: float = 10,
    number: int = 3,
    repeat: int = 1,
    min_repeat_ms: int = 0,
    cooldown_interval: float = 0,
    enable_cpu_cache_flush: bool = False,
    verbose: int = 1,
    device: int = 0,
) -> list[MeasureResult]:
    """Measures the results of `local_builder_build`; an error is part of a result, and so is that of a build.

    The numbers are those of `LocalRunner`. timeout, verbose: ignored, a kernel runs to its end.
    """
    runner = LocalRunner(timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush, device)
    return runner.run(inputs, build_results)


def _run(inp: MeasureInput, built: BuildResult, measurer: Any) -> MeasureResult:
    if built.error_no != MeasureErrorNo.NO_ERROR:
        return MeasureResult((), built.error_no, built.error_msg, built.time_cost, time.time())
    start = time.perf_counter()
    (future,) = measurer.run([RunnerInput(built.filename, inp.task.target.kind.name, built.args)])
    end = future.result()
    error_no = MeasureErrorNo.NO_ERROR if end.error_msg is None else MeasureErrorNo.RUNTIME_DEVICE
    seconds = built.time_cost + time.perf_counter() - start
    time.sleep(measurer.cooldown_sec)
    return MeasureResult(end.run_secs or (), error_no, end.error_msg or "", seconds, time.time())


__all__ = [
    "BuildResult", "LocalBuilder", "LocalRPCMeasureContext", "LocalRunner", "MeasureCallback", "MeasureErrorNo",
    "MeasureInput", "MeasureResult", "PythonBasedMeasureCallback", "RPCRunner", "local_builder_build", "local_run",
    "measure", "recover_measure_input", "register_task_input_check_func",
]  # fmt: skip
