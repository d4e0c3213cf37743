"""Operators as functions that can be built and called."""

from __future__ import annotations

import numpy as np

from ....core.dtypes import dtype_of_numpy
from ....frontends import te
from ....module import Module
from ....operators import OPERATORS
from .sampling import Array, Sample


def program_of(name: str, sample: Sample) -> tuple[Module, list[Array]]:
    """A function of operands and results that computes an operator, and new arrays of zeros for the results."""
    inputs = [
        te.placeholder(array.shape, dtype_of_numpy(array.dtype).name, name=f"in{n}")
        for n, array in enumerate(sample.operands)
    ]
    made = OPERATORS[name].formula(*inputs, **sample.attributes)
    tensors = list(made) if isinstance(made, list | tuple) else [made]
    results: list[Array] = [
        np.zeros([int(n) for n in tensor.shape], te.placeholder((), tensor.dtype).data_type.name) for tensor in tensors
    ]
    return te.create_prim_func([*inputs, *tensors]), results
