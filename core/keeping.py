"""Results that are kept with an object."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_numbers = count()
"""The numbers of the functions, which tell fields of functions of one name apart."""


def kept_with_argument(function: Callable[[T], R]) -> Callable[[T], R]:
    """Keeps the results of a function of an immutable object as a field of the object.

    For types and attributes: few objects stand for most of them, and their hash, which a cache by value computes in
    each call, takes longer than the function.
    """
    field = f"_{function.__name__}.{next(_numbers)}"

    @wraps(function)
    def kept(argument: T) -> R:
        try:
            return argument.__dict__[field]
        except KeyError:
            result = argument.__dict__[field] = function(argument)
            return result

    return kept
