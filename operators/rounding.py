"""Floats as numbers of other types."""

from __future__ import annotations

import math

from ..core.dtypes import int_range, parse_dtype
from ..expressions import functions as scalar
from ..expressions.expr import PrimExpr, cast, const


def fitting(value: PrimExpr, dtype: str) -> PrimExpr:
    """A float as a number of a type: rounded to the nearest integer, halves to the even one, and the nearest that there
    is, if that is an integer type; there a NaN is the least."""
    kind = parse_dtype(dtype)
    if kind.is_float:
        return cast(dtype, value)
    least, most = (float(bound) for bound in int_range(kind))
    if most >= 2.0**53:  # of 64 bits: the greatest that a float64 holds
        most = math.nextafter(most, 0.0)
    wide = cast("float64", scalar.round(value))
    return cast(dtype, scalar.min(scalar.max(wide, const(least, "float64")), const(most, "float64")))
