"""The error function."""

from __future__ import annotations

from . import coefficients as c
from .exponentials import exp2
from .numbers import Number


def erf(x: Number) -> Number:
    """The error function of an f32: x times a polynomial of x**2, and above 0.875 1 - 2**p(x)."""
    a = abs(x)
    u = x * x
    small = x.times_plus(u.polynomial(c.ERF_SMALL_32), x)
    bounded = a.at_most(3.9375)
    large = 1.0 - exp2(-bounded.polynomial(c.ERF_LARGE_32))
    return (a < 0.875).select(small, large.copysign(x))
