"""The progress of work of an estimated duration, on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

_PATIENCE = 1.0
"""The seconds before the first line."""


@contextmanager
def show_progress(name: str, estimate: float) -> Generator[None]:
    """Shows the elapsed time of the body and an estimate of its duration, in seconds, in one line of a terminal on
    stderr; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield
        return
    end, start = threading.Event(), time.monotonic()

    def show() -> None:
        while not end.wait(_PATIENCE):
            sys.stderr.write(f"\r{name}: {time.monotonic() - start:.0f} s of some {max(estimate, 1):.0f} s ")
            sys.stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
