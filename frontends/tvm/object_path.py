"""Paths of attributes, elements and entries that lead from a node to a part of it: `tvm.runtime.ObjectPath`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ...core.errors import StepwellError
from ..relay.expr import GlobalVar


@dataclass(frozen=True, eq=False)
class ObjectPath:
    """A path; a class of each kind of last step. parent: the path before the last step, None of a root."""

    parent: ObjectPath | None

    @staticmethod
    def root(root_name: str | None = None) -> RootPath:
        """The path of a node itself. root_name: the name that texts have in place of `<root>`."""
        return RootPath(None, root_name)

    def attr(self, attr_key: str | None) -> ObjectPath:
        """The path of an attribute, None for an unknown one."""
        return UnknownAttributeAccessPath(self) if attr_key is None else AttributeAccessPath(self, attr_key)

    def attr_unknown(self) -> ObjectPath:
        """The path of an unknown attribute."""
        return self.attr(None)

    def array_index(self, index: int) -> ArrayIndexPath:
        """The path of an element."""
        return ArrayIndexPath(self, int(index))

    def missing_array_element(self, index: int) -> MissingArrayElementPath:
        """The path of an element that a sequence lacks."""
        return MissingArrayElementPath(self, int(index))

    def map_value(self, key: Any) -> MapValuePath:
        """The path of the value of a key."""
        return MapValuePath(self, key)

    def missing_map_entry(self) -> MissingMapEntryPath:
        """The path of an entry that a dictionary lacks."""
        return MissingMapEntryPath(self)

    @property
    def steps(self) -> list[ObjectPath]:
        """The paths from the root to this one."""
        return [*([] if self.parent is None else self.parent.steps), self]

    def get_prefix(self, length: int) -> ObjectPath:
        """The first `length` steps, of which the root is one. IndexError for less than 1 or more than all."""
        if length < 1:
            raise PrefixError("Prefix length must be at least 1")
        if length > len(self):
            raise PrefixError("Attempted to get a prefix longer than the path itself")
        return self.steps[length - 1]

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Whether another path begins with this one."""
        return len(self) <= len(other) and self == other.get_prefix(len(self))

    def __len__(self) -> int:
        return len(self.steps)

    def _step(self) -> tuple[Any, ...]:
        """A value that is equal for equal last steps."""
        return (type(self),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectPath):
            return False
        return [each._step() for each in self.steps] == [each._step() for each in other.steps]

    def __hash__(self) -> int:
        return hash(tuple(type(each) for each in self.steps))

    def __str__(self) -> str:
        return "".join(each._text() for each in self.steps)

    def __repr__(self) -> str:
        return str(self)

    def _text(self) -> str:
        raise NotImplementedError


class PrefixError(StepwellError, IndexError):
    """A length of a prefix out of range."""


@dataclass(frozen=True, eq=False, repr=False)
class RootPath(ObjectPath):
    """The path of a node itself."""

    name: str | None = None

    def _step(self) -> tuple[Any, ...]:
        return (RootPath, self.name)

    def _text(self) -> str:
        return self.name or "<root>"


@dataclass(frozen=True, eq=False, repr=False)
class AttributeAccessPath(ObjectPath):
    """The path of an attribute."""

    attr_key: str

    def _step(self) -> tuple[Any, ...]:
        return (AttributeAccessPath, self.attr_key)

    def _text(self) -> str:
        return f".{self.attr_key}"


class UnknownAttributeAccessPath(ObjectPath):
    """The path of an unknown attribute."""

    def _text(self) -> str:
        return ".<unknown attribute>"


@dataclass(frozen=True, eq=False, repr=False)
class ArrayIndexPath(ObjectPath):
    """The path of an element."""

    index: int

    def _step(self) -> tuple[Any, ...]:
        return (ArrayIndexPath, self.index)

    def _text(self) -> str:
        return f"[{self.index}]"


@dataclass(frozen=True, eq=False, repr=False)
class MissingArrayElementPath(ObjectPath):
    """The path of an element that a sequence lacks."""

    index: int

    def _step(self) -> tuple[Any, ...]:
        return (MissingArrayElementPath, self.index)

    def _text(self) -> str:
        return f"[<missing element #{self.index}>]"


@dataclass(frozen=True, eq=False, repr=False)
class MapValuePath(ObjectPath):
    """The path of the value of a key."""

    key: Any

    def _step(self) -> tuple[Any, ...]:
        return (MapValuePath, self.key if isinstance(self.key, str | int) else id(self.key))

    def _text(self) -> str:
        match self.key:
            case GlobalVar():
                return f'[I.GlobalVar("{self.key.name_hint}")]'
            case str():
                return f"[{json.dumps(self.key)}]"
            case _:
                return f"[{getattr(self.key, 'name', self.key)}]"


class MissingMapEntryPath(ObjectPath):
    """The path of an entry that a dictionary lacks."""

    def _text(self) -> str:
        return "[<missing entry>]"


__all__ = [
    "ArrayIndexPath",
    "AttributeAccessPath",
    "MapValuePath",
    "MissingArrayElementPath",
    "MissingMapEntryPath",
    "ObjectPath",
    "RootPath",
    "UnknownAttributeAccessPath",
]
