"""Measurements that the benchmarks share: medians of calls in turn, and the description of the machine."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Call = Callable[[], Any]


def times_in_turn(calls: Sequence[Call], runs: int) -> list[list[float]]:
    """The seconds of each run of each call; the calls take turns, after one run each that does not count."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(runs):
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return times


def median_ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    """The median of the ratios of paired runs, the peer's time divided by ours: above 1 we are ahead."""
    return statistics.median(b / a for a, b in zip(ours, peer, strict=True))


def machine() -> str:
    """The processor, the system and the version of Python."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = f"{names[0]}, {os.cpu_count()} cores" if names else platform.processor()
    return f"{processor}, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
