"""Functions whose buffers may overlap: a version with a default schedule, or with sums in registers, and the loops of
the program otherwise."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.backends.passes import apply_passes
from stepwell.core.errors import ArgumentError
from stepwell.core.remarks import Remark
from stepwell.frontends.tvmscript import parse_tvmscript

SCHEDULE = "tir-schedule-cpu{cpu=avx2}"
PRODUCT = """
@T.prim_func
def main(a: T.handle, B: T.Buffer((16, 16), "float32"), c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 16), "float32")
    C = T.match_buffer(c, (n, 16), "float32")
    for i, j, k in T.grid(n, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
SHIFT = """
@T.prim_func
def main(A: T.Buffer((65536,), "int32"), B: T.Buffer((65536,), "int32")) -> T.int32:
    for i in range(65536):
        with T.block("B"):
            vi = T.axis.spatial(65536, i)
            B[vi] = A[vi] + 1
    return B[65535]
"""


@pytest.mark.parametrize("text", [PRODUCT, SHIFT])
def test_the_version_is_a_private_function_with_the_schedule(text: str) -> None:
    mod = apply_passes(parse_tvmscript(text), SCHEDULE)
    assert list(mod.functions) == ["main_disjoint", "main"]
    version, main = mod.script().split("def main(")
    assert "@T.prim_func(private=True)" in version
    assert '"tir.noalias": True' in version
    assert "T.vectorized" in version
    assert '"stepwell.disjoint_version": "main_disjoint"' in main
    assert "T.vectorized" not in main
    assert apply_passes(mod, SCHEDULE).script() == mod.script()


def test_a_name_of_the_module_is_not_taken() -> None:
    other = SHIFT.replace("main", "main_disjoint").replace("@T.prim_func", "@T.prim_func(private=True)")
    mod = parse_tvmscript(f"@I.ir_module\nclass Module:\n{indent(SHIFT)}\n{indent(other)}")
    assert "main_disjoint_1" in apply_passes(mod, SCHEDULE).functions


def indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        SHIFT.replace("65536", "16"),
        SHIFT.replace("    for i in", '    T.func_attr({"tir.is_scheduled": True})\n    for i in'),
        SHIFT.replace('B: T.Buffer((65536,), "int32")', 'B: T.Buffer((65536,), "int32", strides=(2,))'),
    ],
    ids=["little work", "a scheduled function", "strides"],
)
def test_other_functions_have_no_version(text: str) -> None:
    assert list(apply_passes(parse_tvmscript(text), SCHEDULE).functions) == ["main"]


def test_a_version_that_no_rule_schedules_is_removed() -> None:
    scan = SHIFT.replace("T.axis.spatial(65536, i)", "T.axis.opaque(65536, i)")
    mod = apply_passes(parse_tvmscript(scan), SCHEDULE)
    assert list(mod.functions) == ["main"]
    assert "disjoint" not in mod.script()


def scheduled() -> stepwell.Module:
    """The product with a schedule of its user."""
    sch = stepwell.Schedule(parse_tvmscript(PRODUCT))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    columns, column = sch.split(j, [None, 4])
    sch.reorder(columns, i, k, column)
    sch.decompose_reduction(block, k)
    sch.unroll(column)
    return sch.mod


@cache
def product(is_scheduled: bool, target: str) -> Any:
    return stepwell.build(scheduled() if is_scheduled else parse_tvmscript(PRODUCT), target)["main"]


@given(
    is_scheduled=st.booleans(),
    rows=st.integers(0, 20),
    offsets=st.lists(st.integers(0, 700), min_size=3, max_size=3),
    seed=st.integers(0, 9),
)
def test_results_are_the_oracle_s_for_all_overlaps(
    is_scheduled: bool, rows: int, offsets: list[int], seed: int
) -> None:
    memory = np.random.default_rng(seed).integers(-2, 3, 1100).astype("float32")
    results = []
    for target in ("python", "llvm"):
        copy = memory.copy()
        a, b, c = (
            copy[start : start + 16 * count].reshape(count, 16)
            for start, count in zip(offsets, (rows, 16, rows), strict=True)
        )
        with np.errstate(all="ignore"):
            product(is_scheduled, target)(a, b, c)
        results.append(copy)
    np.testing.assert_array_equal(*results)


def test_sums_of_a_scheduled_function_are_in_registers_in_its_version() -> None:
    remarks = list[Remark]()
    stepwell.build(scheduled(), remarks=remarks.append)
    promoted = [each for each in remarks if each.pass_name == "tir-promote-elements" and each.kind == "applied"]
    assert {each.place.function for each in promoted} == {"main_disjoint"}


@pytest.mark.parametrize("offset", [0, 1, 65535, 65536])
def test_a_result_is_returned_on_both_ways(offset: int) -> None:
    memory = np.arange(131072, dtype="int32")
    expected = memory.copy()
    for i in range(65536):
        expected[offset + i] = expected[i] + 1
    result = stepwell.build(parse_tvmscript(SHIFT))["main"](memory[:65536], memory[offset : offset + 65536])
    np.testing.assert_array_equal(memory, expected)
    assert result == expected[offset + 65535]


def test_an_error_names_the_function_of_the_program() -> None:
    arrays = (np.zeros(shape, "float32") for shape in ((30, 16), (16, 16), (31, 16)))
    with pytest.raises(ArgumentError, match=r"^main: C: shape\[0\] must be n"):
        stepwell.build(parse_tvmscript(PRODUCT))(*arrays)


def test_a_function_of_the_module_calls_the_version() -> None:
    caller = """
    @T.prim_func
    def both(A: T.Buffer((65536,), "int32"), B: T.Buffer((65536,), "int32"), C: T.Buffer((65536,), "int32")):
        T.evaluate(Module.main(A.data, B.data))
        T.evaluate(Module.main(B.data, C.data))
"""
    text = SHIFT.replace(" -> T.int32", "").replace("    return B[65535]\n", "")
    mod = parse_tvmscript(f"@I.ir_module\nclass Module:\n{indent(text)}{caller}")
    a, b, c = (np.arange(65536, dtype="int32") for _ in range(3))
    stepwell.build(mod)["both"](a, b, c)
    np.testing.assert_array_equal(c, a + 2)
    stepwell.build(mod)["both"](a, a, a)
    np.testing.assert_array_equal(a, np.arange(65536) + 2)
