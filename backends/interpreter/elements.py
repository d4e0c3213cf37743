"""Arguments as buffers, and accesses to elements of buffers, with checks of bounds and initialization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Self, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.interpreters.shaped_array import ShapedArray
from xdsl.ir import Attribute, Operation

from ...core.dtypes import dtype_of, numpy_dtype
from ..oracle.checks import out_of_bounds, uninitialized, write_to_constant
from ..oracle.context import unsupported
from ..oracle.memory import View, allocate, compact_strides
from ..oracle.numerics import DECODE, ENCODE

UNIT = 1
"""Bytes per entry of the record of writes."""


@dataclass(frozen=True, eq=False)
class InterpreterBuffer(View):
    """A buffer with its name in the program.

    source, mins: for a subregion, the buffer and the lower bounds of the region: indices must be within both.
    """

    name: str = ""
    source: InterpreterBuffer | None = None
    mins: tuple[int, ...] = ()

    @classmethod
    def of(cls, view: View, name: str) -> Self:
        """The buffer of an argument."""
        return cls(view.memory, view.dtype, view.shape, view.strides, view.offset, name)

    @cached_property
    def elements(self) -> memoryview:
        """All elements of the memory; elements of the types in `DECODE` as their bits."""
        return self.memory.elements(self.dtype)

    @cached_property
    def itemsize(self) -> int:
        return numpy_dtype(self.dtype).itemsize


def element_dtype(op: Operation, type: MemRefType[Attribute]) -> str:
    """The data type of a buffer's elements. Raises UnsupportedError for vectors."""
    dtype = dtype_of(type.element_type)
    if dtype.lanes != 1:
        raise unsupported(op, f"the interpreter has no buffers of vectors, got {type}")
    return dtype.name


def array_of(value: Any) -> Any:
    """An argument, with the buffers of xDSL's interpreter as numpy arrays over the same memory."""
    if not isinstance(value, ShapedArray):
        return value
    shaped = cast("ShapedArray[Any]", value)
    dtype = numpy_dtype(dtype_of(shaped.element_type))  # pyright: ignore[reportArgumentType]
    raw = shaped.data_ptr.raw
    return np.frombuffer(raw.memory, dtype, shaped.size, raw.offset).reshape(shaped.shape)


def new_buffer(name: str, dtype: str, shape: tuple[int, ...]) -> InterpreterBuffer:
    """A compact, uninitialized buffer."""
    return InterpreterBuffer(allocate(name, dtype, prod(shape), UNIT), dtype, shape, compact_strides(shape), 0, name)


def load_element(buffer: InterpreterBuffer, index: Sequence[int]) -> Any:
    """Reads an element as a value of the interpreter. Raises Fault for an element out of bounds or uninitialized."""
    k = _position(buffer, index)
    size = buffer.itemsize
    if 0 in buffer.memory.written[k * size : k * size + size]:
        uninitialized(buffer.name, index)
    value = buffer.elements[k]
    return DECODE[buffer.dtype][value] if buffer.dtype in DECODE else value


def store_element(buffer: InterpreterBuffer, index: Sequence[int], value: Any) -> None:
    """Writes an element. Raises Fault for an element out of bounds or constant."""
    k = _position(buffer, index)
    if buffer.memory.constant:
        write_to_constant(buffer.name)
    buffer.elements[k] = ENCODE[buffer.dtype](value) if buffer.dtype in ENCODE else value
    size = buffer.itemsize
    buffer.memory.written[k * size : k * size + size] = b"\1" * size


def _position(buffer: InterpreterBuffer, index: Sequence[int]) -> int:
    """The position of an element in its memory. Raises Fault out of bounds."""
    _check_bounds(buffer, index)
    k = buffer.offset + sum(i * s for i, s in zip(index, buffer.strides, strict=True))
    if not 0 <= k < len(buffer.elements):
        out_of_bounds(buffer.name, index, buffer.shape)
    return k


def _check_bounds(buffer: InterpreterBuffer, index: Sequence[int]) -> None:
    if not all(0 <= i < n for i, n in zip(index, buffer.shape, strict=True)):
        out_of_bounds(buffer.name, index, buffer.shape)
    if buffer.source is not None:
        missing = len(buffer.mins) - len(index)
        inner = [0] * missing + [*index]
        _check_bounds(buffer.source, [low + i for low, i in zip(buffer.mins, inner, strict=True)])
