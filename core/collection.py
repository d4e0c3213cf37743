"""The collection of reference cycles during compilation."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

RARELY = 200_000
"""The number of objects, allocated and not freed, after which cycles are searched during a compilation."""

_lock = threading.Lock()
_users = 0
_threshold = (0, 0, 0)


@contextmanager
def rare_collection() -> Generator[None]:
    """Lets Python search for reference cycles after `RARELY` objects, until the last of nested or concurrent uses ends.

    The ops of a module refer to each other: a compilation allocates mostly cycles, and would spend a sixth of its time
    searching for those that are not used any more.
    """
    global _users, _threshold
    with _lock:
        if _users == 0:
            _threshold = gc.get_threshold()
            if 0 < _threshold[0] < RARELY:  # 0: the caller collects
                gc.set_threshold(RARELY, *_threshold[1:])
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                gc.set_threshold(*_threshold)
