"""Functions of quantized numbers as tables: `tvm.relay.qnn.op.canonicalizations`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ......core.errors import OptionError
from .....relay import op
from .....relay.expr import Constant, Expr, Function, const
from .....relay.qnn import dequantize, quantize
from ....ir.module import IRModule
from ...execute import create_executor

Array = npt.NDArray[Any]


def run_const_expr(expr: Expr) -> Array:
    """The value of an expression of constants."""
    return create_executor("vm", mod=IRModule.from_expr(Function([], expr))).evaluate()().numpy()


def create_integer_lookup_table(
    floating_point_func: Callable[[Array], Array],
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> Array:
    """The quantized values of a function of numbers, in the order of the bits of the quantized arguments as unsigned
    integers.

    in_axis, out_axis: the axes of the scales. OptionError for data types other than integers.
    """
    for dtype in (in_dtype, out_dtype):
        if not np.issubdtype(np.dtype(dtype), np.integer):
            raise OptionError(f"table of a function: data type {dtype}, expected integers")
    bits = np.iinfo(in_dtype).bits
    arguments = const(np.arange(2**bits, dtype=f"uint{bits}").view(in_dtype))
    numbers = run_const_expr(dequantize(arguments, input_scale, input_zero_point, axis=in_axis))
    values = const(np.asarray(floating_point_func(numbers), "float32"))
    return run_const_expr(quantize(values, output_scale, output_zero_point, axis=out_axis, out_dtype=out_dtype))


def create_integer_lookup_op(
    input_arg: Expr,
    floating_point_func: Callable[[Array], Array],
    in_scale: Constant,
    in_zero_point: Constant,
    out_scale: Constant,
    out_zero_point: Constant,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> Expr:
    """A function of quantized numbers by a table, as of `create_integer_lookup_table`. OptionError for scales of
    several channels, too."""
    for each in (in_scale, in_zero_point, out_scale, out_zero_point):
        if each.array.size != 1:
            raise OptionError(f"table of a function: scales of shape {each.array.shape}, expected one number")
    scales = [const(float(each.array.item())) for each in (in_scale, out_scale)]
    zeros = [const(int(each.array.item()), "int32") for each in (in_zero_point, out_zero_point)]
    numbers = (scales[0], zeros[0], scales[1], zeros[1])
    table = create_integer_lookup_table(floating_point_func, *numbers, in_axis, out_axis, in_dtype, out_dtype)
    index = op.reinterpret(input_arg, f"uint{np.iinfo(in_dtype).bits}")
    return op.take(const(table), index, axis=0, mode="fast")
