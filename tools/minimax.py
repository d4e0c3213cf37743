"""Minimax polynomials with coefficients of a float format, for `expand-math`: the exchange algorithm of Remez.

`python -m stepwell.tools.minimax` prints `transforms/upstream/expand_math/coefficients.py`. The extra `test` installs
mpmath.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath as mp

Function = Callable[[Any], Any]

_DIGITS = 60
_POINTS = 1200


@dataclass(frozen=True)
class Fit:
    """An approximation `sum(c[k] * x**powers[k])` of a function on an interval.

    function: of mpmath's numbers.  interval: both ends.  powers: the exponents of the terms.  bits: the precision of
    the format of the coefficients.  weight: the factor of the error, 1 for the absolute error.
    """

    function: Function
    interval: tuple[Any, Any]
    powers: Sequence[int]
    bits: int
    weight: Function


def fit(problem: Fit) -> tuple[list[float], float]:
    """The coefficients, each a number of the format, and log2 of the greatest weighted error in exact arithmetic.

    The coefficients of the least error are rounded. The first terms should therefore be numbers of the format already:
    fit the quotient by a power of x of the rest of the function, with the power as a factor of the weight.
    """
    with mp.workdps(_DIGITS):
        points = _chebyshev_points(problem.interval, _POINTS)
        values = [problem.function(x) for x in points]
        weights = [problem.weight(x) for x in points]
        rounded = [_round(c, problem.bits) for c in _remez(points, values, weights, problem.powers)]
        error = max(
            abs(w * (value - sum(c * x**p for c, p in zip(rounded, problem.powers, strict=True))))
            for x, value, w in zip(points, values, weights, strict=True)
        )
        return [float(c) for c in rounded], float(mp.log(error, 2))


def _chebyshev_points(interval: tuple[Any, Any], count: int) -> list[Any]:
    low, high = (mp.mpf(end) for end in interval)
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def _round(value: Any, bits: int) -> Any:
    with mp.workprec(bits):
        return +value


def _remez(points: Sequence[Any], values: Sequence[Any], weights: Sequence[Any], powers: Sequence[int]) -> list[Any]:
    """The coefficients of the least greatest weighted error on the points."""
    size = len(powers) + 1
    chosen = [round((len(points) - 1) * (1 - float(mp.cos(mp.pi * k / (size - 1)))) / 2) for k in range(size)]
    coefficients: list[Any] = []
    for _ in range(30):
        rows = [[points[k] ** p for p in powers] + [(-1) ** n / weights[k]] for n, k in enumerate(chosen)]
        *coefficients, level = mp.lu_solve(mp.matrix(rows), mp.matrix([values[k] for k in chosen]))
        errors = [
            w * (value - sum(c * x**p for c, p in zip(coefficients, powers, strict=True)))
            for x, value, w in zip(points, values, weights, strict=True)
        ]
        chosen = _alternation(errors, size)
        if max(map(abs, errors)) <= abs(level) * (1 + mp.mpf(10) ** -4):
            break
    return coefficients


def _alternation(errors: Sequence[Any], size: int) -> list[int]:
    """The positions of `size` consecutive extrema of alternating sign, the greatest error among them."""
    runs: list[int] = []
    for k, error in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[runs[-1]]):
                runs[-1] = k
        else:
            runs.append(k)
    while len(runs) > size:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    return runs


def _quotient(function: Function, taylor: Sequence[Any], power: int) -> Function:
    """`(function(x) - the terms of the Taylor series below `power`) / x**power`, of which `taylor` are the terms."""
    count = len(taylor)

    def value(x: Any) -> Any:
        if abs(x) > mp.mpf(10) ** -12:
            return (function(x) - sum(taylor[k] * x**k for k in range(power))) / x**power
        return sum(taylor[k] * x ** (k - power) for k in range(power, count))

    return value


def _in_squares(function: Function, odd: bool) -> Function:
    """The function of u = x**2 that is `function(x)`, divided by x if the function is odd."""
    return lambda u: function(mp.sqrt(u)) / mp.sqrt(u) if odd else function(mp.sqrt(u))


def _problems() -> dict[str, Fit]:
    """The approximations of `expand-math`, by the names of their coefficients."""
    exp = [1 / mp.factorial(k) for k in range(8)]
    exp2 = [mp.log(2) ** k / mp.factorial(k) for k in range(5)]
    log = [mp.mpf(0), *((-1) ** (k + 1) / mp.mpf(k) for k in range(1, 8))]
    sine = [(-1) ** k / mp.factorial(2 * k + 1) for k in range(6)]
    cosine = [(-1) ** k / mp.factorial(2 * k) for k in range(6)]
    half = mp.log(2) / 2 * mp.mpf("1.002")
    mantissas = ((mp.sqrt(0.5) - 1) * mp.mpf("1.001"), (mp.sqrt(2) - 1) * mp.mpf("1.001"))
    atanh_squares = (0, ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.002"))
    quarter = (0, (mp.pi / 4 * mp.mpf("1.0005")) ** 2)
    half_turn = (0, (mp.pi / 2 * mp.mpf("1.01")) ** 2)

    def exponential(bits: int, power: int, terms: int) -> Fit:
        return Fit(
            _quotient(mp.exp, exp, power), (-half, half), range(terms), bits, lambda x: abs(x) ** power * mp.exp(-x)
        )

    def less_one(bits: int, power: int, terms: int, low: Any) -> Fit:
        return Fit(
            _quotient(mp.exp, exp, power),
            (low, half),
            range(terms),
            bits,
            lambda x: abs(x) ** power / abs(mp.expm1(x)),
        )

    def hyperbolic_sines(bits: int, terms: int) -> Fit:
        function = _in_squares(mp.sinh, odd=True)
        taylor = [1 / mp.factorial(2 * k + 1) for k in range(6)]
        return Fit(_quotient(function, taylor, 1), (0, mp.mpf("1.001")), range(terms), bits, lambda u: u / function(u))

    def binary(bits: int, terms: int) -> Fit:
        ends = (-mp.mpf("0.501"), mp.mpf("0.501"))
        return Fit(
            _quotient(lambda x: mp.mpf(2) ** x, exp2, 1), ends, range(terms), bits, lambda x: abs(x) * mp.mpf(2) ** -x
        )

    def sines(bits: int, terms: int, interval: tuple[Any, Any]) -> Fit:
        function = _in_squares(mp.sin, odd=True)
        return Fit(_quotient(function, sine, 1), interval, range(terms), bits, lambda u: u / function(u))

    cosines = _in_squares(mp.cos, odd=False)
    inverse_tanh = _in_squares(lambda s: mp.log((1 + s) / (1 - s)), odd=True)
    error = _in_squares(mp.erf, odd=True)
    tangent = _in_squares(mp.atan, odd=True)
    arcsine = _in_squares(mp.asin, odd=True)
    return {
        "EXP_32": exponential(24, 2, 5),
        "EXP_64": exponential(53, 3, 9),
        "EXPM1_32": less_one(24, 2, 6, -half),
        "EXPM1_64": less_one(53, 3, 10, -half),
        "TANH_32": less_one(24, 2, 7, -mp.mpf("0.6")),
        "TANH_64": less_one(53, 3, 11, -mp.mpf("0.6")),
        "SINH_32": hyperbolic_sines(24, 4),
        "SINH_64": hyperbolic_sines(53, 8),
        "EXP2_32": binary(24, 6),
        "EXP2_64": binary(53, 11),
        "LOG_32": Fit(_quotient(mp.log1p, log, 3), mantissas, range(7), 24, lambda f: abs(f**3 / mp.log1p(f))),
        "LOG_64": Fit(lambda w: inverse_tanh(w) - 2, atanh_squares, range(1, 8), 53, lambda w: 1 / inverse_tanh(w)),
        "SIN_32": sines(24, 5, half_turn),
        "SIN_64": sines(53, 8, half_turn),
        "SIN_QUARTER_32": sines(53, 4, quarter),
        "COS_QUARTER_32": Fit(_quotient(cosines, cosine, 2), quarter, range(4), 53, lambda u: u**2 / cosines(u)),
        "ERF_SMALL_32": Fit(lambda u: error(u) - 1, (0, mp.mpf("0.78")), range(7), 24, lambda u: 1 / error(u)),
        "ERF_LARGE_32": Fit(lambda x: -mp.log(mp.erfc(x), 2), (mp.mpf("0.87"), mp.mpf("3.94")), range(8), 24, mp.erfc),
        "ATAN_32": Fit(tangent, (0, mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.001")), range(9), 53, lambda u: 1 / tangent(u)),
        "ASIN_32": Fit(arcsine, (0, mp.mpf("0.2501")), range(10), 53, lambda u: 1 / arcsine(u)),
    }


_SPLITS = {
    "LN2": (lambda: mp.log(2), (15, 41)),
    "LOG2_E": (lambda: 1 / mp.log(2), (12, 32)),
    "LOG10_E": (lambda: 1 / mp.log(10), (12, 32)),
    "LOG10_2": (lambda: mp.log10(2), (12, 32)),
}
"""Constants as the sum of two numbers of a format, the first with at most so many bits for each format."""


def _parts(value: Any, *bits: int) -> tuple[float, ...]:
    """Numbers of so many bits each, whose sum is next to a value."""
    parts: list[float] = []
    for count in bits:
        parts.append(float(_round(value, count)))
        value -= parts[-1]
    return tuple(parts)


def main() -> None:
    mp.mp.dps = _DIGITS
    print('"""The coefficients of the approximations of `expand-math`.\n')
    print("The output of `python -m stepwell.tools.minimax`, which states the functions. Powers ascend; the comment")
    print('is the logarithm to the base 2 of the greatest relative error.\n"""\n')
    for name, problem in _problems().items():
        coefficients, error = fit(problem)
        print(f"{name} = (  # {error:.1f}")
        for coefficient in coefficients:
            print(f"    {coefficient!r},")
        print(")")
    for name, (value, bits) in _SPLITS.items():
        for suffix, count, precision in zip(("32", "64"), bits, (24, 53), strict=True):
            print(f"{name}_{suffix} = {_parts(value(), count, precision)!r}")
    print(f"PI_32 = {_parts(mp.pi, 24, 24, 24)!r}")
    for name, value in (("PI", mp.pi), ("HALF_PI", mp.pi / 2)):
        print(f"{name}_64 = {_parts(value, 53, 53, 53)!r}")
        print(f"{name}_SHORT = {_parts(value, 33, 33, 53)!r}")


if __name__ == "__main__":
    main()
