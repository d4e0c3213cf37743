"""The operator `gates.swish`."""

from typing import Any

import numpy as np

from stepwell import te
from stepwell.expressions.tensor import Tensor
from stepwell.operators import Pattern, operator


def reference(data: np.ndarray[Any, Any], beta: float) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        return data / (1 + np.exp(-data * data.dtype.type(beta)))


@operator("gates.swish", Pattern.ELEMWISE, reference)
def swish(data: Tensor, beta: float = 1.0) -> Tensor:
    """The product of each element x with the sigmoid of `beta * x`."""
    return te.compute(data.shape, lambda *i: data[i] * te.sigmoid(data[i] * te.const(beta, data.dtype)), name="swish")
