"""Conversion of floats to other data types."""

from __future__ import annotations

import math

from ..core.dtypes import int_range, parse_dtype
from ..expressions import functions as scalar
from ..expressions.expr import PrimExpr, Select, cast, const


def round_halves_away(value: PrimExpr) -> PrimExpr:
    """The nearest integer to a float, halves away from zero. The fraction is exact, so that no sum is rounded."""
    whole = scalar.trunc(value)
    fraction = value - whole
    half, zero = const(0.5, value.dtype), const(0, value.dtype)
    one = const(1, value.dtype)
    return whole + Select(fraction >= half, one, Select(fraction <= zero - half, zero - one, zero))


def saturating_cast(value: PrimExpr, dtype: str) -> PrimExpr:
    """A float converted to a data type: for integer types rounded to the nearest integer, halves to even, and
    saturated; NaN becomes the least integer."""
    kind = parse_dtype(dtype)
    if kind.is_float:
        return cast(dtype, value)
    least, most = (float(bound) for bound in int_range(kind))
    if most >= 2.0**53:  # 64 bits: the greatest float64 of the range
        most = math.nextafter(most, 0.0)
    wide = cast("float64", scalar.round(value))
    return cast(dtype, scalar.min(scalar.max(wide, const(least, "float64")), const(most, "float64")))
