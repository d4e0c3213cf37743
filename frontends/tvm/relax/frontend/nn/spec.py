"""The types of the arguments of exported methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tensor:
    """A tensor argument. shape: numbers, and names of dynamic sizes."""

    shape: Sequence[Any]
    dtype: str = "float32"


@dataclass(frozen=True)
class Int:
    """An integer argument, which the caller passes as a shape of one size."""


@dataclass(frozen=True)
class Object:
    """An argument of any other type. object_type: the class of `nn` that the method receives."""

    object_type: type


class Tuple:
    """A tuple of arguments. elements: their types."""

    def __init__(self, *elements: Any, name: str = ""):
        single = len(elements) == 1 and isinstance(elements[0], list | tuple)
        self.elements: list[Any] = list(elements[0] if single else elements)
        self.name = name


@dataclass(frozen=True)
class ModuleSpec:
    """The types of the arguments of several methods. raw: by the name of the method.  module: that has the methods."""

    raw: Mapping[str, Mapping[str, Any]]
    module: Any

    @staticmethod
    def from_raw(spec: Mapping[str, Mapping[str, Any]], module: Any) -> ModuleSpec:
        """The types of a dictionary."""
        return ModuleSpec(spec, module)


__all__ = ["Int", "ModuleSpec", "Object", "Tensor", "Tuple"]
