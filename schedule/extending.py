"""Primitives of other packages: functions of a schedule, which compose primitives or record an op of the package."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from ..dialects.extensions import load_registrations

if TYPE_CHECKING:
    from .schedule import Schedule

PrimitiveT = TypeVar("PrimitiveT", bound=Callable[..., Any])

_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def primitive(function: PrimitiveT) -> PrimitiveT:
    """Registers a function of a schedule, and of further arguments, as the primitive of its name.

        @primitive
        def tile(sch: Schedule, block: BlockRV, *factors: int) -> list[LoopRV]: ...

    `sch.tile(block, 4, 8)` calls it. Its changes are undone if it raises. ValueError for the name of an attribute of
    every schedule, and for a registered name.
    """
    # lazy: a schedule looks primitives up in this module
    from .schedule import Schedule

    name = function.__name__
    if name in _FUNCTIONS or hasattr(Schedule, name):
        raise ValueError(f"schedule primitive {name} is defined twice")
    _FUNCTIONS[name] = function
    return function


def primitive_names() -> list[str]:
    """The sorted names of the primitives of other packages."""
    load_registrations("primitives")
    return sorted(_FUNCTIONS)


def bound_primitive(sch: Schedule, name: str) -> Callable[..., Any] | None:
    """A primitive of another package on a schedule, or None."""
    load_registrations("primitives")
    function = _FUNCTIONS.get(name)
    if function is None:
        return None

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with sch.attempt():
            return function(sch, *args, **kwargs)

    return call
