"""Names of parameters since v0.26, whose types of values are no longer called struct info."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ....core.errors import ArgumentError

F = TypeVar("F", bound=Callable[..., Any])

_NAMES = {"out_ty": "out_sinfo", "ty_args": "sinfo_args", "ret_ty": "ret_struct_info"}


def accept_newer_names(function: F) -> F:
    """Decorates a function whose parameters may have the names `out_ty`, `ty_args` and `ret_ty`. ArgumentError for a
    parameter with both of its names."""

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        for new, old in _NAMES.items():
            if new in named:
                if old in named:
                    raise ArgumentError(f"{function.__name__}: {new} and {old}, expected one of both")
                named[old] = named.pop(new)
        return function(*args, **named)

    return call  # pyright: ignore[reportReturnType]


__all__ = ["accept_newer_names"]
