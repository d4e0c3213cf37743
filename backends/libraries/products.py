"""Sizes of matrix products, from the operands of `relay` operators."""

from __future__ import annotations

import math

from ...expressions.expr import IntImm, PrimExpr, const
from ...expressions.tensor import Tensor

Sizes = tuple[PrimExpr, PrimExpr, PrimExpr]
"""The rows and columns of a product, and the length of the sums."""


def dense_sizes(data: Tensor, weight: Tensor) -> Sizes:
    """Sizes of `nn.dense`, where all but the last axis of the data are rows."""
    n, k = weight.shape
    return math.prod(data.shape[:-1], start=const(1)), n, k


def matmul_sizes(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Sizes:
    """Sizes of a matrix product, or of each product of a batch."""
    m, k = (a.shape[-1], a.shape[-2]) if transpose_a else (a.shape[-2], a.shape[-1])
    return m, b.shape[-2] if transpose_b else b.shape[-1], k


def batch_count(a: Tensor, b: Tensor) -> PrimExpr:
    """The number of products in a batch; a batch of one matrix is broadcast."""
    return b.shape[0] if is_one(a.shape[0]) else a.shape[0]


def is_one(size: PrimExpr) -> bool:
    """Whether a size is the constant 1."""
    return isinstance(size, IntImm) and size.value == 1
