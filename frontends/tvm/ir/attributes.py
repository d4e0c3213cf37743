"""Attributes of functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute

from ....core.arrays import plain_array
from ....dialects.tir.annotations import annotation_value
from ..nd import HostArray
from ..nodes.attributes import python_value


class Attributes(Mapping[str, Any]):
    """The attributes of a function as values of Python: `attrs["global_symbol"]`, `attrs.global_symbol`.

    data: the attributes by name.
    """

    def __init__(self, data: Mapping[str, Attribute]):
        self.data = dict(data)

    def __getitem__(self, name: str) -> Any:
        return python_value(self.data[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self.data:
            raise AttributeError(f"no attribute {name!r}")
        return self[name]


_ARRAYS = "arrays"
"""The key of the names of arrays in the attribute of a module that is a list of arrays."""


class ModuleAttributes(Attributes):
    """The attributes of a module. constants: its arrays."""

    def __init__(self, data: Mapping[str, Attribute], constants: Mapping[str, Any]):
        super().__init__(data)
        self._constants = constants

    def __getitem__(self, name: str) -> Any:
        attribute = self.data[name]
        if isinstance(attribute, DictionaryAttr) and _ARRAYS in attribute.data:
            return [HostArray(self._constants[each]) for each in python_value(attribute.data[_ARRAYS])]
        return super().__getitem__(name)


def write_attribute(name: str, value: Any, constants: dict[str, Any]) -> Attribute:
    """The attribute of a module for a value. constants: gets the arrays of a list of arrays."""
    if not isinstance(value, list | tuple) or not value or not all(hasattr(each, "numpy") for each in value):
        return annotation_value(value)
    names = [f"{name}.{n}" for n in range(len(value))]
    constants.update((key, plain_array(each)) for key, each in zip(names, value, strict=True))
    return annotation_value({_ARRAYS: names})
