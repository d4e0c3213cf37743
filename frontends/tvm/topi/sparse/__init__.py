"""The module `tvm.topi.sparse`, as of v0.16: products with matrices in CSR."""

from __future__ import annotations

from typing import Any

from .....core.errors import ArgumentError
from .....expressions.tensor import Tensor, compute
from .....operators.sparse import sparse_product
from ...absent import report_absent
from ...contrib.sparse import CSRPlaceholderOp
from . import utils

__getattr__ = report_absent("tvm.topi.sparse")

__all__ = ["csrmm", "csrmv", "dense", "utils"]


def csrmm(a: Any, b: Tensor, c: Tensor | None = None) -> Tensor:
    """The product of a matrix in CSR and a dense matrix. c: a number for each row, which is added."""
    product = sparse_product("csrmm", b, [a.data, a.indices, a.indptr], (0, 0), "csrmm", False)
    return product if c is None else compute(product.shape, lambda i, j: product(i, j) + c(i), tag="broadcast")


def csrmv(a: Any, x: Tensor, y: Tensor | None = None) -> Tensor:
    """The product of a matrix in CSR and a matrix of one column. y: a number for each row, which is added."""
    product = sparse_product("csrmv", x, [a.data, a.indices, a.indptr], (0, 0), "csrmv", False)
    return product if y is None else compute(product.shape, lambda i, j: product(i, 0) + y(i), tag="broadcast")


def dense(data: Any, weight: Any, bias: Tensor | None = None) -> Tensor:
    """The product of a matrix and the transpose of another, one of which is in CSR. bias: a number for each column,
    which is added. ArgumentError unless one of the two is in CSR and the other dense."""
    is_sparse = [isinstance(each, CSRPlaceholderOp) for each in (data, weight)]
    if sum(is_sparse) != 1:
        raise ArgumentError(f"dense: {data!r} and {weight!r}, expected one matrix in CSR and one tensor")
    sparse, other = (data, weight) if is_sparse[0] else (weight, data)
    rows = 0 if is_sparse[0] else 1
    product = sparse_product("dense", other, [sparse.data, sparse.indices, sparse.indptr], (1, rows), "dense", False)
    return product if bias is None else compute(product.shape, lambda i, j: product(i, j) + bias(j), tag="broadcast")
