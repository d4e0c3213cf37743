"""Matrix products by the BLAS of numpy, as functions that programs call by name: `tvm.contrib.cblas`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....expressions.extern import call_packed, extern
from ....expressions.tensor import Tensor
from ..nd import NDArray
from ..registry import register_func


def _multiply(a: NDArray, b: NDArray, c: NDArray, transpose_a: bool, transpose_b: bool) -> None:
    left, right = (
        np.swapaxes(array.layout, -1, -2) if transpose else array.layout
        for array, transpose in ((a, transpose_a), (b, transpose_b))
    )
    np.matmul(left, right, out=c.layout)


register_func("tvm.contrib.cblas.matmul", _multiply, override=True)
register_func("tvm.contrib.cblas.batch_matmul", _multiply, override=True)


def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **options: Any) -> Tensor:
    """The product of matrices (m, k) and (k, n). transa, transb: whether a matrix is passed transposed.  options: of
    `te.extern`.
    """
    rows, columns = lhs.shape[1 if transa else 0], rhs.shape[0 if transb else 1]
    return _call("matmul", (rows, columns), lhs, rhs, transa, transb, options)


def batch_matmul(
    lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, iterative: bool = False, **options: Any
) -> Tensor:
    """The products of matrices (b, m, k) and (b, k, n). iterative: ignored. Other arguments as of `matmul`."""
    rows, columns = lhs.shape[2 if transa else 1], rhs.shape[1 if transb else 2]
    return _call("batch_matmul", (lhs.shape[0], rows, columns), lhs, rhs, transa, transb, options)


def _call(name: str, shape: Any, lhs: Tensor, rhs: Tensor, transa: bool, transb: bool, options: Any) -> Tensor:
    def call(ins: Any, outs: Any) -> Any:
        return call_packed(f"tvm.contrib.cblas.{name}", ins[0], ins[1], outs[0], transa, transb)

    named: dict[str, Any] = {"name": "C", **options}
    return extern(shape, [lhs, rhs], call, **named)


__all__ = ["batch_matmul", "matmul"]
