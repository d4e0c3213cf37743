"""Values of the virtual machine, and checks of their types.

A tensor on a processor is an array of numpy, a tensor on a device an `NDArray`; a shape is a tuple of integers, a tuple
of values a tuple; numbers and texts are those of Python, other values any objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import NoneAttr, TupleType
from xdsl.ir import Attribute

from ...core.dtypes import dtype_of, numpy_dtype
from ...core.errors import ArgumentError
from ...expressions.sizes import size_function
from ...operators.relax import CallableType, PrimType, ShapeType
from ...operators.relax.types import (
    is_tensor,
    known_dtype,
    known_rank,
    known_shape,
    number_of,
)
from ...operators.relay import Size
from ..devices.device import Device
from ..devices.nd import HostArray, NDArray
from ..graph.executor import as_ndarray

type_of = type  # parameters of functions below have the name `type`

Value: TypeAlias = Any
Sizes: TypeAlias = dict[str, int]
"""The values of size names in a call of a function."""
Bind: TypeAlias = Callable[[Value, Sizes], Value]
"""Converts a value to one of a type, and binds the names of sizes that are not bound yet. Raises `Mismatch`."""
Check: TypeAlias = Callable[[Value, Sizes], None]
"""Checks the sizes of a value that are expressions of names. Raises `Mismatch`."""


class Mismatch(Exception):
    """A value that is not one of its type. size: the name of the size with two values, and the second value."""

    def __init__(self, text: str, size: tuple[str, int] | None = None):
        super().__init__(text)
        self.text = text
        self.size = size


def type_checker(type: Attribute, device: Device) -> tuple[Bind, Check | None]:
    """The conversion of values to a type, and the check of sizes that requires all names, if there are such sizes."""
    if is_tensor(type):
        return _tensor_checker(type, device)
    match type:
        case ShapeType():
            return _shape_checker(type)
        case PrimType():
            return _number_checker(type)
        case TupleType():
            return _tuple_checker(type, device)
        case CallableType():
            return _callable, None
        case _:
            return lambda value, _: imported(value, device), None


# Tensors


def _tensor_checker(type: Attribute, device: Device) -> tuple[Bind, Check | None]:
    name, sizes, rank = known_dtype(type), known_shape(type), known_rank(type)
    dtype = None if name is None else numpy_dtype(name)
    text = describe(type)
    static, names, others = _divide(sizes or ())
    is_host = device.kind == "cpu"

    def bind(value: Value, bound: Sizes) -> Value:
        kind = type_of(value)
        if is_host and kind is HostArray:
            value = value.layout
        elif not is_host or kind is not np.ndarray:
            value = _tensor(value, device, text)
        layout = value if is_host else value.layout
        shape = layout.shape
        if (rank is not None and len(shape) != rank) or (dtype is not None and layout.dtype != dtype):
            raise Mismatch(f"{_describe_array(layout)}, expected {text}")
        for axis, extent in static:
            if shape[axis] != extent:
                raise Mismatch(f"{_describe_array(layout)}, expected {text}")
        for axis, size in names:
            _bind_name(size, shape[axis], bound)
        return value

    def check(value: Value, bound: Sizes) -> None:
        shape = value.shape
        for axis, size, compute in others:
            _check_size(size, compute, shape[axis], bound, axis)

    if is_host and sizes is not None and dtype is not None and not names and not others:
        return _static_checker(sizes, dtype, bind), None
    return bind, check if others else None


def _static_checker(shape: tuple[Size, ...], dtype: np.dtype[Any], bind: Bind) -> Bind:
    """The conversion to tensors of a shape of numbers. An array that is one is checked at once, others by `bind`."""

    def bind_static(value: Value, bound: Sizes) -> Value:
        if type_of(value) is np.ndarray and value.shape == shape and value.dtype == dtype:
            return value
        return bind(value, bound)

    return bind_static


def _tensor(value: Value, device: Device, expected: str) -> Value:
    if isinstance(value, str | bytes | tuple | dict) or value is None or callable(value):
        raise Mismatch(f"a value of type {type(value).__name__}, expected {expected}")
    array = as_ndarray(value)
    if array.device.kind != device.kind:
        raise Mismatch(f"an array on {array.device}, expected one on {device}")
    return array.layout if isinstance(array, HostArray) else array


def imported(value: Value, device: Device) -> Value:
    """A value of unknown type, in the form of the virtual machine."""
    match value:
        case HostArray():
            return value.layout
        case tuple() | list():
            return tuple(imported(each, device) for each in value)  # pyright: ignore[reportUnknownVariableType]
        case _ if isinstance(value, NDArray | np.ndarray) or not hasattr(value, "__dlpack__"):
            return value
        case _:
            return _tensor(value, device, "an array")


def exported(value: Value, device: Device) -> Value:
    """A value as a caller receives it: arrays of numpy as `NDArray` on a device."""
    if isinstance(value, np.ndarray):
        return HostArray(value, device)
    return tuple(exported(each, device) for each in value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownVariableType]


# Other values


def _shape_checker(type: ShapeType) -> tuple[Bind, Check | None]:
    sizes, rank, text = known_shape(type), known_rank(type), describe(type)
    static, names, others = _divide(sizes or ())

    def bind(value: Value, bound: Sizes) -> Value:
        if not isinstance(value, tuple | list) or not all(_is_integer(each) for each in value):  # pyright: ignore[reportUnknownVariableType]
            raise Mismatch(f"a value of type {type_of(value).__name__}, expected {text}")
        shape = tuple(map(int, value))  # pyright: ignore[reportUnknownArgumentType]
        if rank not in (None, len(shape)) or any(shape[axis] != extent for axis, extent in static):
            raise Mismatch(f"shape {shape}, expected {text}")
        for axis, size in names:
            _bind_name(size, shape[axis], bound)
        return shape

    def check(value: Value, bound: Sizes) -> None:
        for axis, size, compute in others:
            _check_size(size, compute, value[axis], bound, axis)

    return bind, check if others else None


def _is_integer(value: Value) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _number_checker(type: PrimType) -> tuple[Bind, Check | None]:
    dtype, text, wanted = dtype_of(type.dtype), describe(type), number_of(type)
    is_float, is_bool = dtype.is_float, dtype.name == "bool"

    def bind(value: Value, bound: Sizes) -> Value:
        if is_float:
            if not isinstance(value, int | float | np.floating) or isinstance(value, bool):
                raise Mismatch(f"a value of type {type_of(value).__name__}, expected {text}")
            number: int | float = float(value)
        elif is_bool:
            if not isinstance(value, bool | np.bool_):
                raise Mismatch(f"a value of type {type_of(value).__name__}, expected {text}")
            number = bool(value)
        elif not _is_integer(value):
            raise Mismatch(f"a value of type {type_of(value).__name__}, expected {text}")
        else:
            number = int(value)
        if isinstance(wanted, str) and wanted.isidentifier():
            _bind_name(wanted, int(number), bound)
        elif wanted is not None and not isinstance(wanted, str) and number != wanted:
            raise Mismatch(f"{number}, expected {text}")
        return number

    if not isinstance(wanted, str) or wanted.isidentifier():
        return bind, None
    compute = size_function(wanted)
    return bind, lambda value, bound: _check_size(wanted, compute, value, bound, None)


def _tuple_checker(type: TupleType, device: Device) -> tuple[Bind, Check | None]:
    fields, text = [type_checker(each, device) for each in type.types.data], describe(type)

    def bind(value: Value, bound: Sizes) -> Value:
        if not isinstance(value, tuple | list) or len(value) != len(fields):  # pyright: ignore[reportUnknownArgumentType]
            raise Mismatch(f"a value of type {type_of(value).__name__}, expected {text}")  # pyright: ignore[reportUnknownArgumentType]
        return tuple(field[0](each, bound) for field, each in zip(fields, value, strict=True))  # pyright: ignore[reportUnknownVariableType]

    def check(value: Value, bound: Sizes) -> None:
        for (_, check_field), each in zip(fields, value, strict=True):
            if check_field is not None:
                check_field(each, bound)

    return bind, check if any(each for _, each in fields) else None


def _callable(value: Value, _: Sizes) -> Value:
    if not callable(value):
        raise Mismatch(f"a value of type {type(value).__name__}, expected a function")
    return value


# Sizes


_Sizes: TypeAlias = tuple[
    list[tuple[int, int]], list[tuple[int, str]], list[tuple[int, str, Callable[[Mapping[str, int]], int]]]
]


def _divide(sizes: tuple[Size, ...]) -> _Sizes:
    """The numbers, the names and the other expressions in a shape, with their axes."""
    static = [(axis, size) for axis, size in enumerate(sizes) if isinstance(size, int)]
    texts = [(axis, size) for axis, size in enumerate(sizes) if isinstance(size, str)]
    names = [(axis, size) for axis, size in texts if size.isidentifier()]
    others = [(axis, size, size_function(size)) for axis, size in texts if not size.isidentifier()]
    return static, names, others


def _bind_name(name: str, number: int, bound: Sizes) -> None:
    known = bound.setdefault(name, number)
    if known != number:
        raise Mismatch(f"{name} = {known}, got {number}", (name, number))


def _check_size(
    size: str, compute: Callable[[Mapping[str, int]], int], number: int, bound: Sizes, axis: int | None
) -> None:
    expected = compute(bound)
    if expected != number:
        place = "" if axis is None else f" of dimension {axis}"
        where = ", ".join(f"{name} = {value}" for name, value in bound.items())
        raise Mismatch(f"size {number}{place}, expected {size} = {expected} where {where}")


def describe(type: Attribute) -> str:
    """A type in the words of error messages: `float32[n, 4]`."""
    if is_tensor(type):
        sizes, rank = known_shape(type), known_rank(type)
        shape = (
            ", ".join(map(str, sizes)) if sizes is not None else ", ".join("?" * rank) if rank is not None else "..."
        )
        return f"{known_dtype(type) or 'tensor'}[{shape}]"
    match type:
        case ShapeType():
            sizes = known_shape(type)
            return "a shape" if sizes is None else f"shape ({', '.join(map(str, sizes))})"
        case PrimType():
            value = "" if isinstance(type.value, NoneAttr) else f" {number_of(type)}"
            return f"{dtype_of(type.dtype).name}{value}"
        case TupleType():
            return f"a tuple of {len(type.types.data)} values"
        case _:
            return "a value"


def _describe_array(layout: Value) -> str:
    return f"{layout.dtype} of shape {layout.shape}"


def argument_error(place: str, error: Mismatch) -> ArgumentError:
    """The error for a value at a place that is not one of its type."""
    return ArgumentError(f"{place}: {error.text}")
