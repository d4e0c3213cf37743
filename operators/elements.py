"""Tensors built from functions of their indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ..expressions import functions as scalar
from ..expressions.expr import PrimExpr, cast
from ..expressions.tensor import compute
from .extents import Extent, known_extent


def build_tensor(shape: Sequence[Extent], fcompute: Callable[..., Any], name: str, tag: str = "") -> Any:
    """The tensor that `compute` builds, with axes named `ax0, ax1, ...`."""
    names = [f"ax{d}" for d in range(len(shape))]
    return compute(shape, lambda *i: fcompute(*i), name, tag, varargs_names=names)


def element_or_zero(extents: Sequence[PrimExpr], dtype: str, element: Callable[[], PrimExpr]) -> PrimExpr:
    """The value of `element` if every extent is positive, else 0 of type `dtype`."""
    zero = cast(dtype, 0)
    if any(known_extent(extent) == 0 for extent in extents):
        return zero
    unknown = [extent > 0 for extent in extents if known_extent(extent) is None]
    return scalar.if_then_else(reduce(lambda a, b: a & b, unknown), element(), zero) if unknown else element()
