"""The error function."""

from __future__ import annotations

from . import coefficients as c
from .exponentials import one_less_exp2
from .numbers import F32, F64, Number

_SMALL = {F32: c.ERF_SMALL_32, F64: c.ERF_SMALL_64}
_LARGE = {format: [-each for each in values] for format, values in ((F32, c.ERF_LARGE_32), (F64, c.ERF_LARGE_64))}
_LIMIT = {F32: 0.875, F64: 1.0}
_ONE = {F32: 3.9375, F64: 5.9375}
"""The result is 1 from here on."""

_CENTER = {F32: 0.0, F64: 1.0}
"""The second polynomial is of x less this number."""


def erf(x: Number) -> Number:
    """The error function: x times a polynomial of x**2, and from a limit on 1 - 2**p(x), where p is above -60."""
    a = abs(x)
    u = x * x
    small = x.times_plus(u.polynomial(_SMALL[x.format]), x)
    bounded = a.at_most(_ONE[x.format])
    if _CENTER[x.format]:
        bounded = bounded - _CENTER[x.format]
    large = one_less_exp2(bounded.polynomial(_LARGE[x.format]))
    return (a < _LIMIT[x.format]).select(small, large.copysign(x))
