"""Measurements of configurations: `tvm.autotvm.measure`."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, NoReturn

from ....core.errors import OptionError, UnsupportedError
from ....module import Module
from .. import meta_schedule
from ..absent import report_absent
from ..driver.build_module import scheduled_module
from ..meta_schedule.runner import EvaluatorConfig, Measurement, Phase
from ..target.target import Target
from .task.space import ConfigEntity, InstantiationError
from .task.task import Task

__getattr__ = report_absent("tvm.autotvm.measure")
logger = logging.getLogger("autotvm")


class MeasureErrorNo(IntEnum):
    """The kinds of errors of a measurement."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8


_ERRORS = {
    Phase.SCHEDULE: (MeasureErrorNo.INSTANTIATION_ERROR, MeasureErrorNo.BUILD_TIMEOUT),
    Phase.BUILD: (MeasureErrorNo.COMPILE_HOST, MeasureErrorNo.BUILD_TIMEOUT),
    Phase.RUN: (MeasureErrorNo.RUNTIME_DEVICE, MeasureErrorNo.RUN_TIMEOUT),
}
"""The kind of an error in each step, and of a step that takes too long."""


class MeasureInput(NamedTuple):
    """A configuration of a task for a target."""

    target: Target
    task: Task
    config: ConfigEntity


class MeasureResult(NamedTuple):
    """The seconds of the repetitions, or the message and the exception of an error. all_cost: the seconds of the whole
    measurement.  timestamp: its end."""

    costs: Sequence[Any]
    error_no: int
    all_cost: float
    timestamp: float

    def __repr__(self) -> str:
        costs = self.costs if self.error_no == 0 else str(self.costs[0]).partition("\n")[0]
        error = f"error_no={MeasureErrorNo(self.error_no)!s}"
        return f"MeasureResult(costs={costs!r}, {error}, all_cost={self.all_cost}, timestamp={self.timestamp})"


class BuildResult(NamedTuple):
    """A build that is done with the measurement, in the same process. timeout: its longest time in seconds.
    build_kwargs: of the builder."""

    timeout: float
    build_kwargs: dict[str, Any]


class Builder:
    """A builder of configurations: the base class of users' own. n_parallel: the configurations of a batch."""

    def __init__(self, timeout: float = 10, n_parallel: int | None = None, build_kwargs: dict[str, Any] | None = None):
        self.timeout = timeout
        self.n_parallel = n_parallel or os.cpu_count() or 1
        self.user_build_kwargs = dict(build_kwargs or {})
        self.build_kwargs: dict[str, Any] = {}
        self.task: Task | None = None

    def set_task(self, task: Task, build_kwargs: dict[str, Any] | None = None) -> None:
        """Sets the task of the following builds."""
        self.task, self.build_kwargs = task, {**(build_kwargs or {}), **self.user_build_kwargs}

    def build(self, measure_inputs: Sequence[MeasureInput]) -> list[Any]:
        """The builds of configurations."""
        raise NotImplementedError(f"{type(self).__name__} has no method build")


class LocalBuilder(Builder):
    """Builds for this machine, in the process that measures."""

    def __init__(
        self, timeout: float = 10, n_parallel: int | None = None, build_kwargs: dict[str, Any] | None = None,
        build_func: Any = "default", do_fork: bool = False, runtime: Any = None,
    ):  # fmt: skip
        """timeout: the longest seconds of a schedule and its build.  n_parallel: the configurations of a batch, which
        are measured one after another.  Ignored are build_kwargs (limits of GPUs are known), do_fork and runtime.
        UnsupportedError for another `build_func` than "default"."""
        super().__init__(timeout, n_parallel, build_kwargs)
        if build_func != "default":
            raise UnsupportedError(f"LocalBuilder: build_func {build_func!r}, expected 'default': tvm.build builds")

    def build(self, measure_inputs: Sequence[MeasureInput]) -> list[Any]:
        """The limits of the builds, which `LocalRunner.run` does."""
        return [BuildResult(self.timeout, self.build_kwargs) for _ in measure_inputs]


class Runner:
    """A runner of builds: the base class of users' own."""

    def __init__(self, timeout: float = 5, n_parallel: int | None = None):
        self.timeout = timeout
        self.n_parallel = n_parallel or os.cpu_count() or 1
        self.task: Task | None = None

    def set_task(self, task: Task) -> Any:
        """Sets the task of the following runs."""
        self.task = task

    def get_build_kwargs(self) -> dict[str, Any]:
        """The options of builds, none."""
        return {}

    def run(self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[Any]) -> list[MeasureResult]:
        """The results of configurations."""
        raise NotImplementedError(f"{type(self).__name__} has no method run")


class LocalRunner(Runner):
    """Measures on this machine, by `tvm.meta_schedule.runner.LocalRunner`.

    ref_input: the arrays of the task, by default random.
    """

    def __init__(
        self, timeout: float = 10, number: int = 4, repeat: int = 3, min_repeat_ms: float = 0,
        cooldown_interval: float = 0, enable_cpu_cache_flush: bool = False, module_loader: Any = None,
        check_correctness: bool = False,
    ):  # fmt: skip
        """timeout: the longest seconds of a measurement without the build, as of the runner of `meta_schedule`.
        cooldown_interval: the seconds of sleep after a measurement, in TVM 0.1.  check_correctness: ignored, a
        schedule that would change results is an error.  UnsupportedError for a `module_loader`."""
        super().__init__(timeout, 1)
        if module_loader is not None:
            raise UnsupportedError("LocalRunner: module_loader, expected None: programs are not loaded from files")
        config = EvaluatorConfig(number, repeat, min_repeat_ms, enable_cpu_cache_flush)
        self._runner = meta_schedule.runner.LocalRunner(timeout, config, cooldown_interval)
        self.ref_input: Sequence[Any] | None = None

    def run(self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[Any]) -> list[MeasureResult]:
        """The results of configurations. OptionError for builds of another builder than `LocalBuilder`."""
        return [self._run(inp, build) for inp, build in zip(measure_inputs, build_results, strict=True)]

    def _run(self, inp: MeasureInput, build: Any) -> MeasureResult:
        if not isinstance(build, BuildResult):
            raise OptionError(f"LocalRunner: build {build!r}, expected those of LocalBuilder")
        start = time.perf_counter()
        measured = self._runner.measure(lambda: kernel_of(inp), inp.target, build.timeout, self.ref_input)
        return _result(measured, time.perf_counter() - start)


def kernel_of(inp: MeasureInput) -> Module:
    """The kernel of a configuration. InstantiationError for a configuration that its template excludes."""
    with inp.target:
        schedule, tensors = inp.task.instantiate(inp.config)
    if not inp.config.valid():
        raise InstantiationError(", ".join(inp.config.errors))
    return schedule if isinstance(schedule, Module) else scheduled_module(schedule, tensors)


def _result(measured: Measurement, seconds: float) -> MeasureResult:
    if not measured.error:
        return MeasureResult(measured.seconds, error_of(measured), seconds, time.time())
    costs = (measured.error, RuntimeError(measured.error))
    return MeasureResult(costs, error_of(measured), seconds, time.time())


def error_of(measured: Measurement) -> MeasureErrorNo:
    """The kind of the error of a measurement."""
    if not measured.error:
        return MeasureErrorNo.NO_ERROR
    error, timeout = _ERRORS[measured.phase]
    return timeout if measured.is_timeout else error


class RPCRunner(Runner):
    """A runner on another machine, which no tuner can use: UnsupportedError, programs run on this machine."""

    def __init__(self, key: str, host: str | None = None, port: int | None = None, *args: Any, **options: Any):
        super().__init__()
        self._place = f"{key!r} at {host}:{port}"

    def set_task(self, task: Task) -> NoReturn:
        raise UnsupportedError(
            f"RPCRunner {self._place}: programs run on this machine only, expected autotvm.LocalRunner"
        )


def request_remote(device_key: str, *args: Any, **options: Any) -> NoReturn:
    """Raises UnsupportedError: there are no other machines."""
    raise UnsupportedError(
        f"request_remote {device_key!r}: programs run on this machine only, expected tvm.cpu, tvm.cuda"
    )


def set_cuda_target_arch(arch: Any) -> None:
    """Nothing: kernels are compiled for the GPU of the machine, or for `-arch` of the target. arch: ignored."""


def measure_option(builder: Builder | str, runner: Runner | str) -> dict[str, Any]:
    """The builder and the runner of a tuner. "local": `LocalBuilder()`, `LocalRunner()`. OptionError for another
    text."""
    for name, value in (("builder", builder), ("runner", runner)):
        if isinstance(value, str) and value != "local":
            raise OptionError(f"measure_option: {name} {value!r}, expected 'local' or an object")
    return {
        "builder": LocalBuilder() if isinstance(builder, str) else builder,
        "runner": LocalRunner() if isinstance(runner, str) else runner,
    }


def create_measure_batch(task: Task, option: dict[str, Any]) -> Callable[[Sequence[MeasureInput]], list[MeasureResult]]:
    """A function that measures configurations of a task. option: of `measure_option`. Its `n_parallel` is the number of
    configurations of a batch."""
    builder, runner = option["builder"], option["runner"]
    attached = runner.set_task(task)
    builder.set_task(task, runner.get_build_kwargs())

    def measure_batch(measure_inputs: Sequence[MeasureInput]) -> list[MeasureResult]:
        return runner.run(measure_inputs, builder.build(measure_inputs))

    measure_batch.n_parallel = builder.n_parallel  # pyright: ignore[reportFunctionMemberAccess]
    measure_batch.attach_objects = attached  # pyright: ignore[reportFunctionMemberAccess]
    return measure_batch


__all__ = [
    "BuildResult", "Builder", "LocalBuilder", "LocalRunner", "MeasureErrorNo", "MeasureInput", "MeasureResult",
    "RPCRunner", "Runner", "create_measure_batch", "measure_option", "request_remote", "set_cuda_target_arch",
]  # fmt: skip
