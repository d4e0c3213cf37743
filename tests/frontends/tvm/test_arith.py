"""Facts about integer expressions: `tvm.arith`."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import arith, te, tir
from stepwell.frontends.tvm.arith import IntervalSet

x, y, z = (te.var(name) for name in "xyz")
floordiv, floormod = te.floordiv, te.floormod


def number(expr: Any) -> int:
    """The number that an expression is."""
    return int(expr)


def same(a: Any, b: Any) -> bool:
    return arith.Analyzer().can_prove_equal(a, b)


def test_arithmetic_of_32_bits_does_not_overflow() -> None:
    for expr, expected in (
        (floordiv(x + y + x + y * 3, 2), x + y * 2),
        (floormod(x + y + x + y * 3, 2), 0),
        (floordiv(16 + 48 * x, 16), x * 3 + 1),
        (floordiv(x, 6) * 6 + floormod(floordiv(x, 3), 2) * 3 + floormod(x, 3), x),
        (x * 4 < x * 4 + 1, True),
        (te.max(x + 1, x), x + 1),
        ((x * 0 != 0) | (x < x), False),
    ):
        assert tvm.ir.structural_equal(arith.Analyzer().simplify(expr), tvm.runtime.convert(expected)), expr


def test_elements_of_buffers_are_unknown_numbers() -> None:
    tensor = te.placeholder((10,), name="A", dtype="int32")
    assert tvm.ir.structural_equal(arith.Analyzer().simplify(tensor[x] + 1 - tensor[x]), tir.const(1, "int32"))


def test_numbers_that_do_not_fit_stay_expressions() -> None:
    big = tir.const(2**31 - 1, "int32")
    assert arith.Analyzer().simplify(x * 2 + big + x * 3 + big).dtype == "int32"
    half = tir.const(0.5, "float16")
    assert tvm.ir.structural_equal(arith.Analyzer().simplify(half * tir.const(1, "float16")), half)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (floordiv(x * 4 + 2, 2), (2, 1)),
        (floormod(x * 128 + y * 4, 256), (4, 0)),
        ((x * 4 + 2) * (y * 6 + 1), (4, 2)),
        (te.min(x * 6 + 1, y * 9 + 4), (3, 1)),
        (te.max(x * 6 + 1, 4), (3, 1)),
    ],
)
def test_congruences(expr: Any, expected: tuple[int, int]) -> None:
    found = arith.Analyzer().modular_set(expr)
    assert (found.coeff, found.base) == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((x * 4 + 2) >> 1, (2, 1)),
        (tir.truncdiv(x * 4 + 2, 2), (2, 1)),
        (tir.truncdiv(x * 4 + 1, 2), (1, 0)),
        (tir.truncmod(x * 4 + 1, 4), (1, 0)),
        (tir.truncmod(x * 4, 4), (4, 0)),
        (tir.truncmod(x * 6, 4), (2, 0)),
        (floormod(x * 4 + 3, 8), (4, 3)),
        ((x * 4 + 1) * tir.truncdiv(y * 8, 4), (2, 0)),
        (tir.Select(x > 0, x * 3 + 1, y * 9 + 4), (3, 1)),
    ],
)
def test_congruences_of_quotients(expr: Any, expected: tuple[int, int]) -> None:
    found = arith.Analyzer().modular_set(expr)
    assert (found.coeff, found.base) == expected
    numbers = values(expr, x=range(-9, 9), y=range(-9, 9)).ravel()
    assert set(numbers % (found.coeff or 2**30)) <= {found.base % (found.coeff or 2**30)}


def test_congruences_follow_from_conditions() -> None:
    analyzer = arith.Analyzer()
    with analyzer.constraint_scope(tir.truncmod(x, 3) == 2), analyzer.constraint_scope(floormod(x, 5) == 3):
        assert analyzer.modular_set(x) == arith.ModularSet(15, 8)
        assert analyzer.modular_set(x * 2 + 1) == arith.ModularSet(30, 17)
    assert analyzer.modular_set(x) == arith.ModularSet(1, 0)
    analyzer.update(x, arith.ConstIntBound(0, 100))
    assert analyzer.modular_set(tir.truncmod(x * 4 + 3, 8)) == arith.ModularSet(4, 3)


def values(expr: Any, **ranges: range) -> np.ndarray[Any, Any]:
    """The values of an expression of x and y for all values of the variables."""
    names = {"x": x, "y": y}
    dims = [ranges[name] for name in ranges]
    tensor = te.compute(
        tuple(len(dim) for dim in dims),
        lambda *i: tir.stmt_functor.substitute(
            expr, {names[n]: p + dim.start for n, p, dim in zip(ranges, i, dims, strict=True)}
        ),
    )
    result = np.zeros([len(dim) for dim in dims], "int32")
    tvm.build(te.create_prim_func([tensor]))(result)
    return result


@pytest.mark.parametrize(
    "expr", [x + y, x - y, x * 3 - y * 2, floordiv(x, 3) + y, floormod(y, 4) * 2, te.max(x, y) + 1]
)
def test_intervals_contain_all_values(expr: Any) -> None:
    sets = {x: IntervalSet(-3, 10), y: IntervalSet(1, 11)}
    found = arith.Analyzer().int_set(expr, sets)
    numbers = values(expr, x=range(-3, 11), y=range(1, 12))
    assert number(found.min_value) <= numbers.min()
    assert number(found.max_value) >= numbers.max()


def test_intervals_of_expressions() -> None:
    found = arith.Analyzer().int_set(x + y, {x: IntervalSet(0, 10)})
    assert same(found.min_value, y)
    assert same(found.max_value, y + 10)
    ramp = arith.IntSet.vector(tir.Ramp(10, 3, 4))
    assert (number(ramp.min_value), number(ramp.max_value)) == (10, 19)
    assert IntervalSet.nothing().is_nothing()
    assert IntervalSet.everything().is_everything()


def test_linear_expressions() -> None:
    coefficients = arith.detect_linear_equation(((x * z + y) * 8 + 1) * 2, [x, y])
    assert same(coefficients[0], z * 16)
    assert [number(each) for each in coefficients[1:]] == [16, 2]
    assert arith.detect_linear_equation(x * x, [x]) == []
    assert arith.detect_linear_equation(x * y, [x, y]) == []


def test_bounds_of_conditions() -> None:
    low, high = arith.detect_clip_bound(tir.all(x < y * 6, x - 1 > 0), [x])
    assert number(low) == 2
    assert same(high, y * 6 - 1)
    assert arith.detect_clip_bound(tir.any(x < 3, x > 5), [x]) == []
    assert arith.detect_clip_bound(y == 3, [x]) == [None, None]
    least, _, other, _ = arith.detect_clip_bound(tir.Min(x, y) > 3, [x, y])
    assert (number(least), number(other)) == (4, 4)


@pytest.mark.parametrize("factor", [4, -4])
def test_values_for_which_a_condition_holds(factor: int) -> None:
    found = arith.deduce_bound(x, y + x * factor + 3 < 17, {y: IntervalSet(1, 5)}, {y: IntervalSet(1, 5)})
    holds = (values(y + x * factor + 3, x=range(-50, 50), y=range(1, 6)) < 17).all(axis=1)
    places = np.flatnonzero(holds) - 50
    end = found.max_value if factor > 0 else found.min_value
    assert number(end) == (places.max() if factor > 0 else places.min())
    assert arith.deduce_bound(x, floormod(x, 16) < 10, {}, {}).is_nothing()


def test_regions() -> None:
    i, j = te.var("i"), te.var("j")
    domain = {i: tvm.ir.Range(0, 16), j: tvm.ir.Range(0, 4)}
    region = [tvm.ir.Range.from_min_extent(i * 4 + j, 1)]
    (lower,) = arith.estimate_region_lower_bound(region, domain, True) or [IntervalSet.nothing()]
    (upper,) = arith.estimate_region_upper_bound(region, domain, i * 4 + j < 62)
    assert [number(end) for end in (lower.min_value, lower.max_value)] == [0, 63]
    assert [number(end) for end in (upper.min_value, upper.max_value)] == [0, 61]
    gaps = [tvm.ir.Range.from_min_extent(i * 4, 2)]
    assert arith.estimate_region_lower_bound(gaps, domain, True) is None


def test_bounds_without_an_end_and_of_divisions() -> None:
    analyzer = arith.Analyzer()
    infinite = arith.ConstIntBound.POS_INF
    analyzer.update(x, arith.ConstIntBound(-4, infinite))
    analyzer.update(y, arith.ConstIntBound(1, 9))
    analyzer.update(z, arith.ConstIntBound(-3, 9))
    for expr, expected in (
        (x + 1, (-3, infinite)),
        (x * y, (-36, infinite)),
        (y // z, (-9, 9)),
        (tir.truncdiv(y, z), (-9, 9)),
        (y % z, (-2, 8)),
        (tir.truncmod(z, y), (-3, 8)),
        (te.max(x, y), (1, infinite)),
        (te.var("b", "uint8"), (0, 255)),
        (te.size_var("n"), (0, infinite)),
        (tir.Let(te.var("k"), y, y * 2), (2, 18)),
    ):
        found = analyzer.const_int_bound(expr)
        assert (found.min_value, found.max_value) == expected, expr
    assert analyzer.can_prove(x > -5)
    assert not analyzer.can_prove(x > -4)


def test_numbers_of_64_bits_that_may_overflow_are_unknown() -> None:
    a = te.var("a", "int64")
    analyzer = arith.Analyzer()
    analyzer.update(a, arith.ConstIntBound(0, 2**63 - 2))
    found = analyzer.const_int_bound(a * 4)
    assert (found.min_value, found.max_value) == (arith.ConstIntBound.NEG_INF, arith.ConstIntBound.POS_INF)
    analyzer.enabled_extensions = arith.Extension.ComparisonOfProductAndSum
