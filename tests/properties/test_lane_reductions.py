"""Reductions by the lanes of vectorized loops compute the results of the oracle, where no order rounds."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepwell.backends.build import build
from stepwell.backends.oracle import run_oracle
from stepwell.backends.passes import apply_passes
from stepwell.core.dtypes import numpy_dtype, parse_dtype
from stepwell.frontends.tvmscript import parse_tvmscript

UPDATES = (
    "{sum} + {x}",
    "{sum} - {x}",
    "{x} * {sum}",
    "T.max({sum}, {x})",
    "T.min({x}, {sum})",
    "T.Select({sum} > {x}, {sum}, {x})",
    "T.Select(A[k] > 0, {sum} + {x}, {sum})",
)


def program(dtype: str, update: str, lanes: int, is_nested: bool, condition: str) -> str:
    """A sum over the lanes of a loop, or over them and a loop around it, into an element of each row."""
    head = f"""
@T.prim_func
def main(A: T.Buffer((64,), "{dtype}"), C: T.Buffer((4,), "{dtype}"), n: T.int32):
    T.func_attr({{"tir.noalias": True}})
    for i in range(2):
        for r in range({3 if is_nested else 1}):
            for k in T.vectorized({lanes}):
                if {condition}:
                    C[i + 1] = """
    return head + update.format(sum="C[i + 1]", x="A[k + r * 16 + i]") + "\n"


@given(
    update=st.sampled_from(UPDATES),
    dtype=st.sampled_from(["float32", "float64", "float16", "bfloat16", "int32", "int8", "uint16"]),
    lanes=st.sampled_from([16, 2, 3, 7, 8, 13]),
    is_nested=st.booleans(),
    condition=st.sampled_from(["n < 64", "k < n", "k * 3 % 5 < n", "A[k] > 0"]),
    n=st.integers(-1, 20),
    seed=st.integers(0, 99),
)
def test_partial_results_of_lanes_combine_to_the_result_of_the_oracle(
    update: str, dtype: str, lanes: int, is_nested: bool, condition: str, n: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    low, high = (1, 2) if "*" in update else (1, 4)
    if dtype != "uint16" and "*" not in update:
        low = -3
    numbers = random.integers(low, high, 64, endpoint=True)
    numbers[numbers == 0] = 1  # the sign of a zero depends on the order
    data = numbers.astype(numpy_dtype(parse_dtype(dtype)))
    start = np.ones(4, data.dtype)
    module = parse_tvmscript(program(dtype, update, lanes, is_nested, condition))
    vectors = apply_passes(module, "tir-resolve-blocks,tir-simplify{unit-loops=true},tir-vectorize-loops")
    results: list[Any] = []
    for run in (
        lambda *values: run_oracle(module, "main", values),
        lambda *values: run_oracle(vectors, "main", values),
        build(module)["main"],
    ):
        results.append(start.copy())
        run(data, results[-1], n)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
