"""Generated contents of arrays, for inputs that are not given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .dtypes import numpy_dtype, parse_dtype

Array: TypeAlias = npt.NDArray[Any]

FILLS = ("random", "zeros", "ones")
"""The contents of generated arrays. Random: floats are standard normal, integers 0 or 1, since they may be indices."""


def filled(shape: Sequence[int], dtype: str, fill: str, rng: np.random.Generator) -> Array:
    """An array with contents that are one of `FILLS`. rng: the generator of random contents."""
    if fill != "random":
        return np.full(shape, fill == "ones", numpy_dtype(dtype))
    is_float = parse_dtype(dtype).is_float
    return (rng.standard_normal(shape) if is_float else rng.integers(0, 2, shape)).astype(numpy_dtype(dtype))
