"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.dtypes import numpy_dtype, parse_dtype, value_bounds
from .call import OperatorCall
from .elementwise import lowest_value
from .types import Array
from .values import ModelTensor


def reduce_along(call: OperatorCall, name: str, data: ModelTensor, axes: Sequence[int], keep: bool) -> ModelTensor:
    """Applies a relay reduction along axes. Accumulates floats of 16 bits in float32."""
    if name in ("sum", "prod", "mean"):
        wide = call.widen_small_floats(data)
        return call.cast(call.op(name, wide, axis=tuple(axes), keepdims=keep), data.dtype) if axes else data
    return call.op(name, data, axis=tuple(axes), keepdims=keep) if axes else data


def reduce_to_extreme(call: OperatorCall, name: str, data: ModelTensor, axes: Sequence[int], keep: bool) -> ModelTensor:
    """The maximum or minimum along axes; NaN if any element is NaN. name: `max` or `min`."""
    if data.dtype == "bool":
        return call.op("any" if name == "max" else "all", data, axis=tuple(axes), keepdims=keep) if axes else data
    if any(data.shape[axis] == 0 for axis in axes):
        return _empty_extreme(call, name, data, axes, keep)
    result = reduce_along(call, name, data, axes, keep)
    if not data.is_float or not axes:
        return result
    is_nan = call.op("any", call.op("isnan", data), axis=tuple(axes), keepdims=keep)
    return call.op("where", is_nan, call.builder.scalar_constant(np.nan, data.dtype), result)


def _empty_extreme(call: OperatorCall, name: str, data: ModelTensor, axes: Sequence[int], keep: bool) -> ModelTensor:
    shape = [1 if axis in axes else extent for axis, extent in enumerate(data.extents) if keep or axis not in axes]
    value = lowest_value(data.dtype) if name == "max" else _highest_value(data.dtype)
    return call.builder.full(shape, value)


def _highest_value(dtype: str) -> Array:
    """The greatest value of a data type."""
    return np.asarray(value_bounds(parse_dtype(dtype))[1], numpy_dtype(dtype))


def log_sum_exp(call: OperatorCall, data: ModelTensor, axes: Sequence[int], keep: bool) -> ModelTensor:
    """Computes log(sum(exp(x - m))) + m for the maximum m of x, which avoids overflow; m is 0 if the maximum is
    infinite."""
    wide = call.widen_small_floats(data) if data.is_float else call.cast(data, "float64")
    if not axes:
        return data
    if any(data.shape[axis] == 0 for axis in axes):
        return call.builder.full(
            [1 if axis in axes else n for axis, n in enumerate(data.extents) if keep or axis not in axes],
            np.asarray(-np.inf, numpy_dtype(data.dtype)),
        )
    most = call.op("max", wide, axis=tuple(axes), keepdims=True)
    most = call.op("where", call.op("isfinite", most), most, call.builder.scalar_constant(0, wide.dtype))
    total = call.op("sum", call.op("exp", call.op("subtract", wide, most)), axis=tuple(axes), keepdims=True)
    result = call.op("add", call.op("log", total), most)
    return call.cast(result if keep else call.op("squeeze", result, axis=tuple(axes)), data.dtype)
