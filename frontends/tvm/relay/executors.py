"""The executors and the runtimes that `relay.build` takes by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....core.errors import OptionError


class _Choice:
    NAMES: tuple[str, ...] = ()

    def __init__(self, name: str, options: Mapping[str, Any] | None = None):
        if name not in self.NAMES:
            raise OptionError(f"{type(self).__name__} {name!r}, expected {' or '.join(map(repr, self.NAMES))}")
        self.name = name
        self.options = dict(options or {})

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and (self.name, self.options) == (other.name, other.options)

    def __hash__(self) -> int:
        return hash(self.name)


class Executor(_Choice):
    """The executor of a graph: "graph" or "aot", which are equivalent here. OptionError for another name."""

    NAMES = ("graph", "aot")


class Runtime(_Choice):
    """The runtime of a graph: "cpp". OptionError for another name: programs run on this machine."""

    NAMES = ("cpp",)
