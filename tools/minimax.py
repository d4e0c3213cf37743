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


def _in_squares(function: Function) -> Function:
    """The function of u = x**2 that is `function(x) / x`, for an odd function."""
    return lambda u: function(mp.sqrt(u)) / mp.sqrt(u)


def _problems() -> dict[str, Fit]:
    """The approximations of `expand-math`, by the names of their coefficients."""
    exp = [1 / mp.factorial(k) for k in range(8)]
    exp2 = [mp.log(2) ** k / mp.factorial(k) for k in range(5)]
    log = [mp.mpf(0), *((-1) ** (k + 1) / mp.mpf(k) for k in range(1, 8))]
    half = mp.log(2) / 2 * mp.mpf("1.002")
    mantissas = ((mp.sqrt(0.5) - 1) * mp.mpf("1.001"), (mp.sqrt(2) - 1) * mp.mpf("1.001"))
    atanh_squares = (0, ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.002"))
    quarter = (0, (mp.pi / 4 * mp.mpf("1.0005")) ** 2)
    half_turn = (0, (mp.pi / 2 * mp.mpf("1.01")) ** 2)

    def exponential(bits: int, power: int, terms: int) -> Fit:
        return Fit(
            _quotient(mp.exp, exp, power), (-half, half), range(terms), bits, lambda x: abs(x) ** power * mp.exp(-x)
        )

    def less_one(bits: int, power: int, terms: int) -> Fit:
        return Fit(
            _quotient(mp.exp, exp, power),
            (-half, half),
            range(terms),
            bits,
            lambda x: abs(x) ** power / abs(mp.expm1(x)),
        )

    def binary(bits: int, terms: int) -> Fit:
        ends = (-mp.mpf("0.501"), mp.mpf("0.501"))
        return Fit(
            _quotient(lambda x: mp.mpf(2) ** x, exp2, 1), ends, range(terms), bits, lambda x: abs(x) * mp.mpf(2) ** -x
        )

    inverse_tanh = _in_squares(lambda s: mp.log((1 + s) / (1 - s)))
    error = _in_squares(mp.erf)

    def less_first(function: Function, bits: int, terms: int, interval: tuple[Any, Any], first: int = 1) -> Fit:
        """An odd function divided by x, without the first terms of its Taylor series."""
        squares = _in_squares(function)
        taylor = mp.taylor(function, 0, 2 * first + 9)[1::2]
        return Fit(
            _quotient(squares, taylor, first), interval, range(terms), bits, lambda u: abs(u**first / squares(u))
        )

    def errors(bits: int, terms: int, center: float, interval: tuple[Any, Any]) -> Fit:
        """-log2(erfc(x)) by powers of x - center."""
        low, high = (mp.mpf(end) - center for end in interval)
        return Fit(
            lambda t: -mp.log(mp.erfc(t + center), 2), (low, high), range(terms), bits, lambda t: mp.erfc(t + center)
        )

    return {
        "EXP_32": exponential(24, 2, 5),
        "EXP_64": exponential(53, 3, 9),
        "EXPM1_32": less_one(24, 2, 6),
        "EXPM1_64": less_one(53, 3, 10),
        "SINH_32": less_first(mp.sinh, 24, 4, (0, mp.mpf("1.001"))),
        "SINH_64": less_first(mp.sinh, 53, 8, (0, mp.mpf("1.001"))),
        "EXP2_32": binary(24, 6),
        "EXP2_64": binary(53, 11),
        "LOG_32": Fit(_quotient(mp.log1p, log, 3), mantissas, range(7), 24, lambda f: abs(f**3 / mp.log1p(f))),
        "LOG_64": Fit(lambda w: inverse_tanh(w) - 2, atanh_squares, range(1, 8), 53, lambda w: 1 / inverse_tanh(w)),
        "SIN_32": less_first(mp.sin, 24, 5, half_turn),
        "SIN_64": less_first(mp.sin, 53, 8, half_turn),
        "TAN_32": less_first(mp.tan, 53, 7, quarter),
        "TAN_64": less_first(mp.tan, 53, 14, quarter),
        "ERF_SMALL_32": Fit(lambda u: error(u) - 1, (0, mp.mpf("0.78")), range(7), 24, lambda u: 1 / error(u)),
        "ERF_SMALL_64": Fit(lambda u: error(u) - 1, (0, 1), range(13), 53, lambda u: 1 / error(u)),
        "ERF_LARGE_32": errors(24, 8, 0, ("0.87", "3.94")),
        "ERF_LARGE_64": errors(53, 19, 1, ("0.99", "5.95")),
        "ATAN_32": less_first(mp.atan, 53, 11, (0, 1)),
        "ATAN_64": less_first(mp.atan, 53, 21, (0, 1)),
        "ASIN_32": less_first(mp.asin, 53, 7, (0, mp.mpf("0.2501"))),
        "ASIN_64": less_first(mp.asin, 53, 12, (0, mp.mpf("0.2501"))),
        "LOG2_64": less_first(lambda s: 2 * mp.atanh(s) / mp.log(2), 53, 7, atanh_squares, 2),
        "CBRT_64": Fit(mp.cbrt, (mp.sqrt(0.5), mp.sqrt(2)), range(6), 53, lambda x: 1 / mp.cbrt(x)),
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
    print(f"LN2_OF_32 = {_parts(mp.log(2), 24)[0]!r}")
    print(f"PI_32 = {_parts(mp.pi, 24, 24, 24)!r}")
    for name, value in (("PI", mp.pi), ("HALF_PI", mp.pi / 2)):
        print(f"{name}_64 = {_parts(value, 53, 53, 53)!r}")
        print(f"{name}_SHORT = {_parts(value, 33, 33, 33, 53)!r}")
    for name, value in (("LOG2_FIRST", 2 / mp.log(2)), ("LOG2_SECOND", 2 / (3 * mp.log(2)))):
        print(f"{name}_64 = {_parts(value, 53, 53)!r}")


if __name__ == "__main__":
    main()
