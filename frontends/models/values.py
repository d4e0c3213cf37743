"""Values of a model at import time: constant and computed tensors, and sequences of values."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ...core.dtypes import SCALAR_DTYPES
from ...core.sizes import check_size
from ...operators.relay import Size, dtype_of_tensor, shape_of
from .errors import ModelUnsupportedError
from .symbols import Symbol, size_of_symbol, symbol_array
from .types import Array, OptionalType, SequenceType, TensorType, ValueType, dtype_name


@dataclass(frozen=True, eq=False)
class ModelTensor:
    """A tensor, with exactly one of `array`, `sizes` and `value`.

    array: the elements of a constant tensor, whose origin is `name`.  sizes: integers and symbols.
    value: the SSA value of a computed tensor.
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
    def known_elements(self) -> Array | None:
        """The elements, as numbers or as an object array of integers and symbols; None for a computed tensor."""
        return self.sizes if self.array is None else self.array

    @property
    def extents(self) -> Array:
        """The shape as integers and symbols."""
        return symbol_array(self.shape)

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
    def static_shape(self) -> tuple[int, ...]:
        """The shape as integers. Raises ModelUnsupportedError for a symbolic extent."""
        return known_integers(self.shape, "extents")


@dataclass(frozen=True, eq=False)
class ModelObject:
    """A sequence, or an optional value, that a program computes. value: its SSA value, an object."""

    value: SSAValue
    type: SequenceType | OptionalType


Item: TypeAlias = "ModelTensor | list[Item] | ModelObject | None"
"""A value: a tensor, a sequence known at import time, a sequence or an optional value that the program computes, or
None for an absent optional value."""


def tensor_of_array(array: Any, name: str = "constant") -> ModelTensor:
    """The constant tensor of an array."""
    array = np.asarray(array)
    return ModelTensor(array.shape, dtype_name(array.dtype), array=array, name=name)


def tensor_of_symbols(values: Any, dtype: str = "int64") -> ModelTensor:
    """The tensor of an array of integers and symbols; a constant tensor if the array has no symbols. SizeError for an
    integer that int64 does not hold."""
    array = np.asarray(values)
    if array.dtype != object:
        return tensor_of_array(array.astype(dtype))
    if not any(isinstance(each, Symbol) for each in array.ravel()):
        for each in array.ravel():
            check_size(int(each))
        return tensor_of_array(array.astype(dtype))
    return ModelTensor(array.shape, dtype, sizes=array)


def tensor_of_ssa_value(value: SSAValue) -> ModelTensor:
    """The tensor of an SSA value."""
    return ModelTensor(shape_of(value), dtype_of_tensor(value), value=value)


def known_integers(sizes: Any, what: str) -> tuple[int, ...]:
    """Sizes as integers. Raises ModelUnsupportedError for symbols. what: the name of the sizes in the error."""
    extents = [size_of_symbol(each) if isinstance(each, Symbol) else each for each in sizes]
    if any(isinstance(each, str) for each in extents):
        raise ModelUnsupportedError(
            f"{what} [{', '.join(map(str, extents))}], which are known only when the model runs"
        )
    return tuple(int(each) for each in extents)


def require_dtype(dtype: str) -> str:
    """Returns `dtype`. Raises ModelUnsupportedError for a data type unsupported by Stepwell."""
    if dtype not in SCALAR_DTYPES:
        raise ModelUnsupportedError(f"tensors of {dtype} are not supported")
    return dtype


def type_of_item(item: Item) -> ValueType | None:
    """The type of a value; None for an absent value and for a sequence without a type of elements."""
    if isinstance(item, list):
        element = type_of_item(item[0]) if item else None
        return None if element is None else SequenceType(element)
    if isinstance(item, ModelObject):
        return None if item.type.element is None else item.type
    return None if item is None else item.type


class SizeNames:
    """Names of sizes: a unique Python identifier for each name in a model."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def identifier(self, text: str) -> str:
        """The identifier of a name."""
        if text not in self._names:
            base = re.sub(r"\W", "_", text, flags=re.ASCII)
            if not base.isidentifier() or keyword.iskeyword(base) or base in ("min", "max"):
                base = f"size_{base}"
            name, count = base, 0
            while name in self._names.values():
                count += 1
                name = f"{base}_{count}"
            self._names[text] = name
        return self._names[text]
