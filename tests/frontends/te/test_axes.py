"""Axes act as their variables in expressions."""

import numpy as np
import pytest

from stepwell import build
from stepwell.frontends import te


@pytest.mark.parametrize("target", ["llvm", "python"])
def test_an_axis_is_compared_when_the_program_runs(target: str) -> None:
    A = te.placeholder((8,), "int32", name="A")
    k = te.reduce_axis((0, 8), "k")
    others = te.compute((1,), lambda i: te.sum(A[k], axis=k, where=k != 2), name="others")
    chosen = te.compute((1,), lambda i: te.sum(te.Select(k == 2, A[k], 0), axis=k), name="chosen")
    a, got = np.arange(1, 9, dtype="int32"), [np.zeros(1, "int32") for _ in range(2)]
    build(te.create_prim_func([A, others, chosen]), target=target)["main"](a, *got)
    assert [int(each[0]) for each in got] == [33, 3]


def test_axes_are_the_same_in_python_if_they_are_one() -> None:
    k, other = te.reduce_axis((0, 8), "k"), te.reduce_axis((0, 8), "k")
    assert {k: 1, other: 2} == {k: 1, other: 2}
    assert k in [other, k]
    assert k not in [other]


def test_a_reduction_over_no_axis_has_one_value() -> None:
    a = te.placeholder((4,), name="A")
    rows = [
        te.compute((4,), lambda i: te.sum(a[i] * 2.0, axis=[])),
        te.compute((4,), lambda i: te.max(a[i], axis=[], where=i > 1)),
        te.compute((4,), lambda i: te.sum(a[i], axis=(), init=10.0)),
    ]
    x = np.arange(4, dtype="float32")
    results = [np.empty(4, "float32") for _ in rows]
    build(te.create_prim_func([a, *rows]))(x, *results)
    lowest = np.finfo("float32").min
    for result, expected in zip(results, ([0, 2, 4, 6], [lowest, lowest, 2, 3], [10, 11, 12, 13]), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_a_number_of_numpy_as_an_element_has_its_data_type() -> None:
    numbers = (0.0, np.float64(0), np.float16(0))
    dtypes = [te.compute((1,), (lambda number: lambda i: number)(each)).dtype for each in numbers]
    assert dtypes == ["float32", "float64", "float16"]


@pytest.mark.parametrize("target", ["llvm", "python"])
def test_a_truth_value_is_the_index_0_or_1(target: str) -> None:
    A = te.placeholder((2, 3), "int32", name="A")
    B = te.compute((6, 3), lambda i, j: A[i <= 3, (j > 1) * 2], name="B")
    a, got = np.arange(6, dtype="int32").reshape(2, 3), np.zeros((6, 3), "int32")
    build(te.create_prim_func([A, B]), target=target)["main"](a, got)
    rows, columns = np.indices((6, 3))
    np.testing.assert_array_equal(got, a[(rows <= 3).astype(int), (columns > 1) * 2])
