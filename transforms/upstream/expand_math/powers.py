"""pow and cbrt of numbers that were f32, in f64."""

from __future__ import annotations

import math

from .exponentials import exp2
from .logarithms import log2
from .numbers import Number


def cbrt(x: Number) -> Number:
    """The cube root."""
    return x.compare("oeq", 0.0).select(x, exp2(log2(abs(x)) * (1 / 3)).copysign(x))


def power(x: Number, y: Number) -> Number:
    """x**y."""
    a = abs(x)
    magnitude = exp2(log2(a) * y)
    half = y * 0.5
    whole = y.round_even()
    is_odd = whole.compare("oeq", y) & half.round_even().compare("one", half)
    signed = is_odd.select(magnitude.copysign(x), magnitude)
    is_complex = (x < 0.0) & (a < math.inf) & whole.compare("one", y)
    result = is_complex.select(math.nan, signed)
    at_one = a.compare("oeq", 1.0) & abs(y).compare("oeq", math.inf)
    result = at_one.select(1.0, x.compare("oeq", 1.0).select(1.0, result))
    return y.compare("oeq", 0.0).select(1.0, result)
