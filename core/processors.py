"""The processors that this process may use, and the number of threads of parallel loops."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from .errors import OptionError

VARIABLE = "STEPWELL_NUM_THREADS"
"""The environment variable with the number of threads at the start of the process."""
JOBS_VARIABLE = "STEPWELL_COMPILE_JOBS"
"""The environment variable with the number of processes that compile the functions of a program."""
MOST_THREADS = 512

_CGROUP = Path("/sys/fs/cgroup")


def available_processors() -> int:
    """The number of processors that this process may use, by its affinity and by the quota of its control group."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(count, MOST_THREADS, _quota(_CGROUP)))


def _quota(folder: Path) -> int:
    """The number of processors whose time a control group may use, rounded up; a large number without a limit."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((folder / name).read_text() for name in names).split()
            if quota not in ("max", "-1"):
                return math.ceil(int(quota) / int(period))
        except (OSError, ValueError, ZeroDivisionError):
            continue
    return MOST_THREADS


class _Threads:
    """The number of threads of parallel loops, and the functions that receive each new number."""

    def __init__(self, count: int) -> None:
        self.receivers: list[Callable[[int], object]] = []
        self._lock = threading.RLock()  # the handler of a signal may set the number meanwhile
        self._base = [count]
        self._blocks: list[list[int]] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        """Replaces the lock, which a thread may hold that a child process lacks."""
        self._lock = threading.RLock()

    @property
    def count(self) -> int:
        """The number of the block that began last, of those that have not ended."""
        return (self._blocks[-1] if self._blocks else self._base)[0]

    def set(self, count: int) -> None:
        """Sets the number until the end of the block that began last."""
        with self._lock:
            (self._blocks[-1] if self._blocks else self._base)[0] = count
            self._announce()

    def begin(self, count: int) -> list[int]:
        """Begins a block. Blocks of several threads may end in any order."""
        block = [count]
        with self._lock:
            self._blocks.append(block)
            self._announce()
        return block

    def end(self, block: list[int]) -> None:
        """Ends a block, so that the number of an earlier one counts again."""
        with self._lock:
            self._blocks = [each for each in self._blocks if each is not block]
            self._announce()

    def _announce(self) -> None:
        for receive in self.receivers:
            receive(self.count)


@cache
def _threads() -> _Threads:
    return _Threads(_variable(VARIABLE, "threads"))


def compile_jobs() -> int:
    """The number of processes that compile the functions of a program, this one included.

    The value of `STEPWELL_COMPILE_JOBS`, by default the number of processors that the process may use. Raises
    OptionError if the variable has another value.
    """
    return _variable(JOBS_VARIABLE, "processes")


def _variable(name: str, what: str) -> int:
    """The number in an environment variable, by default the number of processors. what: the counted things."""
    value = os.environ.get(name, "").strip()
    if not value:
        return available_processors()
    try:
        count = int(value)
    except ValueError:
        raise OptionError(f"{name} is {value!r}, expected a number of {what}") from None
    return _checked(count, name, what)


def _checked(count: int, where: str, what: str = "threads") -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_THREADS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"{where}: expected a number of {what}, from 1 to {MOST_THREADS}, got {count!r}")
    return count


def get_num_threads() -> int:
    """The number of threads that execute a parallel loop, the calling thread included.

    At first `STEPWELL_NUM_THREADS`, by default the number of processors that the process may use. Raises OptionError if
    the variable has another value.
    """
    return _threads().count


def set_num_threads(count: int) -> None:
    """Sets the number of threads that execute a parallel loop, in all threads of this process. Raises OptionError for a
    number below 1 or above 512."""
    _threads().set(_checked(count, "set_num_threads"))


@contextmanager
def threads(count: int) -> Generator[None]:
    """Executes parallel loops by `count` threads in a `with` block, in all threads of this process. Of the blocks of
    several threads the one counts that began last. Raises OptionError for a number below 1 or above 512."""
    block = _threads().begin(_checked(count, "threads"))
    try:
        yield
    finally:
        _threads().end(block)


def on_thread_count(receive: Callable[[int], object]) -> None:
    """Calls a function with the number of threads, now and after each change."""
    receive(get_num_threads())
    _threads().receivers.append(receive)
