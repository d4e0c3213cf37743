"""Extents of tensors and of arrays, known or symbolic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from ..expressions.expr import IntImm, PrimExpr, cast

Extent: TypeAlias = Any
"""An extent: an expression in the shape of a tensor, an int in the shape of an array."""


def known_extent(extent: Extent) -> int | None:
    """The value of a known extent; None for a symbolic extent."""
    return extent.value if isinstance(extent, IntImm) else extent if isinstance(extent, int) else None


def are_known(extents: Iterable[Extent]) -> bool:
    """Whether all extents are known."""
    return all(known_extent(extent) is not None for extent in extents)


def widen_index(index: PrimExpr, dtype: str) -> PrimExpr:
    """An index in a data type that holds larger indices; unchanged for int32."""
    return cast(dtype, index) if dtype == "int64" else index
