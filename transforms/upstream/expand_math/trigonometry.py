"""sin, cos, tan and their inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import coefficients as c
from .numbers import F32, F64, Bits, Condition, Format, Number

_SIN = {F32: c.SIN_32, F64: c.SIN_64}


def limit(format: Format, fma: bool) -> float:
    """The greatest magnitude of the arguments of sin, cos and tan: multiples of pi are subtracted exactly from them."""
    if not fma:
        return 2.0**19
    return 2.0**16 if format is F32 else 2.0**28


def sin(x: Number) -> Number:
    """The sine of a number up to the limit in magnitude."""
    n, bits = (x * (1 / math.pi)).nearest()
    return x.compare("oeq", 0.0).select(x, _half_turns(x, n, bits))


def cos(x: Number) -> Number:
    """The cosine of a number up to the limit in magnitude: the sine of half a turn more."""
    n, bits = x.times_plus(1 / math.pi, 0.5).nearest()
    is_one = abs(x) < 2.0 ** -((x.format.fraction + 3) // 2)
    return is_one.select(1.0, _half_turns(x, n - 0.5, bits))


def _half_turns(x: Number, n: Number, bits: Bits) -> Number:
    """The sine of x - n * pi, negated if `bits` is odd. f32 needs fused operations."""
    r = _less_multiple(x, n, c.PI_SHORT if not x.writer.fma else c.PI_32 if x.format is F32 else c.PI_64)
    u = r * r
    sine = (r * u).times_plus(u.polynomial(_SIN[x.format]), r)
    return (sine.bits ^ (bits << (x.format.bits.width.data - 1))).number


def _less_multiple(x: Number, n: Number, parts: Sequence[float]) -> Number:
    for part in parts:
        x = n.times_plus(-part, x)
    return x


def tan(x: Number) -> Number:
    """The tangent of a number that was f32, in f64, up to the limit in magnitude."""
    n, bits = (x * (2 / math.pi)).nearest()
    r = _less_multiple(x, n, c.HALF_PI_64 if x.writer.fma else c.HALF_PI_SHORT)
    u = r * r
    sine = (r * u).times_plus(u.polynomial(c.SIN_QUARTER_32), r)
    cosine = (u * u).times_plus(u.polynomial(c.COS_QUARTER_32), u.times_plus(-0.5, 1.0))
    is_even = (bits & 1).equals(0)
    result = is_even.select(sine, -cosine) / is_even.select(cosine, sine)
    return x.compare("oeq", 0.0).select(x, result)


def atan(x: Number) -> Number:
    """The inverse tangent of a number that was f32, in f64."""
    a = abs(x)
    is_large, is_middle = a > math.tan(3 * math.pi / 8), a > math.tan(math.pi / 8)
    zero, one, eighth = (x.writer.number(value, x.format) for value in (0.0, 1.0, math.pi / 4))
    top = is_large.select(-1.0, is_middle.select(a - 1.0, a))
    bottom = is_large.select(a, is_middle.select(a + 1.0, one))
    start = is_large.select(math.pi / 2, is_middle.select(eighth, zero))
    t = top / bottom
    return (t.times_plus((t * t).polynomial(c.ATAN_32), start)).copysign(x)


def atan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y), of numbers that were f32, in f64: their quotient is a normal number."""
    both_infinite = (abs(x).compare("oeq", math.inf)) & (abs(y).compare("oeq", math.inf))
    quotient = abs(y) / abs(x)
    quotient = y.compare("oeq", 0.0).select(0.0, both_infinite.select(1.0, quotient))
    angle = atan(quotient)
    is_left = x.writer.number(1.0, x.format).copysign(x) < 0.0
    angle = is_left.select(math.pi - angle, angle).copysign(y)
    return x.compare("uno", y).select(x + y, angle)


def asin(x: Number) -> Number:
    """The inverse sine of a number that was f32, in f64."""
    is_small, inside = _arcsine(abs(x))
    return is_small.select(inside, math.pi / 2 - inside * 2.0).copysign(x)


def acos(x: Number) -> Number:
    """The inverse cosine of a number that was f32, in f64."""
    is_small, inside = _arcsine(abs(x))
    small = math.pi / 2 - inside.copysign(x)
    double = inside * 2.0
    return is_small.select(small, (x < 0.0).select(math.pi - double, double))


def _arcsine(a: Number) -> tuple[Condition, Number]:
    """Whether `a` is at most 1/2, and its inverse sine; else half of its inverse cosine."""
    is_small = a.compare("ole", 0.5)
    t = is_small.select(a, ((1.0 - a) * 0.5).sqrt())
    return is_small, t * (t * t).polynomial(c.ASIN_32)
