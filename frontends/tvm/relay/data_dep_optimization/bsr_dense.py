"""Sparse weights of products of matrices: `tvm.relay.data_dep_optimization.bsr_dense`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....relay.expr import Function
from ..transform import DenseToSparse
from ..weights import dense_weight, is_sparse_enough, sparse_parameters
from .conversion import convert as convert_by
from .conversion import weights_of


def convert(
    func: Function, params: dict[str, Any], blocksize: Sequence[int], sparsity_threshold: float
) -> tuple[Function, dict[str, Any]]:
    """A graph in which `nn.sparse_dense` computes products with sparse weights, and its parameters.

    params: the arrays by name, which are changed: a sparse weight is replaced by `NAME.data`, `NAME.indices` and
    `NAME.indptr`.  blocksize: the rows and columns of a block.  sparsity_threshold: the least share of zeros of a
    sparse weight.  OptionError for a weight without an array, and for one that is not of whole blocks.
    """
    weights = weights_of(func, dense_weight, params, "bsr_dense")
    sparse = {
        name: sparse_parameters(name, weight, blocksize)
        for name, weight in weights.items()
        if is_sparse_enough(weight, sparsity_threshold)
    }
    shapes = [[size for array in parts.values() for size in array.shape] for parts in sparse.values()]
    new = {name: array for parts in sparse.values() for name, array in parts.items()}
    return convert_by(func, DenseToSparse(list(sparse), shapes), params, new)


__all__ = ["convert"]
