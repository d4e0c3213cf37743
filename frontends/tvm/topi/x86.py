"""Operators and schedules for processors: `tvm.topi.x86`. They are those of all targets, and products by a BLAS."""

from __future__ import annotations

from typing import Any

from ....expressions.tensor import Tensor
from ....operators.broadcast import add
from ..contrib import cblas
from ..submodules import submodule
from . import cuda
from .cuda import conv2d_nchw, conv2d_nhwc

__all__ = ["batch_matmul_cblas", "conv2d_nchw", "conv2d_nhwc", "dense_cblas", "matmul_cblas"]


def matmul_cblas(
    tensor_a: Tensor, tensor_b: Tensor, bias: Tensor | None = None, out_dtype: str | None = None,
    transpose_a: bool = False, transpose_b: bool = False,
) -> Tensor:  # fmt: skip
    """The product of two matrices, each perhaps transposed, by the BLAS of numpy. bias: added to it.  out_dtype:
    ignored, that of the operands."""
    product = cblas.matmul(tensor_a, tensor_b, transpose_a, transpose_b)
    return product if bias is None else add(product, bias)


def dense_cblas(data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None) -> Tensor:
    """The product of rows and the rows of a weight, by the BLAS of numpy. Other arguments as of `matmul_cblas`."""
    return matmul_cblas(data, weight, bias, out_dtype, False, True)


def batch_matmul_cblas(
    tensor_a: Tensor, tensor_b: Tensor, out_shape: Any = None, out_dtype: str | None = None,
    transpose_a: bool = False, transpose_b: bool = True,
) -> Tensor:  # fmt: skip
    """The products of a batch of pairs of matrices by the BLAS of numpy. out_shape: ignored, follows from the
    others."""
    return cblas.batch_matmul(tensor_a, tensor_b, transpose_a, transpose_b)


def __getattr__(name: str) -> Any:
    module = submodule("tvm.topi.x86", name)
    return getattr(cuda, name) if module is None else module
