"""Functions that compute a single operator."""

from __future__ import annotations

import numpy as np

from ....core.dtypes import dtype_of_numpy
from ....frontends import te
from ....module import Module
from ....operators import OPERATORS
from .sampling import Array, Sample


def program_of(name: str, sample: Sample) -> tuple[Module, list[Array]]:
    """A module whose function computes an operator from operands to results, and zero arrays for the results."""
    inputs = [
        te.placeholder(array.shape, dtype_of_numpy(array.dtype).name, name=f"in{n}")
        for n, array in enumerate(sample.operands)
    ]
    outputs = OPERATORS[name].formula(*inputs, **sample.attributes)
    tensors = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    results: list[Array] = [
        np.zeros([int(n) for n in tensor.shape], te.placeholder((), tensor.dtype).data_type.name) for tensor in tensors
    ]
    return te.create_prim_func([*inputs, *tensors]), results
