"""Measuring the run time of compiled functions."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from ...core.errors import OptionError
from .device import Device
from .driver import Context

Clock: TypeAlias = Callable[[Callable[[], Any], int], float]
"""Calls a function a number of times; returns the total seconds."""


@dataclass(frozen=True)
class BenchmarkResult:
    """The seconds per run, measured several times."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        return min(self.results)

    @property
    def max(self) -> float:
        return max(self.results)

    @property
    def std(self) -> float:
        return statistics.pstdev(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        head = " ".join(f"{f'{name} (ms)':>12}" for name in names)
        return f"{head}\n{' '.join(f'{getattr(self, name) * 1e3:12.4f}' for name in names)}"


def host_clock(run: Callable[[], Any], number: int) -> float:
    """The clock for synchronous functions."""
    start = time.perf_counter()
    for _ in range(number):
        run()
    return time.perf_counter() - start


@dataclass(frozen=True)
class DeviceClock:
    """The clock for functions that submit work to a device: the device time between events before and after the
    calls. context: of the work, by default that of the calling thread.
    """

    device: Device
    context: Context | None = None

    def __call__(self, run: Callable[[], Any], number: int) -> float:
        stream = self.device.current_stream
        with stream.make_current(self.context):
            start = stream.record()
            for _ in range(number):
                run()
            return stream.record().seconds_since(start)


EMULATED_SECONDS = 1.0
"""The seconds of calls on the emulated GPU after which a measurement ends. Its times say nothing about a GPU, and
programs ask for hundreds of calls, which a GPU makes in a second."""


def _longest(clock: Clock) -> float:
    """The seconds of calls after which a measurement with a clock ends."""
    is_emulated = isinstance(clock, DeviceClock) and clock.device.kind == "cuda_emulated"
    return EMULATED_SECONDS if is_emulated else math.inf


@dataclass(frozen=True)
class Repetition:
    """The numbers of calls of a measurement, with the names of TVM's `time_evaluator`.

    number: calls in each repetition, at least.  repeat: repetitions, whose means are the results.  min_repeat_ms: the
    least milliseconds of a repetition: `number` grows until they have passed.  limit_zero_time_iterations: the tries
    of which the clock sees no time, at most.  cooldown_interval_ms: the milliseconds of sleep after each
    `repeats_to_cooldown` repetitions.  cache_flush_bytes: the bytes of other memory written before each repetition.

    Raises OptionError for numbers that are not positive.
    """

    number: int = 10
    repeat: int = 1
    min_repeat_ms: float = 0.0
    limit_zero_time_iterations: int = 100
    cooldown_interval_ms: float = 0.0
    repeats_to_cooldown: int = 1
    cache_flush_bytes: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), 1 if field.name in _POSITIVE else 0
            if not value >= least:
                raise OptionError(f"{field.name}: {value}, expected a number of at least {least}")

    @property
    def is_plain(self) -> bool:
        """Whether each repetition is one call, without conditions."""
        return self == Repetition(number=1, repeat=self.repeat)

    def measure(self, run: Callable[[], Any], clock: Clock) -> BenchmarkResult:
        """Runs once, then `repeat` times at least `number` times. Raises the errors of `run`.

        On the emulated GPU, the calls end after `EMULATED_SECONDS`, those of the first run among them: repetitions have
        fewer calls, and those without calls the result of the last before them.
        """
        left = _longest(clock)
        first = clock(run, 1)
        left -= first
        results: list[float] = []
        number, zeros = self.number, 0
        while len(results) < self.repeat:
            if left < first * number:
                if left < first:
                    last = results[-1] if results else first
                    return BenchmarkResult((*results, *[last] * (self.repeat - len(results))))
                number = int(left / first)
            if self.cache_flush_bytes:
                _write(self.cache_flush_bytes)
            seconds = clock(run, number)
            left -= seconds
            zeros += seconds <= 0
            if seconds * 1000 < self.min_repeat_ms and zeros < self.limit_zero_time_iterations:
                wanted = number * self.min_repeat_ms / 1000 / seconds if seconds > 0 else 0.0
                number = max(math.ceil(wanted * 1.1), number * 2)
                continue
            results.append(seconds / number)
            if self.cooldown_interval_ms and len(results) % self.repeats_to_cooldown == 0:
                time.sleep(self.cooldown_interval_ms / 1000)
        return BenchmarkResult(tuple(results))


_POSITIVE = ("number", "repeat", "repeats_to_cooldown")


def _write(count: int) -> None:
    """Writes a number of bytes, and thereby replaces the contents of caches."""
    np.empty(count, np.uint8).fill(1)
