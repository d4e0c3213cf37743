"""Programs without an applicable rule run as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepwell import build, parse_tvmscript, schedule_gpu, te
from stepwell.backends.cuda.emulation import compiler
from stepwell.core.errors import UnsupportedError

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")

HEAD = """
@T.prim_func
def main(A: T.Buffer((6, 7), "int32"), B: T.Buffer((6, 7), "int32")):
"""

NOT_PARALLEL = (
    HEAD
    + """
    for i, j in T.grid(5, 7):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 1, vj] = A[vi, vj] + A[vi + 1, vj]
            B[vi, vj] = A[vi, vj]
"""
)
TRIANGLE = (
    HEAD
    + """
    for i in range(6):
        for j in range(i + 1):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
"""
)
PREFIX_SUMS = (
    HEAD
    + """
    for i, j in T.grid(6, 6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            vj = T.axis.opaque(6, j)
            B[vi, vj + 1] = B[vi, vj] + A[vi, vj]
"""
)
NO_LOOPS = (
    HEAD
    + """
    with T.block("B"):
        T.reads(A[0, 0])
        T.writes(B[1, 2])
        B[1, 2] = A[0, 0]
"""
)
NO_BLOCKS = (
    HEAD
    + """
    B[0, 0] = 1
    for i in range(6):
        for j in range(6):
            B[i, j + 1] = B[i, j] + A[i, j]
"""
)
LOADED_VALUE = (
    HEAD
    + """
    x = A[0, 1]
    for i, j in T.grid(6, 7):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + x
    if x > 3:
        B[0, 0] = x
"""
)
LOADED_CONDITION = (
    HEAD
    + """
    if A[0, 0] > 0:
        for i, j in T.grid(6, 7):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
"""
)
LOADED_BOUNDS = (
    HEAD
    + """
    for i in range(6):
        for j in range(T.min(T.max(A[i, 0], 0), 7)):
            with T.block("B"):
                vi = T.axis.spatial(6, i)
                vj = T.axis.spatial(7, j)
                B[vi, vj] = 5
"""
)
WHILE = (
    HEAD
    + """
    while B[0, 0] < 3:
        for i, j in T.grid(6, 7):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = B[vi, vj] + 1
"""
)
TIME = (
    HEAD
    + """
    for t in range(3):
        for i, j in T.grid(6, 7):
            with T.block("B"):
                vt = T.axis.opaque(3, t)
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + vt
        for i, j in T.grid(6, 7):
            with T.block("A"):
                vt = T.axis.opaque(3, t)
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = B[5 - vi, 6 - vj]
"""
)
ONE_LOOP_FOR_TWO = (
    HEAD
    + """
    for i in range(6):
        for j in range(7):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2
        for j in range(6):
            with T.block("B"):
                vi = T.axis.spatial(6, i)
                vj = T.axis.opaque(6, j)
                B[vi, vj] = B[vi, vj] + B[vi, vj + 1]
"""
)
SAME_NAMES = (
    HEAD
    + """
    for i, j in T.grid(6, 7):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(6, 7):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = B[vi, vj] + 1
"""
)
NESTED = (
    HEAD
    + """
    for i in range(6):
        with T.block("outer"):
            vi = T.axis.spatial(6, i)
            T.reads(A[vi, 0:7])
            T.writes(B[vi, 0:7])
            for j in range(7):
                with T.block("inner"):
                    vj = T.axis.spatial(7, j)
                    B[vi, vj] = A[vi, vj] + 2
"""
)
FOR_A_PROCESSOR = (
    HEAD
    + """
    for i in T.parallel(6):
        for j in T.vectorized(7):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] - 1
"""
)
PROGRAMS = {
    "an order that must be kept": (NOT_PARALLEL, ["parallel loops"]),
    "a bound that a loop says": (TRIANGLE, ["parallel loops"]),
    "rows in order": (PREFIX_SUMS, ["parallel loops"]),
    "no loops": (NO_LOOPS, ["one thread"]),
    "no blocks": (NO_BLOCKS, []),
    "a loaded value": (LOADED_VALUE, []),
    "a loaded condition": (LOADED_CONDITION, []),
    "loaded bounds": (LOADED_BOUNDS, ["parallel loops"]),
    "a while loop": (WHILE, []),
    "a loop over time": (TIME, ["parallel loops", "parallel loops"]),
    "two blocks in a loop": (ONE_LOOP_FOR_TWO, ["parallel loops"]),
    "blocks of one name": (SAME_NAMES, ["elementwise", "elementwise"]),
    "a block in a block": (NESTED, ["parallel loops"]),
    "a schedule for a processor": (FOR_A_PROCESSOR, ["elementwise"]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_odd_program_runs(run: Any, name: str) -> None:
    text, expected = PROGRAMS[name]
    a = np.arange(42, dtype=np.int32).reshape(6, 7) % 11 + 1
    schedules = run(parse_tvmscript(text), a, np.zeros((6, 7), np.int32))
    assert [each.rule for each in schedules.applied] == expected
    if not expected:
        assert schedules.functions["main"].alone


def test_several_functions_are_scheduled() -> None:
    module = parse_tvmscript("""
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(1)
    @T.prim_func
    def g(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(2)
""")
    schedules = schedule_gpu(module)
    assert {name: len(found.applied) for name, found in schedules.functions.items()} == {"f": 1, "g": 1}
    library = build(module, target="cuda-emulated")
    for name, number in (("f", 1), ("g", 2)):
        a = np.zeros(8, np.float32)
        library[name](a)
        np.testing.assert_array_equal(a, np.full(8, number, np.float32))


@given(
    shape=st.lists(st.sampled_from([0, 1, 2, 7, 300]), min_size=1, max_size=2).map(tuple), seed=st.integers(0, 2**16)
)
@settings(max_examples=5)
def test_elements_of_any_sizes(run: Any, shape: tuple[int, ...], seed: int) -> None:
    a = te.placeholder(shape, "float32", "A")
    module = te.create_prim_func([a, te.compute(shape, lambda *i: a[i] * 2.0, name="B")])
    run(module, np.random.default_rng(seed).random(shape, np.float32), np.zeros(shape, np.float32))


@example(rows=1, columns=1, steps=1)
@given(rows=st.sampled_from([0, 1, 3, 41]), columns=st.sampled_from([0, 1, 5, 67]), steps=st.sampled_from([0, 1, 37]))
@settings(max_examples=5)
def test_products_of_any_sizes(run: Any, rows: int, columns: int, steps: int) -> None:
    a, b = te.placeholder((rows, steps), "float32", "A"), te.placeholder((steps, columns), "float32", "B")
    k = te.reduce_axis((0, steps), "k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    random = np.random.default_rng(0)
    arrays = [random.random(shape, np.float32) for shape in ((rows, steps), (steps, columns), (rows, columns))]
    run(te.create_prim_func([a, b, c]), *arrays)


def test_sizes_that_are_not_known() -> None:
    rows, columns = te.var("n"), te.var("m")
    a = te.placeholder((rows, columns), "float32", "A")
    k = te.reduce_axis((0, columns), "k")
    total = te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="S")
    b = te.compute((rows, columns), lambda i, j: a[i, j] - total[i], name="B")
    module = te.create_prim_func([a, b])
    assert [each.rule for each in schedule_gpu(module).applied] == ["normalization"]
    library = build(module, target="cuda-emulated")
    for shape in ((0, 4), (1, 1), (5, 40), (3, 300)):
        given_array, got = np.random.default_rng(0).random(shape, np.float32), np.zeros(shape, np.float32)
        library(given_array, got)
        np.testing.assert_allclose(got, given_array - given_array.sum(1, keepdims=True), rtol=1e-4, atol=1e-4)


def test_a_product_of_sizes_that_are_not_known() -> None:
    """The loops over the elements are fused, although the indices are quotients by a symbolic size."""
    n, m, steps = te.var("n"), te.var("m"), te.var("k")
    a, b = te.placeholder((n, steps), "float32", "A"), te.placeholder((steps, m), "float32", "B")
    k = te.reduce_axis((0, steps), "k")
    module = te.create_prim_func([a, b, te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])
    schedules = schedule_gpu(module)
    assert [each.rule for each in schedules.applied] == ["reduction"]
    library = build(module, target="cuda-emulated")
    for rows, depth, columns in ((0, 2, 3), (5, 7, 3), (2, 1, 300)):
        x, y = np.ones((rows, depth), np.float32), np.arange(depth * columns, dtype=np.float32).reshape(depth, columns)
        z = np.zeros((rows, columns), np.float32)
        library(x, y, z)
        np.testing.assert_allclose(z, x @ y)


def test_a_call_of_python_is_left_to_the_host() -> None:
    module = parse_tvmscript("""
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    if A[0] > T.float32(0):
        T.evaluate(T.call_packed("nothing"))
""")
    with pytest.raises(UnsupportedError):
        build(module, target="cuda-emulated")
