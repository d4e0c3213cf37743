"""Loops of symbolic extent compute the results of the oracle, for every remainder of their sizes."""

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from stepwell.backends.build import build
from stepwell.backends.oracle import run_oracle
from stepwell.backends.passes import apply_passes
from stepwell.core.dtypes import numpy_dtype, parse_dtype
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module

SIZES = (0, 1, 2, 3, 7, 13, 15, 16, 17, 31, 32, 33, 47, 48, 61, 63, 64, 65, 97, 127, 128, 129)
ELEMENTWISE = (
    "C[i, {j}] = A[i, {j}] + B[{j}, i]",
    "C[i, {j}] = T.Select(A[i, {j}] > B[{j}, i], A[i, {j}], S[i])",
    "if {j} < m // 2 or A[i, {j}] > 2:\n    C[i, {j}] = T.if_then_else({j} > 0, A[i, {j} - 1], S[i]) + A[i, {j}]",
    "C[i, {j}] = A[i, m - 1 - {j}] * T.Cast('{dtype}', m)",
    "for k in range(m):\n    C[i, {j}] = C[i, {j}] + B[{j}, i] * A[i, k]",
    "t[0] = A[i, {j}]\nC[i, {j}] = t[0] + B[{j}, i]",
)
REDUCTIONS = (
    "S[i] = S[i] + A[i, {j}]",
    "S[i] = T.max(S[i], A[i, {j}] * B[{j}, i])",
    "if A[i, {j}] > 1:\n    S[i] = S[i] - A[i, {j}]\nC[i, {j}] = A[i, {j}]",
    "S[0] = S[0] + A[i, {j}]",
    "for k in range(m - 1):\n    S[i] = T.max(S[i], A[i, {j}] + B[k, i])",
)
PASSES = (
    "tir-resolve-blocks,tir-vectorize-loops",
    "tir-resolve-blocks,tir-vectorize-loops{masks=true}",
    "tir-resolve-blocks,tir-vectorize-loops{vector-bytes=12 max-lanes=20},tir-simplify",
)


def program(dtype: str, statement: str, index: str, noalias: bool) -> Module:
    """A program on rows of m elements, whose loop over a row is vectorized."""
    text = statement.format(j="j", dtype=dtype).replace("\n", "\n" + " " * 12)
    attributes = 'T.func_attr({"tir.noalias": True})' if noalias else "pass"
    return parse_tvmscript(f"""
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle, s: T.handle):
    {attributes}
    n, m = T.{index}(), T.{index}()
    A = T.match_buffer(a, (n, m), "{dtype}")
    B = T.match_buffer(b, (m, n), "{dtype}")
    C = T.match_buffer(c, (n, m), "{dtype}")
    S = T.match_buffer(s, (n,), "{dtype}")
    for i in range(n):
        t = T.alloc_buffer((1,), "{dtype}")
        for j in T.vectorized(m):
            {text}
""")


CONDITIONS = (
    "{j} < m",
    "{j} < m and {j} < n * 3",
    "{j} >= 2 and m - {j} > 1",
    "{j} * 2 + 3 <= m and {j} < m",
    "{j} < m and {j} >= n",
    "{j} < m and (i == {outer} or {j} > 3)",
    "{j} < m and {outer} == 1",
    "{outer} != n and m >= {j} + 1",
)
PARTITIONS = (
    "tir-resolve-blocks,tir-partition-loops",
    "tir-resolve-blocks,tir-partition-loops,tir-simplify{unit-loops=true},tir-vectorize-loops",
    "tir-resolve-blocks,tir-partition-loops{max-ops=150},tir-simplify,tir-unroll-loops,tir-promote-elements",
)


def tiled(dtype: str, statement: str, index: str, condition: str, tile: int, kind: str) -> Module:
    """A program on rows of m elements, in tiles with a condition at the end of a row."""
    condition = condition.format(j=f"(o * {tile} + t)", outer="o")
    text = statement.format(j="j", dtype=dtype).replace("\n", "\n" + " " * 20)
    return parse_tvmscript(
        f"""
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle, s: T.handle):
    T.func_attr({{"tir.noalias": True}})
    n, m = T.{index}(), T.{index}()
    A = T.match_buffer(a, (n, m), "{dtype}")
    B = T.match_buffer(b, (m, n), "{dtype}")
    C = T.match_buffer(c, (n, m), "{dtype}")
    S = T.match_buffer(s, (n,), "{dtype}")
    for i in range(n):
        for o in range((m + {tile - 1}) // {tile}):
            for t in T.{kind}({tile}):
                if {condition}:
                    j = T.let(o * {tile} + t)
                    {text}
""".replace("j = T.let(", "j = (")
    )


def arguments(dtype: str, rows: int, columns: int, seed: int) -> list[Any]:
    """Arrays of small positive integers, so that no sum is rounded."""
    random, kind = np.random.default_rng(seed), numpy_dtype(parse_dtype(dtype))
    shapes = (rows, columns), (columns, rows), (rows, columns), (rows,)
    return [random.integers(1, 3, shape, endpoint=True).astype(kind) for shape in shapes]


@given(
    statement=st.sampled_from(ELEMENTWISE + REDUCTIONS),
    dtype=st.sampled_from(["float32", "float64", "float16", "int32", "int8"]),
    index=st.sampled_from(["int64", "int32"]),
    noalias=st.booleans(),
    rows=st.sampled_from([0, 1, 2, 5]),
    columns=st.sampled_from(SIZES),
    passes=st.sampled_from(PASSES),
    seed=st.integers(0, 99),
)
def test_vectorized_loops_of_symbolic_extent(
    statement: str, dtype: str, index: str, noalias: bool, rows: int, columns: int, passes: str, seed: int
) -> None:
    module = program(dtype, statement, index, noalias)
    vectors = apply_passes(module, passes)
    vectors.verify()
    results: list[list[Any]] = []
    for run in (
        lambda *values: run_oracle(module, "main", values),
        lambda *values: run_oracle(vectors, "main", values),
        build(module)["main"],
    ):
        results.append(arguments(dtype, rows, columns, seed))
        run(*results[-1])
    for result in results[1:]:
        for after, before in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(after, before)


@given(
    statement=st.sampled_from([text for text in ELEMENTWISE + REDUCTIONS if "t[0]" not in text]),
    condition=st.sampled_from(CONDITIONS),
    tile=st.sampled_from([1, 2, 4, 7, 16, 32]),
    kind=st.sampled_from(["vectorized", "serial", "unroll"]),
    dtype=st.sampled_from(["float32", "int32"]),
    index=st.sampled_from(["int64", "int32"]),
    rows=st.sampled_from([0, 1, 2, 5]),
    columns=st.sampled_from(SIZES),
    passes=st.sampled_from(PARTITIONS),
    seed=st.integers(0, 99),
)
@example(  # a part without iterations is divided again
    "for k in range(m):\n    C[i, {j}] = C[i, {j}] + B[{j}, i] * A[i, k]",
    "{j} >= 2 and m - {j} > 1",
    7,
    "serial",
    "float32",
    "int64",
    1,
    7,
    "tir-resolve-blocks,tir-partition-loops",
    0,
)
def test_partitions_of_loops_of_symbolic_extent(
    statement: str,
    condition: str,
    tile: int,
    kind: str,
    dtype: str,
    index: str,
    rows: int,
    columns: int,
    passes: str,
    seed: int,
) -> None:
    module = tiled(dtype, statement, index, condition, tile, kind)
    parts = apply_passes(module, passes)
    parts.verify()
    results: list[list[Any]] = []
    for run in (
        lambda *values: run_oracle(module, "main", values),
        lambda *values: run_oracle(parts, "main", values),
        build(module)["main"],
    ):
        results.append(arguments(dtype, rows, columns, seed))
        run(*results[-1])
    for result in results[1:]:
        for after, before in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(after, before)
