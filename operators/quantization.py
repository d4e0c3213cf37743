"""Operators that quantize floats to integers, and dequantize integers to floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dtypes import int_range, numpy_dtype, parse_dtype
from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast
from ..expressions.tensor import Tensor, compute, is_same_extent
from .axes import nonnegative_axis
from .definition import Pattern, operator
from .requirements import require_floats, require_integers, require_one_of
from .rounding import saturating_cast

Array = Any

_INTEGERS = ("int4", "uint4", "int8", "uint8", "int16", "uint16", "int32")
_FLOATS = ("float16", "float32", "float64")


def _parameters(data: Tensor, scale: Tensor, zero_point: Tensor, axis: int, name: str) -> Any:
    """A function from indices to the scale and the zero point. TeError for parameters that do not fit data."""
    require_floats(scale, f"{name}: scale")
    require_integers(zero_point, f"{name}: zero point")
    dimension = nonnegative_axis(axis, data.ndim, name) if scale.ndim or zero_point.ndim else 0
    for what, parameter in (("scale", scale), ("zero point", zero_point)):
        if parameter.ndim and (parameter.ndim > 1 or not is_same_extent(parameter.shape[0], data.shape[dimension])):
            expected = f"expected [] or [{data.shape[dimension]}], as along axis {dimension} of data"
            raise TeError(f"{name}: {what} of shape {list(parameter.shape)}, {expected}")
    return lambda axes: tuple(each(axes[dimension]) if each.ndim else each() for each in (scale, zero_point))


def _compute(data: Tensor, element: Any, name: str) -> Tensor:
    return compute(data.shape, element, name, "elemwise", varargs_names=[f"ax{d}" for d in range(data.ndim)])


def _along(parameter: Array, rank: int, axis: int) -> Array:
    """A parameter in a shape that broadcasts with data."""
    shape = [1] * rank
    if parameter.ndim:
        shape[axis] = -1
    return parameter.reshape(shape)


def _quantize_reference(data: Array, output_scale: Array, output_zero_point: Array, axis: int, out_dtype: str) -> Array:
    scale, zero = (_along(each, data.ndim, axis) for each in (output_scale, output_zero_point))
    with np.errstate(all="ignore"):
        whole = np.rint(data / scale).astype("float64") + zero.astype("float64")
    least, most = int_range(parse_dtype(out_dtype))
    return np.clip(np.where(np.isnan(whole), least, whole), least, most).astype(numpy_dtype(out_dtype))


@operator("qnn.quantize", Pattern.ELEMWISE, _quantize_reference)
def quantize(
    data: Tensor, output_scale: Tensor, output_zero_point: Tensor, axis: int = -1, out_dtype: str = "int8"
) -> Tensor:
    """Quantizes each element x to the integer `round(x / scale) + zero_point`.

    Halves are rounded to even; a value out of the range of out_dtype becomes the nearest integer in the range, and NaN
    the least integer.  output_scale, output_zero_point: one number for all elements, or one for each index of an axis.
    out_dtype: int4, uint4, int8, uint8, int16, uint16 or int32.
    """
    require_floats(data, "qnn.quantize")
    require_one_of(out_dtype, _INTEGERS, "qnn.quantize: out_dtype")
    at = _parameters(data, output_scale, output_zero_point, axis, "qnn.quantize")

    def element(*axes: PrimExpr) -> PrimExpr:
        scale, zero = at(axes)
        return saturating_cast(cast("float64", scalar.round(data(*axes) / scale)) + cast("float64", zero), out_dtype)

    return _compute(data, element, "T_quantize")


def _dequantize_reference(data: Array, input_scale: Array, input_zero_point: Array, axis: int, out_dtype: str) -> Array:
    scale, zero = (_along(each, data.ndim, axis) for each in (input_scale, input_zero_point))
    with np.errstate(all="ignore"):
        return ((data.astype("int64") - zero.astype("int64")) * scale.astype("float64")).astype(out_dtype)


@operator("qnn.dequantize", Pattern.ELEMWISE, _dequantize_reference)
def dequantize(
    data: Tensor, input_scale: Tensor, input_zero_point: Tensor, axis: int = -1, out_dtype: str = "float32"
) -> Tensor:
    """Dequantizes each integer x to the number `(x - zero_point) * scale`.

    input_scale, input_zero_point: one number for all elements, or one for each index of an axis.  out_dtype: float16,
    float32 or float64.
    """
    require_one_of(data.dtype, _INTEGERS, "qnn.dequantize: data of")
    require_one_of(out_dtype, _FLOATS, "qnn.dequantize: out_dtype")
    at = _parameters(data, input_scale, input_zero_point, axis, "qnn.dequantize")
    kind = "float64" if out_dtype == "float64" else "float32"

    def element(*axes: PrimExpr) -> PrimExpr:
        scale, zero = at(axes)
        left = cast("int64", data(*axes)) - cast("int64", zero)
        return cast(out_dtype, cast(kind, left) * cast(kind, scale))

    return _compute(data, element, "T_dequantize")
