"""exp, exp2, expm1, and the hyperbolic functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from . import coefficients as c
from .numbers import F32, F64, Bits, Format, Number

_LN2 = {F32: c.LN2_32, F64: c.LN2_64}  # the product of the first part and an exponent is exact
_EXP = {F32: (1.0, 1.0, *c.EXP_32), F64: (1.0, 1.0, 0.5, *c.EXP_64)}
_EXP2 = {F32: (1.0, *c.EXP2_32), F64: (1.0, *c.EXP2_64)}
_EXPM1 = {F32: c.EXPM1_32, F64: (0.5, *c.EXPM1_64)}
_EXPM1_OF_DOUBLE = {  # (expm1(2 * h) / 2 - h) / h**2
    format: [value * 2.0 ** (k + 1) for k, value in enumerate(values)] for format, values in _EXPM1.items()
}
_HALF_LN2 = {F32: (c.LN2_OF_32 / 2,), F64: tuple(part / 2 for part in c.LN2_64)}
_SINH = {F32: c.SINH_32, F64: c.SINH_64}


def exp(x: Number) -> Number:
    """e**x."""
    return _exp(x, 0)


def exp_plus_one(x: Number) -> Number:
    """1 + e**x, for quotients: infinite where e**x exceeds 2**(bias + 0.5), and 1 where it is no normal number. One
    factor scales the polynomial, and the sum is rounded once."""
    bias = x.format.bias
    r, n = _reduced(x.at_most((bias + 1) * math.log(2)).at_least((1 - bias) * math.log(2)))
    return r.polynomial(_EXP[x.format]).times_plus(power_of_two(n), 1.0)


def exp2(x: Number) -> Number:
    """2**x."""
    low, high = _exponents(x.format)
    x = x.at_most(high).at_least(low)
    return exp2_of_sum(x)


def exp2_of_sum(high: Number, low: Number | None = None) -> Number:
    """2**(high + low), where `low` is small. `high` is between the exponents of `_exponents`, or NaN."""
    n, bits = high.nearest()
    fraction = high - n if low is None else high - n + low
    return _scaled(fraction.polynomial(_EXP2[high.format]), bits)


def one_less_exp2(x: Number) -> Number:
    """1 - 2**x, where 2**x is a normal number: one factor scales the polynomial, and the difference is rounded once."""
    n, bits = x.nearest()
    return (x - n).polynomial([-each for each in _EXP2[x.format]]).times_plus(power_of_two(bits), 1.0)


def expm1(x: Number) -> Number:
    """e**x - 1."""
    limit = (x.format.bias + 1.3) * math.log(2)  # n is at most bias + 1, and the result infinite
    r, n = _reduced(x.at_most(limit).at_least(-(x.format.fraction + 3) * math.log(2)))
    half = power_of_two(n, -1)  # 2**n may be infinite
    return (_expm1_of_reduced(r, _EXPM1).times_plus(half, half - 0.5) * 2.0).copysign(x)


def tanh(x: Number) -> Number:
    """The hyperbolic tangent: (e - 1) / (e + 1), negated for a positive x, where e = exp(-2 * abs(x)) is
    2**n * (1 + expm1(2 * h)). The numerator and the denominator are rounded once."""
    magnitude = abs(x).at_most((x.format.fraction + 5) / 2 * math.log(2))
    n, bits = magnitude.nearest(-2 / math.log(2))
    h = (-magnitude).less_multiple(n, _HALF_LN2[x.format])
    half = (h * h).times_plus(h.polynomial(_EXPM1_OF_DOUBLE[x.format]), h)
    power, double = power_of_two(bits), power_of_two(bits, 1)
    below, above = power - 1.0, power + 1.0
    numerator, denominator = half.times_plus(double, below), half.times_plus(double, above)
    quotient = numerator / denominator
    if x.format is F64:
        # The rounding errors of both. The inverse of the denominator is (1 - quotient) / 2.
        numerator_low = half.times_plus(double, below - numerator)
        denominator_low = half.times_plus(double, above - denominator)
        rest = quotient.times_plus(-denominator_low, numerator_low)
        quotient = rest.times_plus(0.5 - quotient * 0.5, quotient)
    return quotient.copysign(x)


def sinh(x: Number) -> Number:
    """The hyperbolic sine: a polynomial below 1 in magnitude, else of halves of exp, which are finite."""
    magnitude = abs(x)
    u = x * x
    small = (magnitude * u).times_plus(u.polynomial(_SINH[x.format]), magnitude)
    half = _exp(magnitude, -1)
    return (magnitude < 1.0).select(small, half - 0.25 / half).copysign(x)


def cosh(x: Number) -> Number:
    """The hyperbolic cosine."""
    half = _exp(abs(x), -1)
    return half + 0.25 / half


def _exponents(format: Format) -> tuple[int, int]:
    """Powers of 2 at or below the first exponent are 0, those at or above the second infinite, also if halved."""
    return -format.bias - format.fraction - 2, format.bias + 3


def _exp(x: Number, offset: int) -> Number:
    """e**x * 2**offset; offset is 0 or -1."""
    low, high = _exponents(x.format)
    r, n = _reduced(x.at_most(high * math.log(2)).at_least(low * math.log(2)))
    return _scaled(r.polynomial(_EXP[x.format]), n, offset)


def _reduced(x: Number) -> tuple[Number, Bits]:
    """r and the bits of n (`Number.nearest`), where x = n * log(2) + r and r is at most log(2) / 2 in magnitude."""
    n, bits = x.nearest(1 / math.log(2))
    return x.less_multiple(n, _LN2[x.format]), bits


def power_of_two(n: Bits, offset: int = 0) -> Number:
    """2**(n + offset), which is a normal number; n as of `Number.nearest`."""
    fraction, bias = n.format.fraction, n.format.bias
    return ((n << fraction) + ((bias + offset) << fraction)).number


def _scaled(p: Number, n: Bits, offset: int = 0) -> Number:
    """p * 2**(n + offset), rounded once: by the instruction of the processor, or by two factors, for the power itself
    may be no number of the format."""
    fraction, bias = n.format.fraction, n.format.bias
    if p.has_scaled:
        return p.scaled(n - (n.format.bits_of_magic - offset))
    half = ((n >> 1) << fraction) + (bias << fraction)
    rest = (n << fraction) + ((2 * bias + offset) << fraction) - half
    return p * half.number * rest.number


def _expm1_of_reduced(r: Number, coefficients: Mapping[Format, Sequence[float]]) -> Number:
    return (r * r).times_plus(r.polynomial(coefficients[r.format]), r)
