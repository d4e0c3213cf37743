"""Attributes of functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from xdsl.ir import Attribute

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

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self.data:
            raise AttributeError(f"no attribute {name!r}")
        return self[name]
