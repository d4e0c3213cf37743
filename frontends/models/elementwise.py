"""Elementwise operators with the NaN and the signs of the frameworks."""

from __future__ import annotations

import numpy as np

from ...core.dtypes import numpy_dtype, parse_dtype, value_bounds
from .call import OperatorCall
from .errors import ModelUnsupportedError
from .types import Array
from .values import ModelTensor


def remainder(call: OperatorCall, a: ModelTensor, b: ModelTensor) -> ModelTensor:
    """The remainder of `a / b` rounded down, also for infinite `b`."""
    rest = call.op("mod", a, b)
    signs = [call.scalar("less", each, 0) for each in (rest, b)]
    is_other = call.op("logical_and", call.scalar("not_equal", rest, 0), call.op("logical_xor", *signs))
    return call.op("where", is_other, call.op("add", rest, b), rest)


def nan_propagating_extreme(call: OperatorCall, kind: str, a: ModelTensor, b: ModelTensor) -> ModelTensor:
    """The elementwise maximum or minimum of two tensors; NaN if either element is NaN."""
    name = "maximum" if kind == "Max" else "minimum"
    if _has_no_nan(b):  # the operator returns its second operand if either is NaN
        return call.op(name, b, a)
    extremes = call.op(name, a, b)
    return extremes if _has_no_nan(a) else call.op("where", call.op("isnan", a), a, extremes)


def _has_no_nan(data: ModelTensor) -> bool:
    return not data.is_float or (data.array is not None and not np.isnan(data.array.astype("float64")).any())


def lowest_value(dtype: str) -> Array:
    """The least value of a data type."""
    kind = parse_dtype(dtype)
    if kind.is_bool:
        raise ModelUnsupportedError("the least of bool")
    return np.asarray(value_bounds(kind)[0], numpy_dtype(dtype))
