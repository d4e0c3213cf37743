"""Measurements of kernels: `tvm.meta_schedule.runner`."""

from __future__ import annotations

import mmap
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype, parse_dtype
from ....core.errors import OptionError, StepwellError
from ....core.isolation import Outcome, run_isolated
from ....core.processes import can_fork
from ....expressions.axes import reduce_axis
from ....expressions.functions import sum
from ....expressions.tensor import compute, placeholder
from ....module import Module
from ...te import create_schedule
from .. import driver
from ..absent import report_absent
from ..devices import device, is_gpu_emulated
from ..ir.module import PrimFunc
from ..nd import NDArray, array
from ..runtime import load_module
from ..target.target import Target
from .arg_info import ArgInfo, TensorInfo

__getattr__ = report_absent("tvm.meta_schedule.runner")


@dataclass(frozen=True)
class EvaluatorConfig:
    """The numbers of a measurement, as of `time_evaluator`. enable_cpu_cache_flush: whether other memory is written
    before each repetition."""

    number: int = 3
    repeat: int = 1
    min_repeat_ms: float = 20
    enable_cpu_cache_flush: bool = False


class Phase(IntEnum):
    """The steps of a measurement."""

    SCHEDULE = 0
    BUILD = 1
    RUN = 2


@dataclass(frozen=True)
class Measurement:
    """The end of a measurement.

    seconds: of each repetition, empty after an error.  phase: the last step.  error: the message of the error of that
    step.  is_timeout: whether the step took too long.
    """

    seconds: tuple[float, ...] = ()
    phase: Phase = Phase.RUN
    error: str = ""
    is_timeout: bool = False


@dataclass(frozen=True)
class RunnerInput:
    """A built kernel to run. artifact_path: its file.  device_type: the kind of its target.  args_info: of its
    parameters."""

    artifact_path: str
    device_type: str
    args_info: Sequence[TensorInfo]


@dataclass(frozen=True)
class RunnerResult:
    """The end of a run. run_secs: the seconds of each repetition, None after an error.  error_msg: the error."""

    run_secs: Sequence[float] | None
    error_msg: str | None


@dataclass(frozen=True)
class RunnerFuture:
    """The future of a finished measurement."""

    ended: RunnerResult

    def done(self) -> bool:
        """Whether the run has ended: always."""
        return True

    def result(self) -> RunnerResult:
        """The end of the run."""
        return self.ended


class PyRunnerFuture:
    """The base class of futures of users."""

    def done(self) -> bool:
        """Whether the run has ended."""
        raise NotImplementedError(f"{type(self).__name__} has no method done")

    def result(self) -> RunnerResult:
        """The end of the run, which the call waits for."""
        raise NotImplementedError(f"{type(self).__name__} has no method result")


class Runner:
    """The base class of runners."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> Sequence[RunnerFuture | PyRunnerFuture]:
        """Runs built kernels on random arrays."""
        raise NotImplementedError(f"{type(self).__name__} has no method run")

    @staticmethod
    def create(kind: Any = "local", *args: Any, **named: Any) -> Runner:
        """A runner in any accepted form: itself, or "local", with the arguments of `LocalRunner` and `max_workers`,
        which is ignored. OptionError for another value, such as a remote machine."""
        named.pop("max_workers", None)
        if isinstance(kind, Runner):
            return kind
        if kind == "local":
            return LocalRunner(*args, **named)
        raise OptionError(f"runner {kind!r}, expected 'local' or a Runner: programs run on this machine")


@dataclass(frozen=True)
class LocalRunner(Runner):
    """Measures kernels on this machine.

    timeout_sec: the longest time of a measurement without the build. It holds where a child process measures: on Linux,
    in a process with one thread of Python, for processors and the emulated GPU; a kernel on a GPU runs to its end.
    cooldown_sec: the sleep after a measurement of `measure`.
    """

    timeout_sec: float = 30.0
    evaluator_config: EvaluatorConfig = field(default_factory=EvaluatorConfig)
    cooldown_sec: float = 0.0

    def _prepare(self, mod: Module, target: Target, inputs: Sequence[Any] | None = None) -> Callable[[], list[float]]:
        """The measurement of a kernel, which is built here. inputs: as of `measure`. UnsupportedError for a parameter
        of unknown size; DeviceError without the device of the target."""
        (func,) = (each for each in mod.items() if isinstance(each[1], PrimFunc))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
        dev = device(target.kind.name)
        params = ArgInfo.from_prim_func(func[1])  # pyright: ignore[reportUnknownArgumentType]
        built = driver.build(mod, target=target)
        config = self.evaluator_config
        evaluator = built.time_evaluator(
            built.entry_name, dev, config.number, config.repeat, min_repeat_ms=config.min_repeat_ms,
            cache_flush_bytes=_CACHE_BYTES if config.enable_cpu_cache_flush else 0,
        )  # fmt: skip

        def run() -> list[float]:
            rng = np.random.default_rng(0)
            given = [None] * len(params) if inputs is None else inputs
            arrays = [
                _random_array(p, rng, dev) if x is None else array(x, dev) for p, x in zip(params, given, strict=True)
            ]
            return list(evaluator(*arrays).results)

        return run

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        return [RunnerFuture(self._run(each)) for each in runner_inputs]

    def _run(self, request: RunnerInput) -> RunnerResult:
        """The run of a built kernel; an error is part of the result."""
        config, rng = self.evaluator_config, np.random.default_rng(0)
        try:
            dev = device(request.device_type)
            arrays = [_random_array(info, rng, dev) for info in request.args_info]
            built: Any = load_module(request.artifact_path)
            evaluator = built.time_evaluator(
                built.entry_name, dev, config.number, config.repeat, min_repeat_ms=config.min_repeat_ms
            )
            return RunnerResult(tuple(evaluator(*arrays).results), None)
        except StepwellError as error:
            return RunnerResult(None, f"{type(error).__name__}: {error}")

    def measure(
        self,
        draw: Callable[[], Module],
        target: Target,
        build_seconds: float,
        inputs: Sequence[Any] | None = None,
    ) -> Measurement:
        """Measures the kernel that `draw` returns; an error of a step is part of the result.

        build_seconds: the longest time of the schedule and the build.  inputs: the arrays, None for an array that is
        random; by default all of them.  A child process works where that is possible, so that a crash and a kernel
        without an end are errors, too; what it prints is lost.
        """
        with mmap.mmap(-1, 1) as phase:

            def work() -> list[float]:
                mod = draw()
                phase[0] = Phase.BUILD
                run = self._prepare(mod, target, inputs)
                phase[0] = Phase.RUN
                if is_isolated:
                    _limit(self.timeout_sec)
                return run()

            is_isolated = can_fork() and (target.kind.name != "cuda" or is_gpu_emulated())
            if is_isolated:
                _import_compiler(target)
                outcome = run_isolated(lambda: _limited(work, build_seconds))
            else:
                outcome = _outcome(work)
            step = Phase(phase[0])
        time.sleep(self.cooldown_sec)
        if outcome.kind == "value":
            return Measurement(tuple(outcome.value or ()), step)
        is_timeout = outcome.kind == "crash" and outcome.message.endswith("SIGALRM")
        limit = self.timeout_sec if step == Phase.RUN else build_seconds
        return Measurement((), step, f"no end after {limit:g} s" if is_timeout else outcome.message, is_timeout)


@cache
def _import_compiler(target: Target) -> None:
    """Imports what a build for a target needs, by the build of a small kernel, so that child processes need not."""
    k, a = reduce_axis((0, 4), "k"), placeholder((4, 4), name="a")
    b = compute((4,), lambda i: sum(a[i, k], k), name="b")
    schedule = create_schedule(b.op)
    outer, inner = schedule[b].split(b.op.axis[0], 2)
    schedule[b].reorder(outer, k, inner)
    with suppress(StepwellError):  # an error of the target is that of a measurement
        driver.build(schedule, [a, b], target)


_CACHE_BYTES = 1 << 26
"""The memory that is written to empty the caches of a processor."""


def _outcome(work: Callable[[], list[float]]) -> Outcome[list[float]]:
    """The outcome of work in this process."""
    try:
        return Outcome("value", work())
    except Exception as error:
        return Outcome("error", message=f"{type(error).__name__}: {error}")


def _limited(work: Callable[[], list[float]], seconds: float) -> list[float]:
    """Work in a child process whose first step has a limit."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _limit(seconds)
    return work()


def _limit(seconds: float) -> None:
    """Ends this process by SIGALRM after some seconds."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


PyRunner = Runner
"""The base class of runners of users."""


def _random_array(info: TensorInfo, rng: np.random.Generator, dev: Any) -> NDArray:
    if parse_dtype(info.dtype).is_float:
        return array(rng.standard_normal(info.shape).astype(numpy_dtype(info.dtype)), dev)
    return array(rng.integers(0, 2, info.shape).astype(numpy_dtype(info.dtype)), dev)


__all__ = [
    "EvaluatorConfig", "LocalRunner", "Measurement", "Phase", "PyRunner", "PyRunnerFuture", "Runner", "RunnerFuture",
    "RunnerInput", "RunnerResult",
]  # fmt: skip
