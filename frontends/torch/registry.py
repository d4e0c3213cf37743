"""The registry of importers, the functions that import operators of ATen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from .call import Call

Importer: TypeAlias = "Callable[[Call], Any]"
F = TypeVar("F", bound=Callable[..., Any])

IMPORTERS: dict[str, Importer] = {}
"""The importer of each operator, by its name with the overload: `aten.add.Tensor`."""


def aten(*names: str) -> Callable[[F], F]:
    """Registers the decorated function as the importer of operators of ATen. names: with overloads, `add.Tensor`."""

    def register(function: F) -> F:
        for name in names:
            if f"aten.{name}" in IMPORTERS:
                raise ValueError(f"importer of aten.{name} is defined twice")
            IMPORTERS[f"aten.{name}"] = function
        return function

    return register
