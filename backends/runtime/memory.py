"""numpy arrays on memory owned elsewhere."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...core.dtypes import carrier_dtype
from ...core.errors import ArgumentError, DeviceError
from ...core.sizes import byte_count, check_shape


class _Exporter:
    """An object with numpy's array interface: the array keeps it alive, and it keeps `owner` alive."""

    def __init__(self, owner: object, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def array_at(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    dtype: np.dtype[Any],
    *,
    read_only: bool = False,
    owner: object = None,
) -> np.ndarray[Any, Any]:
    """The array of `dtype` at `address`; `strides` in elements, None for C-contiguous. It keeps `owner` alive.

    Raises SizeError for a shape that no array has.
    """
    check_shape(shape, dtype.itemsize, _place_of(dtype))
    if 0 in shape:
        return np.empty(shape, dtype)  # the address points to no element and may be null
    bytes_ = None if strides is None else tuple(stride * dtype.itemsize for stride in strides)
    typestr = carrier_dtype(dtype).str
    interface = {"data": (address, read_only), "shape": shape, "strides": bytes_, "typestr": typestr, "version": 3}
    return np.asarray(_Exporter(owner, interface)).view(dtype)


@lru_cache(maxsize=4096)
def _place_of(dtype: np.dtype[Any]) -> str:
    return f"array of {dtype}"  # the name of a type costs numpy microseconds, each argument of a call needs it


ALIGNMENT = 64
"""The bytes of a cache line, and of the widest vector: no access of a vector to an array that begins at a multiple of
them crosses cache lines. Arrays of numpy begin at multiples of 16."""


def empty_array(shape: Sequence[int], dtype: np.dtype[Any], name: str) -> np.ndarray[Any, Any]:
    """An uninitialized C-contiguous array of this machine's memory, aligned to `ALIGNMENT` bytes. name: its name in
    error messages. Raises SizeError for a shape that no array has, DeviceError if there is not enough memory."""
    if any(extent < 0 for extent in shape) or len(shape) > _MOST_DIMENSIONS:
        raise ArgumentError(f"{name}: shape {list(shape)}, expected at most {_MOST_DIMENSIONS} extents from 0 on")
    check_shape(shape, dtype.itemsize, name)
    return allocate(tuple(shape), dtype, byte_count(shape, dtype.itemsize), name)


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any], size: int, name: str) -> np.ndarray[Any, Any]:
    """An array as of `empty_array`, of a shape that has been checked. size: its bytes."""
    try:
        memory = np.empty(size + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError):  # the latter for sizes that numpy does not count
        raise DeviceError(f"{name}: out of memory of cpu: {size} bytes asked for") from None
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))  # pyright: ignore[reportArgumentType]  # fast
    start = -address % ALIGNMENT
    return np.ndarray(shape, dtype, memory, start)


_MOST_DIMENSIONS = 64
"""The greatest rank of an array of numpy."""


def strided_view(
    array: np.ndarray[Any, Any], shape: Sequence[int], strides: Sequence[int], writeable: bool = True
) -> np.ndarray[Any, Any]:
    """numpy's `as_strided`, for any data type. strides: in bytes."""
    carried = array.view(carrier_dtype(array.dtype))
    return np.lib.stride_tricks.as_strided(carried, shape, strides, writeable=writeable).view(array.dtype)
