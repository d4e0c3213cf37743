"""Results that are kept by the identity of an object."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def cache_by_identity(maxsize: int) -> Callable[[Callable[[T], R]], Callable[[T], R]]:
    """Keeps the results of a function of an immutable object, for at most `maxsize` objects, which stay alive; a
    further object drops all others.

    For types and attributes: few objects stand for most of them, and their hash, which a cache by value computes in
    each call, takes longer than the function.
    """

    def decorate(function: Callable[[T], R]) -> Callable[[T], R]:
        known: dict[int, tuple[T, R]] = {}

        @wraps(function)
        def cached(argument: T) -> R:
            entry = known.get(id(argument))
            if entry is None:
                entry = argument, function(argument)
                if len(known) >= maxsize:
                    known.clear()
                known[id(argument)] = entry
            return entry[1]

        return cached

    return decorate
