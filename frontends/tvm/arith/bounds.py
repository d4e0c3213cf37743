"""Intervals of integer expressions, operation by operation, in arithmetic that does not overflow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from ....core.dtypes import int_range
from ....expressions.axes import Range
from ....expressions.expr import (
    Add,
    Call,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    IfThenElse,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    PrimExpr,
    Select,
    SizeVar,
    Sub,
    Var,
)

Ends: TypeAlias = tuple[float, float]
"""The minimum and the maximum; integers, or infinite."""
UNKNOWN: Ends = (-math.inf, math.inf)


def interval_bounds(expr: PrimExpr, ranges: Mapping[Var, Range], limits: Mapping[Var, Ends]) -> Ends:
    """The interval of an integer expression. A divisor is not 0, and numbers of an interval without an end do not
    overflow; of other numbers of 64 bits that may overflow nothing is known.

    ranges: the ranges of variables.  limits: intervals of others, which may be infinite.
    """

    def ends(part: PrimExpr) -> Ends:
        return interval_bounds(part, ranges, limits)

    match expr:
        case IntImm():
            return expr.value, expr.value
        case Var():
            return _of_variable(expr, ranges, limits)
        case Select() | IfThenElse():
            return _hull(ends(expr.true_value), ends(expr.false_value))
        case Cast():
            return _intersect(ends(expr.value), _of_type(expr))
        case Call(op=name) if name in _CALLS:
            return _without_overflow(expr, _CALLS[name](*map(ends, expr.args)))
        case _ if type(expr) in _OPERATORS:
            return _without_overflow(expr, _OPERATORS[type(expr)](*map(ends, expr.children)))
        case _:
            return _of_type(expr)


def _is_integer(expr: PrimExpr) -> bool:
    return expr.data_type.kind in ("int", "uint") and expr.data_type.lanes == 1


def _of_type(expr: PrimExpr) -> Ends:
    """The interval of the numbers of a type; without ends for 64 bits."""
    if not _is_integer(expr):
        return UNKNOWN
    low, high = int_range(expr.data_type)
    is_wide = expr.data_type.bits == 64
    return (-math.inf if is_wide and low < 0 else low), (math.inf if is_wide else high)


def _without_overflow(expr: PrimExpr, found: Ends) -> Ends:
    """An interval, which is unknown where numbers of 64 bits may overflow."""
    low, high = int_range(expr.data_type) if _is_integer(expr) else (0, 0)
    is_wide = _is_integer(expr) and expr.data_type.bits == 64
    return UNKNOWN if is_wide and any(math.isfinite(end) and not low <= end <= high for end in found) else found


def _of_variable(var: Var, ranges: Mapping[Var, Range], limits: Mapping[Var, Ends]) -> Ends:
    if var in limits:
        return limits[var]
    if var in ranges:
        low, extent = ranges[var].min, ranges[var].extent
        first, size = (interval_bounds(part, ranges, limits) for part in (low, extent))
        return first[0], first[1] + size[1] - 1
    return (0, math.inf) if isinstance(var, SizeVar) else _of_type(var)


def _hull(a: Ends, b: Ends) -> Ends:
    return min(a[0], b[0]), max(a[1], b[1])


def _intersect(a: Ends, b: Ends) -> Ends:
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if (low, high) == a else b


def _product(a: float, b: float) -> float:
    return 0 if 0 in (a, b) else a * b


def _multiply(a: Ends, b: Ends) -> Ends:
    corners = [_product(x, y) for x in a for y in b]
    return min(corners), max(corners)


def _quotient(divide: Callable[[float, float], float]) -> Callable[[Ends, Ends], Ends]:
    """The interval of quotients, from the ends of the dividend and of the divisors on both sides of 0."""

    def bounds(a: Ends, b: Ends) -> Ends:
        divisors = [each for each in (*b, -1, 1) if each and b[0] <= each <= b[1]]
        if not divisors:
            return UNKNOWN
        corners = [divide(x, y) for x in a for y in divisors]
        return min(corners), max(corners)

    return bounds


def _floor(x: float, y: float) -> float:
    if math.isinf(x):
        return x if y > 0 else -x
    if math.isinf(y):
        return 0 if x == 0 or (x > 0) == (y > 0) else -1
    return int(x) // int(y)


def _truncate(x: float, y: float) -> float:
    if math.isinf(x):
        return x if y > 0 else -x
    if math.isinf(y):
        return 0
    quotient = abs(int(x)) // abs(int(y))
    return quotient if (x >= 0) == (y > 0) else -quotient


def _floor_remainder(a: Ends, b: Ends) -> Ends:
    """A remainder has the sign of the divisor."""
    if b[0] > 0 and a[0] >= 0 and a[1] < b[0]:
        return a
    low = 0 if b[0] >= 0 else b[0] + 1
    high = 0 if b[1] <= 0 else b[1] - 1
    return low, (min(a[1], high) if b[0] >= 0 and a[0] >= 0 else high)


def _remainder(a: Ends, b: Ends) -> Ends:
    """A remainder of a truncated quotient has the sign of the dividend."""
    most = max(abs(b[0]), abs(b[1])) - 1
    return (0 if a[0] >= 0 else max(a[0], -most)), (0 if a[1] <= 0 else min(a[1], most))


def _shift_right(a: Ends, b: Ends) -> Ends:
    if b[0] < 0:
        return UNKNOWN
    corners = [x if math.isinf(x) else int(x) >> int(min(y, 64)) for x in a for y in b]
    return min(corners), max(corners)


def _bit_and(a: Ends, b: Ends) -> Ends:
    """The bits of a number that is not negative limit the result."""
    limits = [each[1] for each in (a, b) if each[0] >= 0]
    return (0, min(limits)) if limits else UNKNOWN


_OPERATORS: dict[type[PrimExpr], Callable[..., Ends]] = {
    Add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    Sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    Mul: _multiply,
    Min: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    Max: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    FloorDiv: _quotient(_floor),
    FloorMod: _floor_remainder,
    Div: _quotient(_truncate),
    Mod: _remainder,
}
_CALLS: Mapping[str, Callable[..., Ends]] = {
    "truncdiv": _quotient(_truncate),
    "truncmod": _remainder,
    "shr": _shift_right,
    "and": _bit_and,
    "likely": lambda a: a,
}


__all__ = ["UNKNOWN", "Ends", "interval_bounds"]
