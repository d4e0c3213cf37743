"""Sizes of tensors and of arrays, some of which are known."""

from __future__ import annotations

from typing import Any, TypeAlias

from ..expressions.expr import IntImm

Extent: TypeAlias = Any
"""A size: an expression of a tensor's shape, or an int of an array's."""


def known_extent(extent: Extent) -> int | None:
    """A size that is known, as a number; None for others."""
    return extent.value if isinstance(extent, IntImm) else extent if isinstance(extent, int) else None
