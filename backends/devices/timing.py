"""Measuring the run time of compiled functions."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

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


def device_clock(device: Device, context: Context | None = None) -> Clock:
    """The clock for functions that submit work to a device: the device time between events before and after the
    calls. context: of the work, by default that of the calling thread.
    """

    def clock(run: Callable[[], Any], number: int) -> float:
        stream = device.current_stream
        with stream.make_current(context):
            start = stream.record()
            for _ in range(number):
                run()
            return stream.record().seconds_since(start)

    return clock


def measure(run: Callable[[], Any], clock: Clock, number: int, repeat: int, min_repeat_ms: float) -> BenchmarkResult:
    """Runs once, then `repeat` times `number` times; raises `number` until `number` runs take `min_repeat_ms`.

    Raises OptionError for numbers that are not positive.
    """
    if number < 1 or repeat < 1 or min_repeat_ms < 0:
        raise OptionError(f"number {number}, repeat {repeat}, min_repeat_ms {min_repeat_ms}: expected positive numbers")
    clock(run, 1)
    results: list[float] = []
    while len(results) < repeat:
        seconds = clock(run, number)
        if seconds * 1000 >= min_repeat_ms:
            results.append(seconds / number)
            continue
        wanted = number * min_repeat_ms / 1000 / seconds if seconds > 0 else 0.0
        number = max(math.ceil(wanted * 1.1), number * 2)
    return BenchmarkResult(tuple(results))
