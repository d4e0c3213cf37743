"""What the values of a model are while it is imported: tensors, some of which are known, and lists of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ...core.dtypes import SCALAR_DTYPES
from ...operators.relay import Size, dtype_of_tensor, shape_of
from .errors import OnnxUnsupportedError
from .graph import Array, SequenceType, TensorType, ValueType, dtype_name
from .symbols import Symbol, size, symbols


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor. Exactly one of the last three says what it is.

    array: its elements, if they are known; where these come from is `name`.  sizes: elements of which some are symbols.
    value: what computes it.
    """

    shape: tuple[Size, ...]
    dtype: str
    array: Array | None = None
    sizes: Array | None = None
    value: SSAValue | None = None
    name: str = ""

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def known(self) -> Array | None:
        """The elements, as numbers or as objects that are numbers and symbols; None if they are computed."""
        return self.sizes if self.array is None else self.array

    @property
    def extents(self) -> Array:
        """The shape as numbers and symbols."""
        return symbols(self.shape)

    @property
    def is_float(self) -> bool:
        return "float" in self.dtype

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, self.shape)

    @property
    def is_static(self) -> bool:
        return all(isinstance(extent, int) for extent in self.shape)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The shape where it must be known. OnnxUnsupportedError if it is not."""
        return known_numbers(self.shape, "extents")


Item: TypeAlias = "Tensor | list[Item] | None"
"""A value: a tensor, a sequence, or an optional one that is not there."""


def of_array(array: Any, name: str = "constant") -> Tensor:
    """A tensor that is known."""
    array = np.asarray(array)
    return Tensor(array.shape, dtype_name(array.dtype), array=array, name=name)


def of_symbols(values: Any, dtype: str = "int64") -> Tensor:
    """A tensor of numbers and symbols; one that is known if there are no symbols."""
    array = np.asarray(values)
    if array.dtype != object:
        return of_array(array.astype(dtype))
    if not any(isinstance(each, Symbol) for each in array.ravel()):
        return of_array(array.astype(dtype))
    return Tensor(array.shape, dtype, sizes=array)


def of_value(value: SSAValue) -> Tensor:
    """A tensor that is computed."""
    return Tensor(shape_of(value), dtype_of_tensor(value), value=value)


def known_numbers(sizes: Any, what: str) -> tuple[int, ...]:
    """Sizes as numbers. OnnxUnsupportedError for those that are not known, by what they are."""
    found = [size(each) if isinstance(each, Symbol) else each for each in sizes]
    if any(isinstance(each, str) for each in found):
        raise OnnxUnsupportedError(f"{what} [{', '.join(map(str, found))}], which are known only when the model runs")
    return tuple(int(each) for each in found)


def require_dtype(dtype: str) -> str:
    """A data type. OnnxUnsupportedError for those that Stepwell does not have."""
    if dtype not in SCALAR_DTYPES:
        raise OnnxUnsupportedError(f"tensors of {dtype} are not supported")
    return dtype


def type_of_item(item: Item) -> ValueType | None:
    """The type of a value; None for one that is not there, and for an empty sequence."""
    if isinstance(item, list):
        element = type_of_item(item[0]) if item else None
        return None if element is None else SequenceType(element)
    return None if item is None else item.type
