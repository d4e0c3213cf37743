"""What a long command is doing: a line that changes on a terminal, and how long each phase took."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class Phases:
    """Shows phases on stderr, one after the other. With the package `rich` and a terminal, what goes on is shown too.

    seconds: of each phase that has begun, by name.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._name = ""
        self._since = 0.0
        self._status = _status()

    @contextmanager
    def shown(self) -> Generator[Phases, None, None]:
        """Phases that begin inside are shown, the last one until the end."""
        try:
            yield self
            self._end()
        finally:
            if self._status is not None:
                self._status.stop()

    def begin(self, name: str) -> None:
        """The phase before is over, and this one begins."""
        self._end()
        self._name, self._since = name, time.perf_counter()
        self.say("")

    def say(self, what: str) -> None:
        """What is done within the phase."""
        if self._status is not None:
            self._status.update(f"{self._name}  {what}")
            self._status.start()

    def show(self, text: str) -> None:
        """Print on stdout."""
        if self._status is not None:
            self._status.stop()
        print(text, flush=True)

    def _end(self) -> None:
        if not self._name:
            return
        taken = time.perf_counter() - self._since
        self.seconds[self._name] = taken
        if self._status is not None:
            self._status.stop()
        print(f"{self._name:10}{taken:8.2f} s", file=sys.stderr, flush=True)
        self._name = ""


def _status() -> Any:
    """A line that changes; None where there is no terminal, or no `rich`."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(stderr=True).status("")
