"""Products of fixed-point numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dtypes import parse_dtype, wrap_int
from ..expressions.errors import TeError
from ..expressions.expr import Call, const
from ..expressions.tensor import Tensor, elementwise_tensor
from .definition import Pattern, operator

Array = Any

_BITS = 31
"""The fractional bits of a multiplier."""


def _reference(data: Array, multiplier: int, shift: int) -> Array:
    right = _BITS + max(-shift, 0)
    kind, factor = parse_dtype("int32"), multiplier << max(shift, 0)
    results = [wrap_int(each * factor + (1 << right - 1) >> right, kind) for each in data.reshape(-1).tolist()]
    return np.array(results, "int32").reshape(data.shape)


@operator("fixed_point_multiply", Pattern.ELEMWISE, _reference)
def fixed_point_multiply(data: Tensor, multiplier: int, shift: int) -> Tensor:
    """The product of int32 and a fixed-point number of 31 fractional bits, shifted left, rounded half up.

    multiplier: the fixed-point number.  shift: the number of bits, negative for a shift to the right, which follows the
    product; a shift to the left precedes it.
    """
    if data.dtype != "int32":
        raise TeError(f"fixed_point_multiply of {data.dtype}, expected int32")
    if not (-(2**31) <= multiplier < 2**31 and -31 < shift < 32):
        raise TeError(
            f"fixed_point_multiply: multiplier {multiplier} and shift {shift}, expected 32 bits and -30 to 31"
        )
    numbers = [const(each, "int32") for each in (multiplier, _BITS, shift)]
    return elementwise_tensor(
        lambda x: Call("int32", "q_multiply_shift", [x, *numbers]), [data], "T_fixed_point_multiply"
    )
