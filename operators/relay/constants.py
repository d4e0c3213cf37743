"""The arrays that constants are."""

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
    """The array that a constant is; None for a name that `constants`, which stand beside the module, does not have.

    VerifyException for an array of another type than the constant says.
    """
    shape, dtype = shape_of(op.result), numpy_dtype(dtype_of_tensor(op.result))
    if op.array_name is None:
        assert op.number is not None
        return np.full([size for size in shape if isinstance(size, int)], op.number, dtype)
    name = op.array_name.data
    found = constants.get(name)
    if found is not None and (found.shape != shape or found.dtype != dtype):
        raise VerifyException(
            f"constant {name!r}: an array {found.dtype}{list(found.shape)}, expected {op.result.type}"
        )
    return found
