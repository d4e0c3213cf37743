"""Work in a process of its own, whose crash or endless loop is a result."""

from __future__ import annotations

import faulthandler
import os
import pickle
import selectors
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, NoReturn, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The end of isolated work.

    kind: `value`, `error` for an exception, `crash` for a signal, `timeout`.  value: the result of work with a value.
    message: the description of any other end; of an exception with its class.
    """

    kind: Literal["value", "error", "crash", "timeout"]
    value: T | None = None
    message: str = ""


def run_isolated(work: Callable[[], T], seconds: float | None = None) -> Outcome[T]:
    """The outcome of `work` in a child process made by `os.fork`, which inherits the memory of this process.

    seconds: the time after which the child is killed.  The result is pickled. What the child prints is lost.
    """
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(read)
        _work_and_exit(work, write)
    os.close(write)
    try:
        data = _read_all(read, seconds)
    finally:
        os.close(read)
        if not _has_ended(child):
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if data is None:
        return Outcome("timeout", message=f"no end after {seconds:g} s")
    if not data:
        return Outcome("crash", message=_death(status))
    return pickle.loads(data)


def _work_and_exit(work: Callable[[], T], write: int) -> NoReturn:
    """Ends the child, whose exit handlers belong to the parent, after it has sent its outcome."""
    try:
        faulthandler.disable()  # whose report of a crash would be that of the parent
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            data = pickle.dumps(Outcome("value", work()))
        except Exception as error:
            data = pickle.dumps(Outcome[None]("error", message=f"{type(error).__name__}: {error}"))
        with os.fdopen(write, "wb") as stream:
            stream.write(data)
    finally:
        os._exit(0)


def _read_all(read: int, seconds: float | None) -> bytes | None:
    """The bytes that the child writes until its end; None if the time is over."""
    end = None if seconds is None else time.monotonic() + seconds
    parts: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(read, selectors.EVENT_READ)
        while selector.select(None if end is None else max(0.0, end - time.monotonic())):
            part = os.read(read, 1 << 16)
            if not part:
                return b"".join(parts)
            parts.append(part)
    return None


def _has_ended(child: int) -> bool:
    """Whether a child has ended, without the removal of its status."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _death(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"crash, {signal.Signals(os.WTERMSIG(status)).name}"
    return f"exit code {os.waitstatus_to_exitcode(status)} without a result"
