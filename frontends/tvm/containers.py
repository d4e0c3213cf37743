"""The results of functions with several: `tvm.runtime.container`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .absent import report_absent

__getattr__ = report_absent("tvm.runtime.container")


class Object:
    """The base class of the objects of the runtime."""


class ADT(list[Any], Object):
    """A tuple of results, as functions of graphs return it. tag: 0, that of tuples."""

    tag = 0


def tuple_object(fields: Sequence[Any] | None = None) -> ADT:
    """A tuple of arrays and tuples."""
    return ADT(fields or ())


__all__ = ["ADT", "Object", "tuple_object"]
