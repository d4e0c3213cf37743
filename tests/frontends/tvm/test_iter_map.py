"""Iterator maps: `tvm.arith.detect_iter_map`, its inverse, simplification and division."""

import itertools
from typing import Any

import numpy as np
import pytest

from stepwell.frontends.tvm import arith, te, tir
from stepwell.frontends.tvm.ir import Range

x, y, z = (tir.Var(name) for name in "xyz")
fld, flm = te.floordiv, te.floormod


def value_of(expr: Any, point: dict[Any, int]) -> int:
    """The value of an integer expression."""
    operators = {
        tir.Add: np.add,
        tir.Sub: np.subtract,
        tir.Mul: np.multiply,
        tir.FloorDiv: np.floor_divide,
        tir.FloorMod: np.mod,
    }
    if isinstance(expr, tir.IntImm):
        return expr.value
    if isinstance(expr, tir.Var):
        return point[expr]
    return int(operators[type(expr)](*(value_of(each, point) for each in expr.children)))


MAPS: list[tuple[list[Any], dict[Any, int], Any]] = [
    ([y * 3 + x + 5], {x: 3, y: 4}, True),
    ([x * 4 + y * 2], {x: 3, y: 2}, True),
    ([fld(x, 6), fld(flm(x, 6), 2), flm(x, 2)], {x: 24}, True),
    ([fld(x * 4 + y, 8), flm(x * 4 + y, 8)], {x: 6, y: 4}, True),
    ([x * 10 + y], {x: 13, y: 10}, x * 10 + y < 128),
    ([fld(x, 4) * 4 + flm(x, 4), y], {x: 8, y: 3}, x < 8),
    ([flm(fld(x, 4), 2) * 12 + fld(y, 3) * 4 + flm(x, 4), flm(y, 3)], {x: 8, y: 9}, True),
]


@pytest.mark.parametrize(("indices", "extents", "predicate"), MAPS)
def test_the_digits_of_a_map_take_all_values_of_the_indices(indices, extents, predicate):
    ranges = {var: Range(0, extent) for var, extent in extents.items()}
    found = arith.detect_iter_map(indices, ranges, predicate)
    assert not found.errors
    sums = [arith.normalize_iter_map_to_expr(each) for each in found.indices]
    values = set()
    for numbers in itertools.product(*(range(extent) for extent in extents.values())):
        point = dict(zip(extents, numbers, strict=True))
        if predicate is not True and not value_of(predicate.a, point) < value_of(predicate.b, point):
            continue
        assert [value_of(each, point) for each in sums] == [value_of(each, point) for each in indices]
        values.add(tuple(value_of(each, point) for each in indices))
    box = [
        [
            value_of(each.base, {}) + value_of(each.args[0].scale, {}) * n
            for n in range(value_of(each.args[0].extent, {}))
        ]
        for each in found.indices
    ]
    assert values == set(itertools.product(*box))


@pytest.mark.parametrize(
    ("indices", "extents", "level"),
    [
        ([x, x], {x: 3}, "surjective"),
        ([y * 4 + x], {x: 3, y: 4}, "surjective"),
        ([x], {x: 3, y: 4}, "bijective"),
        ([fld(x, flm(y, 6))], {x: 24, y: 8}, "surjective"),
        ([x * -7 + y], {x: 3, y: 8}, "surjective"),
        ([te.placeholder((8,), "int32", name="table")[x]], {x: 3}, "surjective"),
    ],
)
def test_indices_that_are_no_map_have_an_error(indices, extents, level):
    found = arith.detect_iter_map(indices, {var: Range(0, extent) for var, extent in extents.items()}, True, level)
    assert found.errors
    assert not found.indices


def test_the_inverse_of_a_map_restores_the_variables():
    ranges = {x: Range(0, 8), y: Range(0, 9)}
    indices = [flm(fld(x, 4), 2) * 12 + fld(y, 3) * 4 + flm(x, 4), flm(y, 3)]
    outputs = [tir.Var("a"), tir.Var("b")]
    inverse = arith.inverse_affine_iter_map(arith.detect_iter_map(indices, ranges).indices, outputs)
    assert set(inverse) == {x, y}
    for a, b in itertools.product(range(8), range(9)):
        point = {x: a, y: b}
        values = dict(zip(outputs, (value_of(each, point) for each in indices), strict=True))
        assert [value_of(inverse[var], values) for var in (x, y)] == [a, b]


def test_a_map_simplifies_its_indices():
    ranges = {x: Range(0, 24), y: Range(0, 4)}
    found = arith.iter_map_simplify([fld(x * 4 + y, 8) * 8 + flm(x * 4 + y, 8), te.max(x, y)], ranges)
    assert isinstance(found[1], tir.Max)
    (alone,) = arith.iter_map_simplify([fld(x * 4 + y, 8) * 8 + flm(x * 4 + y, 8)], ranges)
    assert arith.Analyzer().can_prove_equal(alone, x * 4 + y)
    n = tir.SizeVar("n")
    assert arith.iter_map_simplify([fld(x, n) * n + flm(x, n)], {x: Range(0, n * 32)}) == [x]


def test_the_division_of_a_map_has_outer_and_inner_iterators():
    ranges = {x: Range(0, 3), y: Range(0, 4), z: Range(0, 5)}
    (outer, inner), conditions = arith.subspace_divide([z * 12 + y * 3 + x + 7], ranges, [x], z * 4 + y < 18)
    assert (outer.extent.value, inner.extent.value) == (18, 3)
    for point in ({x: a, y: b, z: c} for a in range(3) for b in range(4) for c in range(5)):
        expected = point[z] * 12 + point[y] * 3 + point[x] + 7
        assert value_of(outer.source, point) * 3 + value_of(inner.source, point) == expected
    assert arith.Analyzer().can_prove_equal(conditions[0].extent.a, 17 - z * 4 - y)
    assert conditions[1].extent.value == 1
    assert arith.subspace_divide([x * 12 + y], {x: Range(0, 2), y: Range(0, 12)}, [x]) == []
