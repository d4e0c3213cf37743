"""Operators that quantize floats to integers, and dequantize integers to floats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from .rounding import round_halves_away, saturating_cast

Array = Any

_INTEGERS = ("int4", "uint4", "int8", "uint8", "int16", "uint16", "int32")
_FLOATS = ("float16", "float32", "float64")


def parameter_at(data: Tensor, parameter: Tensor, axis: int, what: str) -> Callable[[Sequence[PrimExpr]], PrimExpr]:
    """The function from the indices of data to a parameter: one number, or one for each index of an axis.

    what: the name in the error. TeError for a parameter that does not fit data.
    """
    if parameter.ndim == 0:
        return lambda axes: parameter()
    name, _, kind = what.partition(": ")
    dimension = nonnegative_axis(axis, data.ndim, name)
    if parameter.ndim > 1 or not is_same_extent(parameter.shape[0], data.shape[dimension]):
        expected = f"expected [] or [{data.shape[dimension]}], as along axis {dimension} of data"
        raise TeError(f"{name}: {kind} of shape {list(parameter.shape)}, {expected}")
    return lambda axes: parameter(axes[dimension])


def scale_at(data: Tensor, scale: Tensor, axis: int, name: str) -> Callable[[Sequence[PrimExpr]], PrimExpr]:
    """The function from the indices of data to a scale. TeError as for `parameter_at`, and for integers."""
    require_floats(scale, f"{name}: scale")
    return parameter_at(data, scale, axis, f"{name}: scale")


def zero_point_at(data: Tensor, zero: Tensor, axis: int, name: str) -> Callable[[Sequence[PrimExpr]], PrimExpr]:
    """The function from the indices of data to a zero point. TeError as for `parameter_at`, and for floats."""
    require_integers(zero, f"{name}: zero point")
    return parameter_at(data, zero, axis, f"{name}: zero point")


def elements_of(data: Tensor, element: Any, name: str) -> Tensor:
    """A tensor of the shape of data. element: a function of the indices."""
    return compute(data.shape, element, name, "elemwise", varargs_names=[f"ax{d}" for d in range(data.ndim)])


def quantized(value: PrimExpr, scale: PrimExpr, zero: PrimExpr, dtype: str, ties: str = "away") -> PrimExpr:
    """The integer that represents a float, saturated. ties: the rounding of halves, as of `qnn.quantize`."""
    round = scalar.round if ties == "even" else round_halves_away
    return saturating_cast(cast("float64", round(value / scale)) + cast("float64", zero), dtype)


def dequantized(value: PrimExpr, scale: PrimExpr, zero: PrimExpr, dtype: str) -> PrimExpr:
    """The float that an integer represents."""
    kind = "float64" if dtype == "float64" else "float32"
    wide = "int32" if all(parse_dtype(each.dtype).bits <= 16 for each in (value, zero)) else "int64"
    left = cast(wide, value) - cast(wide, zero)
    return cast(dtype, cast(kind, left) * cast(kind, scale))


def along(parameter: Array, rank: int, axis: int) -> Array:
    """A parameter in a shape that broadcasts with data."""
    shape = [1] * rank
    if parameter.ndim:
        shape[axis] = -1
    return parameter.reshape(shape)


def _round_halves_away(number: Array) -> Array:
    """The reference of `round_halves_away`."""
    whole = np.trunc(number)
    return whole + np.where(np.abs(number - whole) >= 0.5, np.sign(number), 0)


def _quantize_reference(
    data: Array, output_scale: Array, output_zero_point: Array, axis: int, out_dtype: str, ties: str
) -> Array:
    scale, zero = (along(each, data.ndim, axis) for each in (output_scale, output_zero_point))
    round = np.rint if ties == "even" else _round_halves_away
    with np.errstate(all="ignore"):
        whole = round(data / scale).astype("float64") + zero.astype("float64")
    least, most = int_range(parse_dtype(out_dtype))
    return np.clip(np.where(np.isnan(whole), least, whole), least, most).astype(numpy_dtype(out_dtype))


@operator("qnn.quantize", Pattern.ELEMWISE, _quantize_reference)
def quantize(
    data: Tensor,
    output_scale: Tensor,
    output_zero_point: Tensor,
    axis: int = -1,
    out_dtype: str = "int8",
    ties: str = "away",
) -> Tensor:
    """Quantizes each element x to the integer `round(x / scale) + zero_point`.

    A value out of the range of out_dtype becomes the nearest integer in the range, and NaN the least integer.
    output_scale, output_zero_point: one number for all elements, or one for each index of an axis.  out_dtype: int4,
    uint4, int8, uint8, int16, uint16 or int32.  ties: "away" to round halves away from zero, as Relay of TVM 0.16;
    "even" to round them to even, as ONNX and Relax.
    """
    require_floats(data, "qnn.quantize")
    require_one_of(ties, ("away", "even"), "qnn.quantize: ties")
    require_one_of(out_dtype, _INTEGERS, "qnn.quantize: out_dtype")
    scale = scale_at(data, output_scale, axis, "qnn.quantize")
    zero = zero_point_at(data, output_zero_point, axis, "qnn.quantize")
    return elements_of(
        data, lambda *axes: quantized(data(*axes), scale(axes), zero(axes), out_dtype, ties), "T_quantize"
    )


def _dequantize_reference(data: Array, input_scale: Array, input_zero_point: Array, axis: int, out_dtype: str) -> Array:
    scale, zero = (along(each, data.ndim, axis) for each in (input_scale, input_zero_point))
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
    scale = scale_at(data, input_scale, axis, "qnn.dequantize")
    zero = zero_point_at(data, input_zero_point, axis, "qnn.dequantize")
    return elements_of(data, lambda *axes: dequantized(data(*axes), scale(axes), zero(axes), out_dtype), "T_dequantize")
