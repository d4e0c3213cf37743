"""Quantized numbers as floats, of a data type that is an operand: `tvm.topi.nn.simulated_quantize`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....expressions import functions as scalar
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, as_expr, cast, const
from ....expressions.tensor import Tensor, compute, is_same_extent
from ....operators.axes import nonnegative_axis
from ....operators.extents import known_extent
from ....operators.requirements import require_floats

SQNN_DISABLE, SQNN_INT8, SQNN_UINT8, SQNN_INT32 = range(4)
SQNN_DTYPE_TO_CODE = {"disable": SQNN_DISABLE, "int8": SQNN_INT8, "uint8": SQNN_UINT8, "int32": SQNN_INT32}
"""The numbers of data types; `disable` for numbers that stay as they are."""
SQNN_CODE_TO_DTYPE = {code: dtype for dtype, code in SQNN_DTYPE_TO_CODE.items()}


def simulated_quantize(
    data: Tensor, out_dtype: Any, output_scale: Tensor | None = None, output_zero_point: Tensor | None = None,
    axis: int = -1,
) -> Tensor:  # fmt: skip
    """The quotients of floats and the scale, rounded, plus the zero point, and clipped to the range of a data type.

    out_dtype: its number, of `SQNN_DTYPE_TO_CODE`, a number or a tensor of no dimension.  output_scale,
    output_zero_point: one number, or one for each channel; by default 1 and 0.  axis: that of the channels. TeError for
    other shapes.
    """
    name = "simulated_quantize"
    along, scale, zero = _parameters(name, data, output_scale, output_zero_point, axis)
    code = _element(name, out_dtype)

    def element(*i: PrimExpr) -> PrimExpr:
        result: PrimExpr = data(*i)
        wide = scalar.round(data(*i) / scale(i[along])) + zero(i[along])
        for dtype, number in SQNN_DTYPE_TO_CODE.items():
            if number != SQNN_DISABLE:
                low, high = (cast(data.dtype, bound(dtype)) for bound in (scalar.min_value, scalar.max_value))
                result = scalar.if_then_else(code.equal(number), scalar.max(scalar.min(wide, high), low), result)
        return result

    return compute(data.shape, element, name, "elemwise")


def simulated_dequantize(
    data: Tensor, in_dtype: Any, input_scale: Tensor | None = None, input_zero_point: Tensor | None = None,
    axis: int = -1,
) -> Tensor:  # fmt: skip
    """The differences of floats and the zero point times the scale; with the number of `disable` the floats.

    in_dtype: a number of `SQNN_DTYPE_TO_CODE`. Other parameters and errors as of `simulated_quantize`.
    """
    name = "simulated_dequantize"
    along, scale, zero = _parameters(name, data, input_scale, input_zero_point, axis)
    code = _element(name, in_dtype)

    def element(*i: PrimExpr) -> PrimExpr:
        is_quantized = scalar.any(*(code.equal(each) for each in (SQNN_INT8, SQNN_UINT8, SQNN_INT32)))
        return scalar.if_then_else(is_quantized, (data(*i) - zero(i[along])) * scale(i[along]), data(*i))

    return compute(data.shape, element, name, "elemwise")


def _element(name: str, code: Any) -> PrimExpr:
    """The number of a data type."""
    if not isinstance(code, Tensor):
        return as_expr(code)
    if code.ndim:
        raise TeError(f"{name}: a data type of {code.ndim} dimensions, expected 0")
    return code()


_Parameter = Callable[[PrimExpr], PrimExpr]


def _parameters(
    name: str, data: Tensor, scale: Tensor | None, zero_point: Tensor | None, axis: int
) -> tuple[int, _Parameter, _Parameter]:
    """The axis of the channels, and the functions from a channel to its scale and to its zero point."""
    require_floats(data, name)
    along = nonnegative_axis(axis, data.ndim, name)
    channels = data.shape[along]

    def of_channel(tensor: Tensor | None, default: float) -> _Parameter:
        if tensor is None:
            return lambda channel: const(default, data.dtype)
        sizes = list(tensor.shape)
        known, whole = [known_extent(size) for size in sizes], known_extent(channels)
        if len(sizes) > 1 or (known not in ([], [None], [1]) and not (whole is None or known == [whole])):
            raise TeError(f"{name}: scale or zero point of shape {sizes}, expected one number or {channels}")
        if not sizes or known == [1]:
            return lambda channel: cast(data.dtype, tensor(*[0] * len(sizes)))
        if is_same_extent(sizes[0], channels):
            return lambda channel: cast(data.dtype, tensor(channel))
        return lambda channel: cast(data.dtype, tensor(scalar.floormod(channel, sizes[0])))

    return along, of_channel(scale, 1), of_channel(zero_point, 0)


__all__ = [
    "SQNN_CODE_TO_DTYPE", "SQNN_DISABLE", "SQNN_DTYPE_TO_CODE", "SQNN_INT8", "SQNN_INT32", "SQNN_UINT8",
    "simulated_dequantize", "simulated_quantize",
]  # fmt: skip
