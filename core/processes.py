"""Work that several processes share, made by `os.fork`.

A child process has the memory of its parent, and of its threads only the one that forked. A lock that another thread
held stays locked in the child, so a process with several threads of Python makes no children. Threads of C libraries
hold no lock that the work needs: the allocator of the C library and LLVM (`backends/llvm/engine.py`) are ready for
forks.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Generic, NoReturn, Self, TypeAlias, TypeVar

T = TypeVar("T")
Work: TypeAlias = Callable[[Iterable[int]], Iterator[tuple[int, T]]]
"""The work on numbered items: takes the numbers of items, and yields each with its result, perhaps in another order."""

_NUMBER = 4
"""The bytes of a number in the queue. All reads have this size, so that each has one number."""
_GARBAGE = 1_000_000
"""The number of objects after which a child process searches for reference cycles: some 100 MB, which its end frees."""
MOST_ITEMS = 1024
"""The number of items whose numbers fit into the smallest buffer of a pipe, 4096 bytes."""


def can_fork() -> bool:
    """Whether this process can make children that work: on Linux, if its only thread of Python is the main thread."""
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
    is_alone = len(frames) == 1 and threading.current_thread() is threading.main_thread()
    return is_alone and hasattr(os, "fork") and hasattr(os, "memfd_create")


def shared_results(work: Work[T], order: Sequence[int], processes: int) -> list[T]:
    """The results of `work` on the items from 0, in order of their numbers, computed by up to `processes` processes.

    order: the numbers in the order in which processes take them.  The results of child processes are pickled. An item
    whose work fails in a process is repeated in this one, as are those of a process that dies, with a warning. So an
    error is that of the first item with an error, whichever process has found it.
    """
    results: dict[int, T] = {}
    if processes > 1 and can_fork():
        with _Children(work, order, processes - 1) as children:
            try:
                results.update(work(children.queue))
            except Exception:  # repeated below
                children.queue.clear()
            results.update(children.results())
    results.update(work([number for number in range(len(order)) if number not in results]))
    return [results[number] for number in range(len(order))]


class _Queue:
    """The numbers of the items that no process has taken yet, in a pipe; each process takes the next."""

    def __init__(self, numbers: Sequence[int]) -> None:
        assert len(numbers) <= MOST_ITEMS
        self._read, write = os.pipe()
        os.write(write, b"".join(number.to_bytes(_NUMBER, "little") for number in numbers))
        os.close(write)

    def __iter__(self) -> Iterator[int]:
        while taken := os.read(self._read, _NUMBER):
            yield int.from_bytes(taken, "little")

    def clear(self) -> None:
        """Takes all numbers."""
        for _ in self:
            pass

    def close(self) -> None:
        os.close(self._read)


class _Children(Generic[T]):
    """Child processes that work on the items of a queue, until the end of a `with` statement."""

    def __init__(self, work: Work[T], order: Sequence[int], count: int) -> None:
        self.queue = _Queue(order)
        self._files: list[IO[bytes]] = []
        self._alive: list[int] = []
        try:
            for _ in range(count):
                self._add(work)
        except OSError:
            pass  # the system has no room for more: fewer processes do the work
        except BaseException:
            self.__exit__()
            raise

    def _add(self, work: Work[T]) -> None:
        """Makes a child process. Signals wait until its handlers are its own, and until this process knows it."""
        file = open(os.memfd_create("stepwell"), "w+b")
        self._files.append(file)
        parent = os.getpid()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            process = _fork()
            if not process:
                _run_child(work, self.queue, file, parent, mask)
            self._alive.append(process)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def results(self) -> Iterator[tuple[int, T]]:
        """Waits for the end of the children, and yields the numbers and results of their items."""
        while self._alive:
            code = _wait(self._alive[-1])
            self._alive.pop()
            _report(code)
        for file in self._files:
            file.seek(0)
            try:
                while True:
                    yield pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                pass  # the end, perhaps within a result that the process could not complete

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the children that are left, after an exception."""
        for process in self._alive:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
            _wait(process)
        for each in (*self._files, self.queue):
            each.close()


def _fork() -> int:
    """Forks. Python warns of threads of C libraries, and some libraries warn of forks: the child uses none of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def _wait(process: int) -> int:
    """Waits for the end of a child process. Returns its exit code, negative for a signal; 0 if a handler of SIGCHLD has
    taken the code."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    except ChildProcessError:
        return 0


def _report(code: int) -> None:
    if code < 0:
        what = f"a process that compiles has ended by signal {-code}: this process does its work"
        warnings.warn(what, RuntimeWarning, stacklevel=2)


# In the child process


def _run_child(work: Work[T], queue: _Queue, file: IO[bytes], parent: int, mask: Iterable[int]) -> NoReturn:
    """Works on the items of a queue and writes the results to a file. The process ends at once: its buffers, exit
    handlers and the callers of this function are those of its parent."""
    code = 1
    try:
        _reset_signals()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        gc.freeze()  # the objects of the parent stay shared pages
        gc.set_threshold(_GARBAGE)
        for result in work(_while_parent_lives(queue, parent)):
            pickle.dump(result, file, pickle.HIGHEST_PROTOCOL)
            file.flush()
        code = 0
    except Exception:  # the parent repeats the item, whose error it raises
        queue.clear()
    finally:
        os._exit(code)


def _reset_signals() -> None:
    """Replaces the handlers of the parent. The parent decides what an interrupt ends."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _while_parent_lives(queue: Iterable[int], parent: int) -> Iterator[int]:
    for number in queue:
        if os.getppid() != parent:
            return
        yield number
