"""pow and cbrt, in f64."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from . import coefficients as c
from .exponentials import exp2, exp2_of_sum, power_of_two
from .logarithms import log2, log2_pair, normal_parts
from .numbers import F32, Number
from .pairs import exact_product

_ROOT_BITS = 17
"""So many bits has the first approximation of a cube root, whose cube is then exact."""

_LEAST_POWER, _GREATEST_POWER = -1100.0, 1100.0
"""Exponents of 2 beyond which results are 0 and infinity."""


def cbrt(x: Number) -> Number:
    """The cube root: with a polynomial's root r of few bits, r * (1 + d)**(1/3), where d = x / r**3 - 1 is small."""
    a = abs(x)
    exponent, mantissa = normal_parts(a)
    thirds, bits = (exponent * (1 / 3)).nearest()
    rest = exponent - thirds * 3.0
    is_high, is_low = rest > 0.5, rest < -0.5
    one = x.writer.number(1.0, x.format)
    scaled = mantissa * is_high.select(2.0, is_low.select(0.5, one))
    root = mantissa.polynomial(c.CBRT_64) * is_high.select(2 ** (1 / 3), is_low.select(0.5 ** (1 / 3), one))
    root = (root.bits & -(1 << (x.format.fraction + 1 - _ROOT_BITS))).number
    cube = root * root * root
    d = (scaled - cube) / cube
    # The Taylor series of (1 + d)**(1/3) - 1; d is at most 3 * 2**-16.
    root = (root * d).times_plus(d.polynomial((1 / 3, -1 / 9, 5 / 81)), root)
    is_regular = (a > 0.0) & (a < math.inf)
    return is_regular.select((root * power_of_two(bits)).copysign(x), x)


def _square_root(x: Number) -> Number:
    """x**0.5, which is 0 for -0 and infinity for -infinity."""
    return x.compare("oeq", -math.inf).select(math.inf, (x + 0.0).sqrt())


def _fourth(x: Number) -> Number:
    square = x * x
    return square * square


OF_EXPONENT: Mapping[float, Callable[[Number], Number]] = {
    -1.0: lambda x: 1.0 / x,
    0.5: _square_root,
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    4.0: _fourth,
}
"""The powers of a constant exponent that a few operations compute in the format of the result."""


def power(x: Number, y: Number) -> Number:
    """x**y."""
    a = abs(x)
    magnitude = exp2(log2(a) * y) if x.writer.result is F32 else _magnitude(a, y)
    half = y * 0.5
    whole = y.round_even()
    is_odd = whole.compare("oeq", y) & half.round_even().compare("one", half)
    signed = is_odd.select(magnitude.copysign(x), magnitude)
    is_complex = (x < 0.0) & (a < math.inf) & whole.compare("one", y)
    signed = is_complex.select(math.nan, signed)
    at_one = a.compare("oeq", 1.0) & abs(y).compare("oeq", math.inf)
    signed = at_one.select(1.0, x.compare("oeq", 1.0).select(1.0, signed))
    return y.compare("oeq", 0.0).select(1.0, signed)


def _magnitude(a: Number, y: Number) -> Number:
    """a**y for an `a` of at least 0, of which log2 needs 12 bits more than a number has."""
    log = log2_pair(a)
    y = y.at_most(2.0**65).at_least(-(2.0**65))  # the product with any logarithm but 0 is then beyond the exponents
    product = exact_product(y, log.high)
    low = product.low + y * log.low
    is_extreme = abs(product.high) > _GREATEST_POWER
    return exp2_of_sum(product.high.at_most(_GREATEST_POWER).at_least(_LEAST_POWER), is_extreme.select(0.0, low))
