"""Limits of the time and the memory of a check."""

from __future__ import annotations

import resource
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

MOST_SECONDS = 30
MOST_MEMORY = 2 * 2**30
"""The maximum growth of the resident memory, in bytes."""


@contextmanager
def limits() -> Generator[None]:
    """Fails code that takes too much time or memory."""

    def interrupt(*_: Any) -> None:
        raise TimeoutError(f"expected an end within {MOST_SECONDS} seconds")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    saved = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, saved)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MOST_MEMORY
