"""Tensor intrinsics of GPUs: `tvm.topi.cuda.tensor_intrin`."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import OptionError
from stepwell.frontends.tvm import te
from stepwell.frontends.tvm.topi import cuda_intrinsics as intrinsics

GPU = tvm.device("cuda-emulated")


def run(s: Any, tensors: Any, *arrays: Any) -> Any:
    values = [tvm.nd.array(each, GPU) for each in arrays]
    tvm.build(s, tensors, "cuda-emulated")(*values)
    return values[-1].numpy()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_dp4a_adds_products_of_bytes(dtype: str) -> None:
    total = "int32" if dtype == "int8" else "uint32"
    a, b = te.placeholder((4, 16), dtype, name="A"), te.placeholder((4, 16), dtype, name="B")
    k = te.reduce_axis((0, 16), name="k")
    c = te.compute((4, 4), lambda i, j: te.sum(a[i, k].astype(total) * b[j, k].astype(total), axis=k), name="C")
    s = te.create_schedule(c.op)
    copies = [s.cache_read(each, "local", [c]) for each in (a, b)]
    sums = s.cache_write(c, "local")
    i, j = s[c].op.axis
    s[c].bind(i, te.thread_axis("blockIdx.x"))
    s[c].bind(j, te.thread_axis("threadIdx.x"))
    s[sums].compute_at(s[c], j)
    row, column = s[sums].op.axis
    outer, inner = s[sums].split(s[sums].op.reduce_axis[0], 4)
    s[sums].reorder(outer, row, column, inner)
    for copy in copies:
        s[copy].compute_at(s[sums], outer)
    s[sums].tensorize(column, intrinsics.dp4a(dtypes=(dtype, dtype)))
    generator = np.random.default_rng(0)
    x, y = generator.integers(*((-128, 128) if dtype == "int8" else (0, 256)), (2, 4, 16)).astype(dtype)
    z = run(s, [a, b, c], x, y, np.zeros((4, 4), total))
    np.testing.assert_array_equal(z, x.astype(total) @ y.astype(total).T)


def test_dp4a_takes_bytes_alone() -> None:
    with pytest.raises(OptionError, match=r"dtypes \('int16', 'int8'\), expected \('int8', 'int8'\) or"):
        intrinsics.dp4a(dtypes=("int16", "int8"))


def test_a_warp_multiplies_tiles() -> None:
    a, b = te.placeholder((32, 16), "float16", name="A"), te.placeholder((16, 16), "float16", name="B")
    k = te.reduce_axis((0, 16), name="k")

    def product(x: Any, y: Any, axis: Any) -> Any:
        return lambda i, j: te.sum(x[i, axis].astype("float32") * y[axis, j].astype("float32"), axis=axis)

    c = te.compute((32, 16), product(a, b, k), name="C")
    s = te.create_schedule(c.op)
    shared = [s.cache_read(each, "shared", [c]) for each in (a, b)]
    factors = [
        s.cache_read(each, scope, [c]) for each, scope in zip(shared, ("wmma.matrix_a", "wmma.matrix_b"), strict=True)
    ]
    sums = s.cache_write(c, "wmma.accumulator")
    results = s.cache_read(sums, "shared", [c])
    i, j = s[c].op.axis
    tile, row = s[c].split(i, 16)
    s[c].bind(tile, te.thread_axis("blockIdx.x"))

    def divide(stage: Any, *axes: Any) -> None:
        _, thread = stage.split(stage.fuse(*axes), 32)
        stage.bind(thread, te.thread_axis("threadIdx.x"))

    divide(s[c], row, j)
    for stage in (results, sums):
        s[stage].compute_at(s[c], tile)
    outer, inner = s[sums].split(s[sums].op.reduce_axis[0], 16)
    s[sums].reorder(outer, *s[sums].op.axis, inner)
    for stage in (*factors, *shared):
        s[stage].compute_at(s[sums], outer)
    for stage in shared:
        divide(s[stage], *s[stage].op.axis)
    size, warp, strides = (16, 16), (16, 16, 16), [16, 1]
    loads = (intrinsics.intrin_wmma_load_matrix_A, intrinsics.intrin_wmma_load_matrix_W)
    for stage, load in zip(factors, loads, strict=True):
        s[stage].tensorize(s[stage].op.axis[0], load(strides, strides, warp, "row_major", size, size, "float16"))
    store = intrinsics.intrin_wmma_store_matrix(strides, strides, warp, "float32", size, size)
    s[results].tensorize(s[results].op.axis[0], store)
    x, y = te.placeholder(size, "float16", name="x"), te.placeholder(size, "float16", name="y")
    step = te.reduce_axis((0, 16), name="step")
    gemm = intrinsics.intrin_wmma_gemm(
        x, y, te.compute(size, product(x, y, step), name="z"), strides, strides, strides, warp
    )
    s[sums].tensorize(sums.op.axis[0], gemm)
    generator = np.random.default_rng(0)
    left, right = generator.random((32, 16)).astype("float16"), generator.random((16, 16)).astype("float16")
    z = run(s, [a, b, c], left, right, np.zeros((32, 16), "float32"))
    np.testing.assert_allclose(z, left.astype("float32") @ right.astype("float32"), rtol=1e-3)
