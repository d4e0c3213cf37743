"""Arithmetic of intervals of integers: the interval of the results of an operation on members of the operands.

All integers are unbounded; a machine type has an effect only through `signed_range` and `wrap`. Every result contains
the result for all members, and is the smallest interval that does unless the docstring says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Interval: TypeAlias = tuple[int, int]
"""The minimum and the maximum, both included."""


def signed_range(bits: int) -> Interval:
    """The interval of the signed integers of `bits` bits."""
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def wrap(value: int, whole: Interval) -> int:
    """The integer in `whole` congruent to `value` modulo the number of integers in `whole`."""
    low, high = whole
    return (value - low) % (high - low + 1) + low


# Relations


def within(inner: Interval, outer: Interval) -> bool:
    """Whether `inner` is contained in `outer`."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def hull(*parts: Interval) -> Interval:
    """The smallest interval that contains all `parts`."""
    return min(low for low, _ in parts), max(high for _, high in parts)


def intersect(a: Interval, b: Interval) -> Interval | None:
    """The intersection of two intervals; None if it is empty."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else None


# Operations


def add(a: Interval, b: Interval) -> Interval:
    """The interval of `a + b`."""
    return a[0] + b[0], a[1] + b[1]


def sub(a: Interval, b: Interval) -> Interval:
    """The interval of `a - b`."""
    return a[0] - b[1], a[1] - b[0]


def mul(a: Interval, b: Interval) -> Interval:
    """The interval of `a * b`."""
    return _span([x * y for x in a for y in b])


def negate(a: Interval) -> Interval:
    """The interval of `-a`."""
    return -a[1], -a[0]


def linear(constant: int, terms: Iterable[tuple[Interval, int]]) -> Interval:
    """The interval of `constant` plus the sum of the terms, each the product of an interval and a coefficient."""
    low = high = constant
    for (least, most), k in terms:
        low += k * (least if k > 0 else most)
        high += k * (most if k > 0 else least)
    return low, high


def minimum(a: Interval, b: Interval) -> Interval:
    """The interval of `min(a, b)`."""
    return min(a[0], b[0]), min(a[1], b[1])


def maximum(a: Interval, b: Interval) -> Interval:
    """The interval of `max(a, b)`."""
    return max(a[0], b[0]), max(a[1], b[1])


# Quotients and remainders, by the members of the divisor that are not 0; the divisor (0, 0) has none, and is taken as 1


def floordiv(a: Interval, b: Interval) -> Interval:
    """The interval of `a // b`, rounded down."""
    return _span([x // y for x in a for part in _signed_parts(b) for y in part])


def floormod(a: Interval, b: Interval) -> Interval:
    """The interval of `a % b`, with the sign of the divisor. The smallest one if the divisor is a single integer."""
    return hull(*(_mod(a, part) if part[0] > 0 else negate(_mod(negate(a), negate(part))) for part in _signed_parts(b)))


def truncdiv(a: Interval, b: Interval) -> Interval:
    """The interval of `a / b`, rounded toward 0."""
    return _span([_truncate(x, y) for x in a for part in _signed_parts(b) for y in part])


def truncmod(a: Interval, b: Interval) -> Interval:
    """The interval of the remainder of `truncdiv`, with the sign of the dividend. The smallest one if the divisor is a
    single integer."""
    (low, high), size = a, hull(*(part if part[0] > 0 else negate(part) for part in _signed_parts(b)))
    parts = [_mod((max(low, 0), high), size)] if high >= 0 else []
    return hull(*parts, *([negate(_mod((max(-high, 1), -low), size))] if low < 0 else []))


def _span(numbers: list[int]) -> Interval:
    return min(numbers), max(numbers)


def _truncate(x: int, y: int) -> int:
    return x // y if (x < 0) == (y < 0) else -(-x // y)


def _signed_parts(divisor: Interval) -> list[Interval]:
    """The negative and the positive part of a divisor."""
    low, high = divisor
    parts = [(low, min(high, -1)), (max(low, 1), high)]
    return [part for part in parts if part[0] <= part[1]] or [(1, 1)]


def _mod(a: Interval, b: Interval) -> Interval:
    """The interval of `a % b` for positive b."""
    (least, most), (low, high) = a, b
    if low == high and least // low == most // low:
        return least % low, most % low
    if 0 <= least and most < low:
        return a
    return 0, min(most, high - 1) if least >= 0 else high - 1


# Bits


def bit_and(a: Interval, b: Interval) -> Interval | None:
    """An interval of `a & b`, from 0 to the smallest maximum of an operand that is not negative; None without such an
    operand. Not always the smallest interval."""
    highs = [high for low, high in (a, b) if low >= 0]
    return (0, min(highs)) if highs else None


def bit_or(a: Interval, b: Interval) -> Interval | None:
    """An interval of `a | b` and of `a ^ b`, from 0 to below a power of two; None if an operand may be negative. Not
    always the smallest interval."""
    return (0, 2 ** max(a[1], b[1]).bit_length() - 1) if min(a[0], b[0]) >= 0 else None
