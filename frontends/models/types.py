"""Types of the values of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

Dimension: TypeAlias = int | str
"""An extent, or the name of an extent known at run time."""


@dataclass(frozen=True)
class TensorType:
    """The type of a tensor. dtype: a name of numpy or ml_dtypes, or `string`.  shape: None if the rank is unknown."""

    dtype: str
    shape: tuple[Dimension, ...] | None

    def __str__(self) -> str:
        return self.dtype if self.shape is None else f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class SequenceType:
    """The type of a list of values of one type. element: None for an empty list, whose elements have no type yet."""

    element: ValueType | None

    def __str__(self) -> str:
        return f"sequence({'' if self.element is None else self.element})"


@dataclass(frozen=True)
class OptionalType:
    """The type of an optional value."""

    element: ValueType

    def __str__(self) -> str:
        return f"optional({self.element})"


ValueType: TypeAlias = TensorType | SequenceType | OptionalType


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a numpy data type in a `TensorType`."""
    return "string" if dtype == np.dtype(object) else dtype.name
