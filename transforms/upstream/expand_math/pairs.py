"""Sums of two numbers, with about twice the precision of one."""

from __future__ import annotations

from dataclasses import dataclass

from .numbers import Number

_LOW_BITS = 27
"""So many bits of an f64 are 0 in the upper part of a factor, whose products are then exact."""


@dataclass(frozen=True)
class Pair:
    """The sum of two numbers; `low` is at most a few units in the last place of `high`."""

    high: Number
    low: Number

    def plus(self, low: Number | float) -> Pair:
        """The sum with a number of the magnitude of `low`."""
        return Pair(self.high, self.low + low)

    def __mul__(self, other: Pair) -> Pair:
        product = exact_product(self.high, other.high)
        return product.plus(self.high * other.low + self.low * other.high)

    def sqrt(self) -> Pair:
        """The square root; that of 0 is 0."""
        root = self.high.sqrt()
        rest = product_plus(-root, root, self.high) + self.low
        return Pair(root, rest * 0.5 / root.at_least(2.0**-500))

    def __truediv__(self, other: Pair) -> Pair:
        inverse = 1.0 / other.high
        quotient = self.high * inverse
        rest = product_plus(-quotient, other.high, self.high) + (self.low - quotient * other.low)
        return Pair(quotient, rest * inverse)


def ordered_sum(large: Number | float, small: Number) -> Pair:
    """The exact sum of two numbers, of which the first is 0 or has at least the exponent of the second."""
    high = small + large
    return Pair(high, small - (high - large))


def exact_sum(a: Number, b: Number | float) -> Pair:
    """The exact sum of two numbers."""
    high = a + b
    of_b = high - a
    return Pair(high, (a - (high - of_b)) + (b - of_b))


def exact_product(a: Number, b: Number) -> Pair:
    """The exact product of two numbers of f64, unless it is near the least or the greatest normal number."""
    high = a * b
    if a.writer.fma:
        return Pair(high, a.times_plus(b, -high))
    a_upper, b_upper = _upper(a), _upper(b)
    a_lower, b_lower = a - a_upper, b - b_upper
    rest = a_upper * b_upper - high + a_upper * b_lower + a_lower * b_upper
    return Pair(high, rest + a_lower * b_lower)


def product_plus(a: Number, b: Number, addend: Number | float) -> Number:
    """a * b + addend, which nearly cancel, rounded about once."""
    if a.writer.fma:
        return a.times_plus(b, addend)
    product = exact_product(a, b)
    return product.high + addend + product.low


def _upper(x: Number) -> Number:
    return (x.bits & -(1 << _LOW_BITS)).number
