"""Arrays and numbers of users as arrays of numpy."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .errors import ArgumentError


def is_masked_array(value: Any) -> bool:
    """Whether a value is a masked array of numpy.

    Does not import numpy.ma: a thread that imports it while another thread forks leaves its lock to the child.
    """
    module = sys.modules.get("numpy.ma")
    return module is not None and isinstance(value, getattr(module, "MaskedArray", ()))


def plain_array(value: Any) -> npt.NDArray[Any]:
    """An array, a number or nested lists of numbers as an array of numpy, without a copy if possible.

    Raises ArgumentError for a masked array, whose mask would be lost, and for values that numpy cannot convert.
    """
    if is_masked_array(value):
        raise ArgumentError("expected an array without a mask, got a masked array: `filled()` is a copy without a mask")
    try:
        return np.asarray(value)
    except Exception as error:
        kind = type(value).__name__
        raise ArgumentError(f"expected an array, got {kind}: {type(error).__name__}: {error}") from error


def with_elements_of(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """An array of uint16 as the bfloat16 numbers whose bits it has, if `dtype` is bfloat16: numpy has no such type, so
    programs compute the bits by themselves. Any other array as it is.
    """
    return array.view(dtype) if dtype == ml_dtypes.bfloat16 and array.dtype == np.uint16 else array
