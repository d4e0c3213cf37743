"""sin, cos, tan and their inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import coefficients as c
from .numbers import F32, F64, Bits, Condition, Format, Number
from .pairs import Pair, exact_sum, ordered_sum, product_plus

_SIN = {F32: c.SIN_32, F64: c.SIN_64}

# By the format of the result; the formulas are in f64.
_TAN = {F32: c.TAN_32, F64: c.TAN_64}
_ATAN = {F32: c.ATAN_32, F64: c.ATAN_64}
_ASIN = {F32: c.ASIN_32, F64: c.ASIN_64}


def limit(format: Format, fma: bool) -> float:
    """The greatest magnitude of the arguments of sin, cos and tan: multiples of pi are subtracted exactly from them."""
    if not fma:
        return 2.0**19
    return 2.0**16 if format is F32 else 2.0**28


def sin(x: Number) -> Number:
    """The sine of a number up to the limit in magnitude."""
    n, bits = x.nearest(1 / math.pi)
    return x.compare("oeq", 0.0).select(x, _half_turns(x, n, bits))


def cos(x: Number) -> Number:
    """The cosine of a number up to the limit in magnitude: the sine of half a turn more."""
    n, bits = x.times_plus(1 / math.pi, 0.5).nearest()
    is_one = abs(x) < 2.0 ** -((x.format.fraction + 3) // 2)
    return is_one.select(1.0, _half_turns(x, n - 0.5, bits))


def _rest(x: Number, n: Number, parts: Sequence[float]) -> Pair:
    """x less n times the sum of at least three parts, with the rounding error."""
    first, second, third, *others = parts
    product = n * second
    product_low = n.times_plus(second, -product)  # 0 without fused operations: the product is then exact
    rest = exact_sum(n.times_plus(-first, x), -product)
    rest = exact_sum(rest.high, n.times_plus(-third, rest.low - product_low))
    return Pair(rest.high, rest.low.less_multiple(n, others))


def _half_turns(x: Number, n: Number, bits: Bits) -> Number:
    """The sine of x - n * pi, negated if `bits` is odd. f32 needs fused operations."""
    if x.writer.fma:
        r = x.less_multiple(n, c.PI_32 if x.format is F32 else c.PI_64)
    else:
        rest = _rest(x, n, c.PI_SHORT)
        r = rest.high + rest.low
    u = r * r
    sine = (r * u).times_plus(u.polynomial(_SIN[x.format]), r)
    return (sine.bits ^ (bits << (x.format.bits.width.data - 1))).number


def tan(x: Number) -> Number:
    """The tangent of a number up to the limit in magnitude, in f64: of the rest r of x, tan(r) or -1 / tan(r)."""
    n, bits = x.nearest(2 / math.pi)
    parts = c.HALF_PI_64 if x.writer.fma else c.HALF_PI_SHORT
    if x.writer.result is F32:
        r = x.less_multiple(n, parts)
        tangent = r + _cubic(r)
        cotangent = -1.0 / tangent
    else:
        rest = _rest(x, n, parts)
        # The derivative of the tangent is about u + 1; few bits of it count.
        sum = ordered_sum(rest.high, _cubic(rest.high) + rest.low * (rest.high * rest.high + 1.0))
        tangent, cotangent = sum.high, _negative_inverse(sum)
    result = (bits & 1).equals(0).select(tangent, cotangent)
    return x.compare("oeq", 0.0).select(x, result)


def _cubic(r: Number) -> Number:
    """tan(r) - r."""
    u = r * r
    return r * u * u.polynomial(_TAN[r.writer.result])


def _negative_inverse(x: Pair) -> Number:
    inverse = -1.0 / x.high
    rest = product_plus(inverse, x.high, 1.0) + inverse * x.low
    return inverse.times_plus(rest, inverse)


def atan(x: Number) -> Number:
    """The inverse tangent, in f64."""
    a = abs(x)
    return _angle(a, x.writer.number(1.0, x.format)).copysign(x)


def atan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y), in f64."""
    angle = _angle(abs(y), abs(x))
    angle = (abs(x).compare("oeq", math.inf) & abs(y).compare("oeq", math.inf)).select(math.pi / 4, angle)
    angle = (abs(x).compare("oeq", 0.0) & abs(y).compare("oeq", 0.0)).select(0.0, angle)
    is_left = x.writer.number(1.0, x.format).copysign(x) < 0.0
    pi, pi_low, *_ = c.PI_64
    angle = is_left.select(pi - (angle - pi_low), angle).copysign(y)
    return x.compare("uno", y).select(x + y, angle)


def _angle(a: Number, b: Number) -> Number:
    """The inverse tangent of a / b, of numbers of at least 0 that are neither both 0 nor both infinite."""
    is_steep = a > b
    t = is_steep.select(b, a) / is_steep.select(a, b)
    u = t * t
    angle = (t * u).times_plus(u.polynomial(_ATAN[a.writer.result]), t)
    half_pi, half_pi_low, *_ = c.HALF_PI_64
    return is_steep.select(half_pi - (angle - half_pi_low), angle)


def asin(x: Number) -> Number:
    """The inverse sine, in f64."""
    is_small, t, tail = _arcsine(abs(x))
    half_pi, half_pi_low, *_ = c.HALF_PI_64
    difference = ordered_sum(half_pi, t * -2.0)
    large = difference.high - (tail * 2.0 - (difference.low + half_pi_low))
    return is_small.select(t + tail, large).copysign(x)


def acos(x: Number) -> Number:
    """The inverse cosine, in f64."""
    is_small, t, tail = _arcsine(abs(x))
    inside = t + tail
    pi, pi_low, *_ = c.PI_64
    half_pi, half_pi_low, *_ = c.HALF_PI_64
    double = inside * 2.0
    small = half_pi - (inside.copysign(x) - half_pi_low)
    return is_small.select(small, (x < 0.0).select(pi - (double - pi_low), double))


def _arcsine(a: Number) -> tuple[Condition, Number, Number]:
    """Whether `a` is at most 1/2, and two summands of its inverse sine; else of half of its inverse cosine. The second
    is small."""
    is_small = a.compare("ole", 0.5)
    u = is_small.select(a * a, (1.0 - a) * 0.5)
    t = is_small.select(a, u.sqrt())
    return is_small, t, t * u * u.polynomial(_ASIN[a.writer.result])
