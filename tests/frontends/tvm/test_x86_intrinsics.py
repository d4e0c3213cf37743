"""Tensor intrinsics of x86-64: `tvm.topi.x86.tensor_intrin`."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import te
from stepwell.frontends.tvm.testing import requires_cascadelake
from stepwell.frontends.tvm.topi import x86_intrinsics as intrinsics


def product(rows: int, length: int, block: int, count: int, dtype: str, intrinsic: Any) -> Any:
    """The result of a tensorized product of uint8 by int8 in blocks of `block` rows of `count` bytes, and numpy's."""
    columns = 2 * block
    a = te.placeholder((rows, length), "uint8", name="A")
    b = te.placeholder((columns // block, length // count, block, count), "int8", name="B")
    k = te.reduce_axis((0, length), name="k")
    c = te.compute(
        (rows, columns),
        lambda i, j: te.sum(
            a[i, k].astype(dtype) * b[j // block, k // count, j % block, k % count].astype(dtype), axis=k
        ),
        name="C",
    )
    s = te.create_schedule(c.op)
    _, j = s[c].op.axis
    outer, inner = s[c].split(j, block)
    steps, parts = s[c].split(k, count)
    s[c].reorder(outer, s[c].op.axis[0], steps, inner, parts)
    s[c].tensorize(inner, intrinsic)
    generator = np.random.default_rng(0)
    x = generator.integers(0, 32, (rows, length)).astype("uint8")
    y = generator.integers(-32, 32, (columns, length)).astype("int8")
    packed = y.reshape(columns // block, block, length // count, count).transpose(0, 2, 1, 3).copy()
    z = tvm.nd.array(np.full((rows, columns), 7, dtype))  # which the init replaces
    tvm.build(s, [a, b, c], "llvm")(tvm.nd.array(x), tvm.nd.array(packed), z)
    return z.numpy(), x.astype(dtype) @ y.astype(dtype).T


@requires_cascadelake
@pytest.mark.parametrize(
    ("name", "block", "count", "dtype"),
    [
        ("dot_16x1x16_uint8_int8_int32", 16, 4, "int32"),
        ("dot_16x1x16_uint8_int8_int32_cascadelake", 16, 4, "int32"),
        ("dot_16x1x16_uint8_int8_int32_skylake", 16, 4, "int32"),
        ("dot_16x1x16_uint8_int8_int16", 128, 2, "int16"),
    ],
)
def test_products_of_bytes(name: str, block: int, count: int, dtype: str) -> None:
    got, expected = product(3, 16, block, count, dtype, getattr(intrinsics, name)())
    np.testing.assert_array_equal(got, expected)
