"""Versions of products for one row."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from stepwell import Module, apply_passes, build, parse_tvmscript, schedule_cpu, te
from stepwell.backends.runtime import Program
from stepwell.core.remarks import collect_remarks
from stepwell.dialects.tir import BlockOp, IfOp

PRODUCT = """
@T.prim_func
def main(x: T.handle, W: T.Buffer({shape}, "float32"), b: T.Buffer((24,), "float32"), y: T.handle):
    {attributes}
    n = T.int64()
    X = T.match_buffer(x, (1, n, 40), "float32")
    Y = T.match_buffer(y, (1, n, 24), "float32")
    S = T.alloc_buffer((1, n, 24))
    for h, i, j, k in T.grid(1, n, 24, 40):
        with T.block("S"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                S[vh, vi, vj] = T.float32(0)
            S[vh, vi, vj] = S[vh, vi, vj] + X[vh, vi, vk] * W[{indices}]
    for h, i, j in T.grid(1, n, 24):
        with T.block("Y"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            Y[vh, vi, vj] = T.max(S[vh, vi, vj] + b[vj], T.float32(0))
"""
NOALIAS = 'T.func_attr({"tir.noalias": True})'


def product(transposed: bool = False, attributes: str = NOALIAS) -> Module:
    shape, indices = ((24, 40), "vj, vk") if transposed else ((40, 24), "vk, vj")
    return parse_tvmscript(PRODUCT.format(shape=shape, indices=indices, attributes=attributes))


def versions(module: Module, least_bytes: int = 40 * 24 * 4) -> Module:
    return apply_passes(module, f"tir-version-rows{{least-bytes={least_bytes}}}")


@cache
def program(transposed: bool, attributes: str, target: str) -> Program:
    """The compiled versions of a product."""
    return build(versions(product(transposed, attributes)), target=target)


@pytest.mark.parametrize("attributes", [NOALIAS, "pass"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 2, 9])
def test_any_number_of_rows_has_the_same_results(rows: int, transposed: bool, attributes: str) -> None:
    rng = np.random.default_rng(rows)
    x: Any = rng.integers(-4, 5, (1, rows, 40)).astype("float32")
    w: Any = rng.integers(-4, 5, (40, 24)).astype("float32")
    b: Any = rng.integers(-4, 5, 24).astype("float32")
    for target in ("python", "llvm"):
        y = np.full((1, rows, 24), np.nan, "float32")
        program(transposed, attributes, target)(x, np.ascontiguousarray(w.T) if transposed else w, b, y)
        np.testing.assert_array_equal(y, np.maximum(x @ w + b, 0))


def test_a_number_of_rows_that_is_computed_has_a_version_too() -> None:
    rows = te.var("a"), te.var("b")
    x = te.placeholder((rows[0] * rows[1], 40), "float32", "x")
    w = te.placeholder((40, 24), "float32", "w")
    k = te.reduce_axis((0, 40), "k")
    y = te.compute((rows[0] * rows[1], 24), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), "y")
    module = versions(te.create_prim_func([*rows, x, w, y]))
    (branch,) = (op for op in module.function_ops["main"].walk() if isinstance(op, IfOp))
    extents = {each.extent for op in branch.then.walk() if isinstance(op, BlockOp) for each in op.axes}
    assert extents == {1, 24, 40}


def test_each_version_has_a_schedule_of_its_own() -> None:
    applied = {each.block: each.text for each in schedule_cpu(versions(product()), "avx2").applied}
    assert "rows along vi" in applied["S"]
    assert applied["S_row"].startswith("sums in registers, vectors of 8 lanes along vj")
    assert "rows" not in applied["S_row"]


def test_a_smaller_matrix_and_a_schedule_get_no_version() -> None:
    assert "if n == " in versions(product()).script()
    assert "if n == " not in versions(product(), least_bytes=40 * 24 * 4 + 1).script()
    assert "if n == " not in versions(product(attributes='T.func_attr({"tir.is_scheduled": True})')).script()


def test_large_products_get_versions_when_they_are_built() -> None:
    text = PRODUCT.replace("24", "1024").replace("40", "1024")
    module = parse_tvmscript(text.format(shape=(1024, 1024), indices="vk, vj", attributes=NOALIAS))
    with collect_remarks() as remarks:
        build(module, target="llvm -mcpu=x86-64-v3")
    assert "a version for one row" in [remark.message for remark in remarks if remark.pass_name == "tir-version-rows"]
