"""Sparse weights of convolutions: `tvm.relay.data_dep_optimization.bsr_conv2d`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....relay.expr import Function, Var
from ...ir.module import IRModule
from ..transform import Conv2dToSparse, Conv2dToSparse2
from ..weights import (
    convolution_weight,
    is_sparse_enough,
    matrix_of_convolution,
    require_sparse_convolution,
    sparse_parameters,
)
from .conversion import convert as convert_by
from .conversion import weights_of


def convert(
    func: Function,
    params: dict[str, Any],
    blocksize: Sequence[int],
    sparsity_threshold: float,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> tuple[Function, dict[str, Any]]:
    """A graph in which `nn.sparse_conv2d` computes convolutions of one pixel with sparse weights, and its parameters.

    params, blocksize, sparsity_threshold: as of `bsr_dense.convert`.  layout: of the images, NHWC or NCHW. Convolutions
    with steps, padding or groups stay. UnsupportedError for another kernel_size than 1, OptionError for another layout.
    """
    require_sparse_convolution("bsr_conv2d", layout, kernel_size)

    def weight_of(expr: Any) -> Var | None:
        weight = convolution_weight(expr, layout)
        return weight if isinstance(weight, Var) else None

    weights = weights_of(func, weight_of, params, "bsr_conv2d")
    sparse = {
        name: sparse_parameters(name, matrix_of_convolution(weight, layout), blocksize, by_rows=True)
        for name, weight in weights.items()
        if is_sparse_enough(weight, sparsity_threshold)
    }
    shapes = [[size for array in parts.values() for size in array.shape] for parts in sparse.values()]
    new = {name: array for parts in sparse.values() for name, array in parts.items()}
    return convert_by(func, Conv2dToSparse(list(sparse), shapes, layout, kernel_size), params, new)


def convert2(
    func: Function,
    params: dict[str, Any],
    blocksize: Sequence[int],
    sparsity_threshold: float,
    layout: str,
    kernel_size: int,
) -> tuple[Function, dict[str, Any]]:
    """A graph in which `nn.sparse_conv2d` computes convolutions of one pixel with constant sparse weights, and `params`
    as they are. The other arguments and the errors are those of `convert`."""
    change = Conv2dToSparse2(layout, kernel_size, blocksize, sparsity_threshold)
    return change(IRModule.from_expr(func))["main"], params


__all__ = ["convert", "convert2"]
