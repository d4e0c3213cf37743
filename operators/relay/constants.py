"""The arrays of constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.utils.exceptions import VerifyException

from ...core.dtypes import numpy_dtype
from .functions import ConstantOp
from .types import dtype_of_tensor, shape_of

Array: TypeAlias = npt.NDArray[Any]


def constant_array(op: ConstantOp, constants: Mapping[str, Array]) -> Array | None:
    """The array of a constant, or None if `constants`, the arrays of the module, lacks the name of the constant.

    VerifyException if the type of the array differs from the type of the constant.
    """
    shape, dtype = shape_of(op.result), numpy_dtype(dtype_of_tensor(op.result))
    if op.array_name is None:
        assert op.number is not None
        return np.full([size for size in shape if isinstance(size, int)], op.number, dtype)
    name = op.array_name.data
    array = constants.get(name)
    if array is not None and (array.shape != shape or array.dtype != dtype):
        raise VerifyException(
            f"constant {name!r}: an array {array.dtype}{list(array.shape)}, expected {op.result.type}"
        )
    return array
