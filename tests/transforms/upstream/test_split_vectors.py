"""Vectors whose last part is wider than its lanes: native code computes the results of the oracle, and accesses no
memory of dead lanes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import Module, apply_passes, build, parse_mlir, parse_tvmscript
from stepwell.core.cpu import CPU_MODELS
from stepwell.core.dtypes import parse_dtype
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.execution import oracle_results, results
from stepwell.tools.testing.guarded import array_before_guard
from stepwell.tools.testing.programs import random_array
from stepwell.transforms.pipelines import lower

FLOATS = ("A[i, j] * B[i, j] + A[i, j]", "T.max(A[i, j], B[i, j])", "T.floor(A[i, j]) / B[i, j]", "T.sqrt(A[i, j])")
INTEGERS = (
    "A[i, j] * B[i, j] + A[i, j]",
    "T.min(A[i, j], B[i, j])",
    "A[i, j] // 3 + A[i, j] % 7",
    "A[i, j] // B[i, j]",
    "T.truncmod(A[i, j], B[i, j]) - A[i, j]",
    "T.Select(A[i, j] < B[i, j], A[i, j], 3) << 2",
)
EXPRESSIONS = {
    **dict.fromkeys(("float32", "float64", "float16", "bfloat16"), FLOATS),
    "float8_e4m3fn": FLOATS[:1],
    **dict.fromkeys(("int32", "int8", "uint8", "int64"), INTEGERS),
}
CASES = [(dtype, expression) for dtype, expressions in EXPRESSIONS.items() for expression in expressions]


def elementwise(lanes: int, dtype: str, expression: str) -> Module:
    """C = expression; the last column of each buffer takes no part."""
    shape = f"(3, {lanes + 1})"
    return parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer({shape}, "{dtype}"), B: T.Buffer({shape}, "{dtype}"), C: T.Buffer({shape}, "{dtype}")):
    for i in range(3):
        for j in T.vectorized({lanes}):
            C[i, j] = {expression}
""")


def arguments(lanes: int, dtype: str, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    arrays = {name: random_array(rng, (3, lanes + 1), parse_dtype(dtype)) for name in "ABC"}
    if "int" in dtype:
        arrays["B"][arrays["B"] == 0] = 1
        arrays["B"][arrays["B"] == -1] = 1
    return arrays


@given(lanes=st.integers(2, 70), case=st.sampled_from(CASES), seed=st.integers(0, 2**16))
def test_vectors_with_dead_lanes_compute_what_the_oracle_computes(lanes: int, case: tuple[str, str], seed: int) -> None:
    module, values = elementwise(lanes, *case), arguments(lanes, case[0], seed)
    split = lower(module, cpu=CPU_MODELS["avx512"])
    assert_same(results(build(split)["main"], values), oracle_results(module, values))


@given(lanes=st.integers(2, 70), dtype=st.sampled_from(("int32", "int8")), seed=st.integers(0, 2**16))
def test_reductions_ignore_dead_lanes(lanes: int, dtype: str, seed: int) -> None:
    module = parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer((3, {lanes + 1}), "{dtype}"), B: T.Buffer((3,), "{dtype}"), C: T.Buffer((3,), "{dtype}")):
    for i in range(3):
        for j in T.vectorized({lanes}):
            B[i] = B[i] + A[i, j]
        for j in T.vectorized({lanes}):
            C[i] = T.min(C[i], A[i, j])
""")
    rng = np.random.default_rng(seed)
    values = {name: random_array(rng, shape, parse_dtype(dtype)) for name, shape in zip("ABC", ((3, lanes + 1), 3, 3))}
    split = lower(module, cpu=CPU_MODELS["avx512"])
    assert_same(results(build(split)["main"], values), oracle_results(module, values))


@pytest.mark.parametrize(("dtype", "lanes"), [("float32", 7), ("float32", 30), ("float64", 3), ("int8", 11)])
def test_the_memory_of_dead_lanes_is_not_accessed(dtype: str, lanes: int) -> None:
    """The last row of each buffer ends where memory that must not be accessed begins."""
    module = parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer((2, {lanes}), "{dtype}"), C: T.Buffer((2, {lanes}), "{dtype}")):
    for i in range(2):
        for j in T.vectorized({lanes}):
            C[i, j] = T.max(A[i, j], T.Cast("{dtype}", 1))
""")
    split = lower(module, cpu=CPU_MODELS["avx512"])
    assert str(split).count("vector.maskedload") == str(split).count("vector.maskedstore") == 1
    a, c = (array_before_guard((2, lanes), np.dtype(dtype)) for _ in range(2))
    a[:] = np.arange(2 * lanes).reshape(2, lanes)
    build(split)["main"](a, c)
    np.testing.assert_array_equal(c, np.maximum(a, 1))


THREE = "%a: memref<64xf32>, %b: memref<64xf32>, %c: memref<64xf32>, %i: index"


def split_text(body: str, parameters: str = "%a: memref<64xf32>, %b: memref<64xf32>, %i: index") -> str:
    return str(
        apply_passes(parse_mlir(f"func.func @f({parameters}) {{ {body}\n func.return }}"), "split-vectors{masks=true}")
    )


def copy(lanes: int, source: str, target: str) -> str:
    """The text of a copy of a vector."""
    kind = f"memref<64xf32>, vector<{lanes}xf32>"
    return f"%v{source} = vector.load %{source}[%i] : {kind}\nvector.store %v{source}, %{target}[%i] : {kind}\n"


def test_masks_replace_three_accesses_or_two_of_narrow_registers() -> None:
    masked = {n for n in range(1, 33) if "masked" in split_text(copy(n, "a", "b"))}
    assert masked == {3, 5, 6, 7, 11, 13, 14, 15, 19, 21, 22, 23, 27, 29, 30, 31}


def test_a_buffer_that_one_loop_loads_and_stores_by_masks_has_no_masked_accesses() -> None:
    def loop(name: str, body: str) -> str:
        return f"%{name} = arith.constant 1 : index\nscf.for %j{name} = %{name} to %i step %{name} {{ {body} }}\n"

    assert "masked" not in split_text(copy(7, "a", "a"))
    assert "masked" not in split_text(loop("p", copy(7, "a", "b")) + copy(7, "b", "a"))
    assert "masked" not in split_text(loop("p", copy(7, "a", "b") + loop("q", copy(7, "b", "a"))))
    assert "masked" in split_text(loop("p", copy(7, "a", "b")) + loop("q", copy(7, "b", "a")))
    assert "masked" in split_text(loop("p", copy(16, "a", "b") + loop("q", copy(7, "b", "c"))), THREE)


def test_all_vectors_of_a_function_with_a_number_of_lanes_are_treated_alike() -> None:
    assert "masked" in split_text(copy(7, "c", "b"), THREE)
    assert "masked" not in split_text(copy(7, "a", "a") + copy(7, "c", "b"), THREE)


def test_divisions_by_variables_are_computed_without_dead_lanes() -> None:
    text = split_text(
        """%x = vector.load %a[%i] : memref<64xi32>, vector<7xi32>
        %c = arith.constant dense<3> : vector<7xi32>
        %q = arith.divsi %x, %c : vector<7xi32>
        %r = arith.divsi %c, %q : vector<7xi32>
        vector.store %r, %b[%i] : memref<64xi32>, vector<7xi32>""",
        "%a: memref<64xi32>, %b: memref<64xi32>, %i: index",
    )
    divisions = [line.rpartition(": ")[2] for line in text.splitlines() if "arith.divsi" in line]
    assert divisions == ["vector<8xi32>", "vector<7xi32>"]
