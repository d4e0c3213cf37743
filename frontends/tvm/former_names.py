"""Arguments under the names that they had in earlier versions of TVM."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

R = TypeVar("R")


def former_names(**names: str | tuple[str, ...]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """The decorator of a function that accepts keywords under earlier names, too. names: those by the name today.

    An argument under both names is a TypeError, as for a keyword that is given twice.
    """
    current = {old: new for new, olds in names.items() for old in ([olds] if isinstance(olds, str) else olds)}

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @wraps(function)
        def call(*args: Any, **named: Any) -> R:
            if current.keys() & named.keys():
                given: Any = {}
                for name, value in named.items():
                    today = current.get(name, name)
                    if today in given or (today != name and today in named):
                        raise TypeError(f"{function.__name__}() got multiple values for argument {today!r}")
                    given[today] = value
                return function(*args, **given)
            return function(*args, **named)

        return call

    return decorate
