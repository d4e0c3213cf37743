"""Objects that a process has once, whichever thread needs them first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def once(function: Callable[P, R]) -> Callable[P, R]:
    """Calls a function once for each combination of arguments, which must be hashable.

    Threads that call `functools.cache` at the same time may get objects of their own, all but one of which are freed
    with their last reference. `once` is for objects whose address or identity outlives the call.
    """
    known, lock = cache(function), threading.RLock()

    @wraps(function)
    def locked(*args: P.args, **kwargs: P.kwargs) -> R:
        with lock:
            return known(*args, **kwargs)  # pyright: ignore[reportCallIssue, reportArgumentType]

    return locked
