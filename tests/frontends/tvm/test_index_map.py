"""Index maps: images of indices and shapes, inverses, and their use in schedules."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import OptionError, ScheduleError
from stepwell.expressions.expr import IntImm, PrimExpr
from stepwell.frontends.tvm.arith import Analyzer
from stepwell.frontends.tvm.tir import IndexMap, Schedule, Var
from stepwell.frontends.tvmscript import parse_tvmscript

TILED = IndexMap.from_func(lambda i, j: [i // 4, j // 8, i % 4, j % 8])


def number(expr: PrimExpr) -> int | bool:
    value = Analyzer().simplify(expr)
    assert isinstance(value, IntImm), value
    return value.value


def test_indices_and_shapes_are_mapped() -> None:
    assert [number(index) for index in TILED.map_indices([6, 17])] == [1, 2, 2, 1]
    assert TILED(6, 17) == (1, 2, 2, 1)
    assert [number(extent) for extent in TILED.map_shape([8, 32])] == [2, 4, 4, 8]
    i, j = Var("i", "int64"), Var("j", "int64")
    assert number(IndexMap([i, j], [j, i + 1], None).map_shape([4, 8])[1]) == 5
    assert str(IndexMap([i, j], [j, i], None)) == "index_map((i, j) -> (j, i))"
    with pytest.raises(OptionError, match="3 indices, expected 2"):
        TILED.map_indices([1, 2, 3])
    with pytest.raises(OptionError, match="expected a number"):
        TILED.map_shape([8, Var("n", "int64")])


def test_functions_of_indices_are_maps() -> None:
    assert IndexMap.from_func(lambda *axes: axes[::-1], ndim=3)(1, 2, 3) == (3, 2, 1)
    assert IndexMap.from_func(lambda i, *rest, k: (k, *rest, i), ndim=4)(1, 2, 3, 4) == (4, 2, 3, 1)
    mapping, separators = IndexMap.from_func_with_separators(lambda i, j: [i, "axis_separator", j])
    assert (mapping(1, 2), separators) == ((1, 2), [1])
    for wrong in (
        lambda: IndexMap.from_func(lambda *axes: axes),
        lambda: IndexMap.from_func(lambda i: i, ndim=2),
        lambda: IndexMap.from_func(lambda i: [i, "axis_separator", 0]),
        lambda: IndexMap.from_func(lambda **axes: axes),
    ):
        with pytest.raises(OptionError):
            wrong()


@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    tile=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    order=st.permutations(range(4)),
)
def test_inverses_turn_maps_around(shape: tuple[int, int], tile: tuple[int, int], order: list[int]) -> None:
    parts = lambda i, j: (i // tile[0], i % tile[0], j // tile[1], j % tile[1])  # noqa: E731
    mapping = IndexMap.from_func(lambda i, j: [parts(i, j)[n] for n in order])
    images = {mapping(*index): index for index in product(*map(range, shape))}
    inverse, padding = mapping.non_surjective_inverse(shape)
    whole = [number(extent) for extent in mapping.map_shape(shape)]
    for new in product(*map(range, whole)):
        values = {var: IntImm(var.dtype, n) for var, n in zip(inverse.initial_indices, new, strict=True)}
        check = Analyzer()
        for var, value in values.items():
            check.bind(var, value)
        assert bool(number(check.simplify(padding))) is (new not in images)
        if new in images:
            assert tuple(number(index) for index in inverse.map_indices(new)) == images[new]
    if len(images) == len(list(product(*map(range, whole)))):
        assert mapping.inverse(shape).is_equivalent_to(inverse)
    else:
        with pytest.raises(ScheduleError, match="not onto"):
            mapping.inverse(shape)


def test_a_given_inverse_is_the_inverse() -> None:
    mapping = IndexMap.from_func(lambda i: i + 1, inverse_index_map=lambda i: i - 1)
    assert mapping.inverse([4])(3) == (2,)


def test_equal_maps_are_equivalent() -> None:
    assert TILED.is_equivalent_to(IndexMap.from_func(lambda a, b: [a // 4, b // 8, a - a // 4 * 4, b % 8]))
    assert not TILED.is_equivalent_to(IndexMap.from_func(lambda a, b: [a // 4, b // 8, a % 4, b % 4]))
    assert not TILED.is_equivalent_to(IndexMap.from_func(lambda a: [a]))


def test_schedules_take_index_maps() -> None:
    sch = Schedule(
        parse_tvmscript("""
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
""")
    )
    sch.transform_layout("B", ("write", 0), TILED)
    assert "B: T.Buffer((2, 1, 4, 8)" in sch.mod.script()


SYMBOLIC = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (4, n), "float32")
    B = T.match_buffer(b, (4, n), "float32")
    for i, j in T.grid(T.int64(4), n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""


def size_of(sch: Schedule) -> Any:
    """The size `n` of the function of a schedule."""
    func = sch.mod["main"]
    return func.buffer_map[func.params[1]].shape[1]


def test_variables_in_maps_are_sizes() -> None:
    sch = Schedule(parse_tvmscript(SYMBOLIC))
    n = size_of(sch)
    sch.transform_layout("B", ("write", 0), lambda i, j: i * n + j)
    assert "B[vi * n + vj]" in sch.mod.script()
    assert 'sch.get_size(name="n"' in str(sch.trace)
    a, b = np.ones((4, 3), "float32"), np.zeros(12, "float32")
    tvm.build(sch.mod)(a, b)
    np.testing.assert_array_equal(b, 2)
    copy = Schedule(parse_tvmscript(SYMBOLIC))
    sch.trace.apply_to_schedule(copy)
    assert copy.mod.script() == sch.mod.script()


def test_maps_compute_with_functions_of_expressions() -> None:
    sch = Schedule(parse_tvmscript(SYMBOLIC))
    sch.transform_layout(
        "B", "B", lambda i, j: [tvm.tir.floordiv(j, 4), i, tvm.tir.floormod(j, tvm.tir.const(4, j.dtype))]
    )
    assert "B[vj // T.int64(4), vi, vj % T.int64(4)]" in sch.mod.script()


def test_maps_of_blocks_take_sizes() -> None:
    sch = Schedule(parse_tvmscript(SYMBOLIC))
    n = size_of(sch)
    sch.transform_block_layout("B", lambda i, j: (i * n + j,))
    assert len(sch.get_loops("B")) == 1
    a, b = np.ones((4, 5), "float32"), np.zeros((4, 5), "float32")
    tvm.build(sch.mod)(a, b)
    np.testing.assert_array_equal(b, 2)
    with pytest.raises(ScheduleError, match="no size 'm'"):
        sch.transform_block_layout("B", lambda i: (i * Var("m", "int64"),))


def test_an_array_is_moved_to_the_layout_of_a_map() -> None:
    values = np.arange(12).reshape(3, 4)
    moved = tvm.tir.IndexMap.from_func(lambda i, j: (j // 2, i, j % 2)).map_ndarray(values).numpy()
    np.testing.assert_array_equal(moved, values.reshape(3, 2, 2).transpose(1, 0, 2))
    swizzle = tvm.tir.IndexMap.from_func(lambda i, j: (i, j ^ (i & 3)))
    moved = swizzle.map_ndarray(tvm.nd.array(np.arange(16).reshape(4, 4))).numpy()
    np.testing.assert_array_equal(moved[1], [5, 4, 7, 6])
