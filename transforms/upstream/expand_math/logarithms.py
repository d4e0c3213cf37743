"""log, log2, log10, log1p, and the inverse hyperbolic functions."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import NamedTuple

from . import coefficients as c
from .numbers import F32, F64, Bits, Condition, Number
from .pairs import Pair, exact_product, exact_sum, ordered_sum

_LN2 = {F32: c.LN2_32, F64: c.LN2_64}
_LOG2_E = {F32: c.LOG2_E_32, F64: c.LOG2_E_64}
_LOG10_E = {F32: c.LOG10_E_32, F64: c.LOG10_E_64}
_LOG10_2 = {F32: c.LOG10_2_32, F64: c.LOG10_2_64}

_ROOT = {
    F32: struct.unpack("<i", struct.pack("<f", math.sqrt(0.5)))[0],
    F64: struct.unpack("<q", struct.pack("<d", math.sqrt(0.5)))[0],
}
"""The bits of the square root of 1/2, where the mantissas begin."""

_LOW_BITS = {F32: 12, F64: 32}
"""So many bits of a number are 0 in the first part of a sum, so that products with it are exact."""

_SMALL = 2.0**-28
"""Below, inverse hyperbolic functions of f64 are their argument."""

_LARGE = 2.0**28
"""Above, the square of a number of f64 plus or minus 1 is the square."""


def log(x: Number, is_normal: bool = False) -> Number:
    """The natural logarithm. is_normal: whether x is known to be a positive normal number."""
    return _function(_log, x, is_normal)


def log2(x: Number, is_normal: bool = False) -> Number:
    """The logarithm to the base 2; arguments of `log`."""
    return _function(_log2, x, is_normal)


def log10(x: Number, is_normal: bool = False) -> Number:
    """The logarithm to the base 10; arguments of `log`."""
    return _function(_log10, x, is_normal)


def is_not_normal(x: Number) -> Condition:
    """Where a number is not positive and normal: 0, negative, denormal, infinite or NaN."""
    fraction, bias = x.format.fraction, x.format.bias
    return (x.bits - (1 << fraction)).is_above(((2 * bias) << fraction) - 1)


def log1p(x: Number) -> Number:
    """log(1 + x)."""
    return _log1p(x).copysign(x)


def _log1p(x: Number) -> Number:
    """log(1 + x); the sign of a zero is lost. The mantissa of the sum is computed without its rounding error, as
    2**-e * x + (2**-e - 1)."""
    fraction, bias = x.format.fraction, x.format.bias
    total = x + 1.0
    exponent, mantissa = _normalized(total.bits)
    scale = ((bias - exponent) << fraction).number
    f = (x < 2.0 ** (fraction + 2)).select(x.times_plus(scale, scale - 1.0), mantissa - 1.0)
    return _checked(total, _log(_parts_of(exponent.converted, f)))


class _Parts(NamedTuple):
    """log(x) = exponent * log(2) + (f - square / 2 + tail)."""

    exponent: Number
    f: Number
    square: Number
    tail: Number


def _normalized(bits: Bits) -> tuple[Bits, Number]:
    """The exponent e and the mantissa m of the bits of a positive normal number 2**e * m; m is from sqrt(1/2) to
    sqrt(2). An exponent that was subtracted from the bits is subtracted from e."""
    fraction, root = bits.format.fraction, _ROOT[bits.format]
    shifted = bits - root
    return shifted >> fraction, ((shifted & ((1 << fraction) - 1)) + root).number


def normal_parts(x: Number) -> tuple[Number, Number]:
    """The exponent and the mantissa of a positive finite number, as of `_normalized`."""
    fraction = x.format.fraction
    is_normal = x.compare("oge", 2.0 ** (1 - x.format.bias))
    bits = is_normal.select(x, x * 2.0**fraction).bits
    exponent, mantissa = _normalized(is_normal.select_bits(bits, bits - (fraction << fraction)))
    return exponent.converted, mantissa


def _function(combine: Callable[[_Parts], Number], x: Number, is_normal: bool) -> Number:
    """A logarithm, which `combine` computes from the parts of a positive finite number."""
    if is_normal:
        exponent, mantissa = _normalized(x.bits)
        return combine(_parts_of(exponent.converted, mantissa - 1.0))
    exponent, mantissa = normal_parts(x)
    return _checked(x, combine(_parts_of(exponent, mantissa - 1.0)))


def _parts_of(exponent: Number, f: Number) -> _Parts:
    square = f * f
    if f.format is F32:
        return _Parts(exponent, f, square, square * (f * f.polynomial(c.LOG_32)))
    s = f / (f + 2.0)
    w = s * s
    return _Parts(exponent, f, square, s * w.times_plus(w.polynomial(c.LOG_64), square * 0.5))


def _log(parts: _Parts) -> Number:
    high, low = _LN2[parts.f.format]
    correction = parts.square.times_plus(-0.5, parts.exponent.times_plus(low, parts.tail))
    return parts.exponent.times_plus(high, parts.f + correction)


def _log2(parts: _Parts) -> Number:
    return _other_base(parts, parts.exponent, None, _LOG2_E[parts.f.format])


def _log10(parts: _Parts) -> Number:
    high, low = _LOG10_2[parts.f.format]
    return _other_base(parts, parts.exponent * high, parts.exponent * low, _LOG10_E[parts.f.format])


def _other_base(parts: _Parts, whole: Number, rest: Number | None, factor: tuple[float, float]) -> Number:
    """(f - square / 2 + tail) * factor + whole + rest; rest may be absent."""
    high, low = factor
    half = parts.square * 0.5
    start = parts.f - half
    start = ((start.bits >> _LOW_BITS[start.format]) << _LOW_BITS[start.format]).number
    end = parts.f - start - half + parts.tail
    product = start * high
    small = (end + start) * low + end * high
    if rest is not None:
        small = rest + small
    total = whole + product
    return total + (whole - total + product + small)


def _checked(x: Number, result: Number) -> Number:
    """The logarithm `result` of a positive finite x; of 0, infinity, a negative number and NaN as in IEEE 754."""
    result = x.compare("uge", math.inf).select(x, result)
    result = (x < 0.0).select(math.nan, result)
    return x.compare("oeq", 0.0).select(-math.inf, result)


def log2_pair(x: Number) -> Pair:
    """The logarithm to the base 2 of a number of f64 of at least 0, with a relative error of 2**-65: the exponent, and
    s * (F + s**2 * (S + s**2 * p(s**2))) for the mantissa (1 + s) / (1 - s), where F and S are constants."""
    exponent, mantissa = normal_parts(x)
    s = Pair(mantissa - 1.0, x.writer.number(0.0, x.format)) / ordered_sum(1.0, mantissa)
    square = s * s
    first, first_low = c.LOG2_FIRST_64
    second, second_low = c.LOG2_SECOND_64
    series = ordered_sum(second, square.high * square.high.polynomial(c.LOG2_64)).plus(second_low)
    product = square * series
    series = ordered_sum(first, product.high).plus(first_low).plus(product.low)
    product = s * series
    result = ordered_sum(exponent, product.high).plus(product.low)
    high = x.compare("uge", math.inf).select(x, result.high)
    return Pair(x.compare("oeq", 0.0).select(-math.inf, high), result.low)


def asinh(x: Number) -> Number:
    """The inverse hyperbolic sine, in f64."""
    a = abs(x)
    return (a < _SMALL).select(a, _log_with_root(a, 1.0)).copysign(x)


def acosh(x: Number) -> Number:
    """The inverse hyperbolic cosine, in f64."""
    if x.writer.result is F32:
        t = x - 1.0
        return x.compare("oge", 1.0).select(_log1p(t + (t * (t + 2.0)).sqrt()), math.nan)
    return x.compare("oge", 1.0).select(_log_with_root(x, -1.0), math.nan)


def atanh(x: Number) -> Number:
    """The inverse hyperbolic tangent, in f64: log((1 + x) / (1 - x)) / 2."""
    a = abs(x)
    if x.writer.result is F32:
        return (_log1p(a * 2.0 / (1.0 - a)) * 0.5).copysign(x)
    quotient = ordered_sum(1.0, a) / ordered_sum(1.0, -a)
    result = _checked(quotient.high, _log_of_pair(quotient)) * 0.5
    return (a < _SMALL).select(a, result).copysign(x)


def _log_with_root(a: Number, sign: float) -> Number:
    """log(a + sqrt(a**2 + sign)) for an `a` of at least 0; infinity and NaN remain."""
    square = exact_product(a, a)
    root = exact_sum(square.high, sign).plus(square.low).sqrt()
    total = exact_sum(root.high, a).plus(root.low)
    # The logarithm of 2 * a for a large number, which is computed as that of 2**101 * (a / 2**100).
    is_large = a > _LARGE
    zero = a.writer.number(0.0, a.format)
    total = Pair(is_large.select(a * 2.0**-100, total.high), is_large.select(zero, total.low))
    return a.compare("uge", math.inf).select(a, _log_of_pair(total, is_large.select(101.0, zero)))


def _log_of_pair(x: Pair, doublings: Number | None = None) -> Number:
    """log(x * 2**doublings), where x is a positive number of f64 below 2**1000."""
    fraction, bias = x.high.format.fraction, x.high.format.bias
    exponent, mantissa = _normalized(x.high.bits)
    scale = ((bias - exponent) << fraction).number
    f = ordered_sum(mantissa - 1.0, x.low * scale)
    count = exponent.converted if doublings is None else exponent.converted + doublings
    parts = _parts_of(count, f.high)
    derivative = 1.0 - f.high + parts.square  # 1 / (1 + f) of f's rounding error, in which few bits count
    return _log(parts._replace(tail=f.low.times_plus(derivative, parts.tail)))
