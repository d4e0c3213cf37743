"""The results of functions with several: `tvm.runtime.container`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .absent import report_absent

__getattr__ = report_absent("tvm.runtime.container")


class Object:
    """The base class of the objects of the runtime."""


String = str
"""The type of texts: texts of Python."""
ShapeTuple = tuple
"""The type of shapes: tuples of Python."""


class ADT(list[Any], Object):
    """A tuple of results, as functions of graphs return it. tag: 0, that of tuples."""

    tag = 0


def leaves_of(values: Iterable[Any]) -> Iterator[Any]:
    """The arrays of arguments and results; a tuple is several."""
    for value in values:
        if isinstance(value, tuple | ADT):
            yield from leaves_of(value)
        else:
            yield value


def tuple_object(fields: Sequence[Any] | None = None) -> ADT:
    """A tuple of arrays and tuples."""
    return ADT(fields or ())


__all__ = ["ADT", "Object", "String", "tuple_object"]
