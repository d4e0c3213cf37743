"""Programs of a product of matrices and the operators that follow it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.module import IRModule
from ..block_builder import BlockBuilder
from ..calls import op
from ..expr import Var
from ..struct_info import TensorStructInfo


def get_relax_matmul_module(
    x_shape: Sequence[Any],
    y_shape: Sequence[Any],
    in_dtype: str,
    out_dtype: str | None = None,
    transposed_y: bool = False,
    bias_shape: Sequence[Any] | None = None,
    activation: Callable[[Any], Any] | None = None,
    residual_bin_op: Callable[[Any, Any], Any] | None = None,
    residual_activation: Callable[[Any], Any] | None = None,
) -> IRModule:
    """A program `main` of `x @ y`, with a bias, an activation, and an operator of the result and `x` if given.

    transposed_y: whether the last dimensions of `y` are transposed.  out_dtype: of the product, by default that of the
    inputs.
    """
    out = out_dtype or in_dtype
    x, y = (Var(name, TensorStructInfo(shape, in_dtype)) for name, shape in (("x", x_shape), ("y", y_shape)))
    bias = None if bias_shape is None else Var("bias", TensorStructInfo(bias_shape, out))
    builder = BlockBuilder()
    with builder.function("main", [x, y] if bias is None else [x, y, bias]):
        with builder.dataflow():
            factor: Any = y
            if transposed_y:
                factor = builder.emit(op.permute_dims(y, axes=[*range(len(y_shape) - 2), -1, -2]))
            result = builder.emit(op.matmul(x, factor, out_dtype=out))
            if bias is not None:
                result = builder.emit(result + bias)
            if activation is not None:
                result = builder.emit(activation(result))
            if residual_bin_op is not None:
                result = builder.emit(residual_bin_op(result, x))
                if residual_activation is not None:
                    result = builder.emit(residual_activation(result))
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    return builder.get()


__all__ = ["get_relax_matmul_module"]
