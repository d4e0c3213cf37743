"""The results of functions with several: `tvm.runtime.container`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...core.errors import UnsupportedError
from .absent import report_absent
from .family import Family

__getattr__ = report_absent("tvm.runtime.container")


def _nodes() -> tuple[Any, ...]:
    # lazy: nodes import this module
    from .ir.families import Node

    return (Node,)


class Object(metaclass=Family, members=_nodes):
    """The base class of the objects of the runtime, and the class of all nodes."""

    def __init_handle_by_constructor__(self, fconstructor: Any, *args: Any) -> None:
        """Rejects objects of C++, which classes of users construct by this method. UnsupportedError."""
        raise UnsupportedError(f"object of {type(self).__name__}: there are no objects of C++, expected one of Python")


def register_object(type_key: Any = None) -> Any:
    """Decorates a class that stands for objects of C++: `@register_object("mlc.serve.Data")`. The class stays as it is,
    and is usable as far as its instances need no such object. type_key: the name of its type, by default that of the
    class."""
    if isinstance(type_key, type):
        return type_key

    def register(cls: type) -> type:
        return cls

    return register


String = str
"""The type of texts: texts of Python."""


class ShapeTuple(tuple[int, ...], Object):
    """A shape. It is equal to a list of its sizes."""

    def __eq__(self, other: object) -> bool:
        return super().__eq__(tuple(other)) if isinstance(other, list) else super().__eq__(other)  # pyright: ignore

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def with_shapes(value: Any) -> Any:
    """A result of a program, in which tuples of integers are shapes."""
    if not isinstance(value, tuple):
        return value
    fields: tuple[Any, ...] = value  # pyright: ignore[reportUnknownVariableType]
    if all(type(each) is int for each in fields):
        return ShapeTuple(fields)
    return tuple(with_shapes(each) for each in fields)


class ADT(list[Any], Object):
    """Fields, as functions of graphs return them. tag: the number of the constructor, 0 for tuples."""

    def __init__(self, tag: int, fields: Iterable[Any] = ()):
        super().__init__(fields)
        self.tag = tag


def leaves_of(values: Iterable[Any]) -> Iterator[Any]:
    """The arrays of arguments and results; a tuple is several."""
    for value in values:
        if isinstance(value, tuple | ADT):
            yield from leaves_of(value)
        else:
            yield value


def tuple_object(fields: Iterable[Any] | None = None) -> ADT:
    """A tuple of arrays and tuples."""
    return ADT(0, fields or ())


__all__ = ["ADT", "Object", "ShapeTuple", "String", "register_object", "tuple_object"]
