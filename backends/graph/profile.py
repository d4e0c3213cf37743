"""The run times of the kernels of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...core.tables import text_table


@dataclass(frozen=True)
class KernelTime:
    """The run time of one kernel of a graph. seconds: the median of all runs.  results: the seconds of each run."""

    kernel: str
    seconds: float
    shape: tuple[int, ...]
    results: tuple[float, ...] = ()


@dataclass(frozen=True)
class KernelSum:
    """The calls of a kernel in one run of a graph. seconds: of all calls together.  shape: of the first result of the
    first call."""

    kernel: str
    calls: int
    seconds: float
    shape: tuple[int, ...]


@dataclass(frozen=True)
class KernelRun:
    """A call of a kernel that has ended, as hooks receive it.

    index: of the call in the run.  inputs, outputs: the arrays that the kernel has read and written, in the memory of
    the graph: the next kernels overwrite them.  seconds: the time of the call.
    """

    kernel: str
    index: int
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    seconds: float


class Profile(list[KernelTime]):
    """The run time of each kernel call of a graph, in order; as text, the table of `table`."""

    def __init__(self, times: Iterable[KernelTime], threads: int) -> None:
        """threads: the number of threads that executed parallel loops."""
        super().__init__(times)
        self.threads = threads

    @property
    def seconds(self) -> float:
        """The sum of the times of all calls."""
        return sum(each.seconds for each in self)

    def sums(self) -> list[KernelSum]:
        """The calls and seconds of each kernel, in the order of the first calls."""
        sums: dict[str, KernelSum] = {}
        for each in self:
            before = sums.get(each.kernel, KernelSum(each.kernel, 0, 0.0, each.shape))
            seconds = before.seconds + each.seconds
            sums[each.kernel] = KernelSum(each.kernel, before.calls + 1, seconds, before.shape)
        return list(sums.values())

    def table(self, *others: Profile) -> str:
        """A row for each kernel: its calls in a run, its share of the time, its microseconds in this profile and in
        others of the same graph, and the shape of its first result."""
        profiles = (self, *others)
        seconds = [{each.kernel: each.seconds for each in profile.sums()} for profile in profiles]
        whole = self.seconds or 1.0
        rows = [
            ["kernel", "calls", "share", *(f"us, {thread_count(profile.threads)}" for profile in profiles), "shape"]
        ]
        for each in self.sums():
            times = [f"{by_kernel.get(each.kernel, 0.0) * 1e6:.1f}" for by_kernel in seconds]
            shape = "x".join(map(str, each.shape)) or "scalar"
            rows.append([each.kernel, str(each.calls), f"{each.seconds / whole:.1%}", *times, shape])
        totals = [f"{profile.seconds * 1e6:.1f}" for profile in profiles]
        rows.append(["all", str(len(self)), "100.0%", *totals, ""])
        return text_table(rows)

    def __str__(self) -> str:
        return self.table()


def thread_count(threads: int) -> str:
    """A number of threads as text."""
    return "1 thread" if threads == 1 else f"{threads} threads"
