"""Progress of long commands: a status line on a terminal, and the duration of each phase."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class Phases:
    """Reports successive phases on stderr; with the package `rich` and a terminal, also the current activity.

    seconds: the durations of the phases, by name.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._name = ""
        self._since = 0.0
        self._status = _status()

    @contextmanager
    def show_status(self) -> Generator[Phases, None, None]:
        """Ends the last phase, and stops the status line, at the end of the block."""
        try:
            yield self
            self._end()
        finally:
            if self._status is not None:
                self._status.stop()

    def begin(self, name: str) -> None:
        """Ends the current phase and begins the next phase."""
        self._end()
        self._name, self._since = name, time.perf_counter()
        self.show_activity("")

    def show_activity(self, what: str) -> None:
        """Shows the current activity of the phase."""
        if self._status is not None:
            self._status.update(f"{self._name}  {what}")
            self._status.start()

    def show(self, text: str) -> None:
        """Prints text on stdout."""
        if self._status is not None:
            self._status.stop()
        print(text, flush=True)

    def _end(self) -> None:
        if not self._name:
            return
        duration = time.perf_counter() - self._since
        self.seconds[self._name] = duration
        if self._status is not None:
            self._status.stop()
        print(f"{self._name:10}{duration:8.2f} s", file=sys.stderr, flush=True)
        self._name = ""


def _status() -> Any:
    """The status line; None without a terminal or `rich`."""
    if not sys.stderr.isatty():
        return None
    try:
        # lazy: an optional dependency
        from rich.console import Console
    except ImportError:
        return None
    return Console(stderr=True).status("")
