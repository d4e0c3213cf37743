"""Arrays of other CUDA libraries (PyCUDA, numba) through `__cuda_array_interface__`, without a copy."""

# https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, version 3

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...core.dtypes import dtype_of_numpy
from ...core.errors import ArgumentError

_NEWEST = 3


@dataclass(frozen=True)
class CudaArray:
    """The content of a `__cuda_array_interface__`. address: 0 for an array without elements.  strides: in elements,
    None if C-contiguous.  stream: the handle of the stream whose work the array depends on, None for no stream; CUDA's
    default stream is 1.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    read_only: bool
    stream: int | None


def read_cuda_array(value: Any) -> CudaArray:
    """The array that `value` exports through `__cuda_array_interface__`. Raises ArgumentError if the interface is
    malformed or compiled code cannot use the array; an error of the producer is chained.
    """
    interface = _interface(value)
    dtype = _dtype(interface["typestr"])
    if interface.get("mask") is not None:
        raise ArgumentError("expected an array without a mask, got one with a mask")
    shape = _integers("shape", interface["shape"])
    if any(extent < 0 for extent in shape):
        raise ArgumentError(f"expected a shape of sizes, got {shape}")
    address, read_only = _data(interface["data"])
    if address == 0 and 0 not in shape:
        raise ArgumentError(f"expected memory for shape {shape}, got none")
    stream = interface.get("stream") if interface["version"] >= 3 else None
    if stream is not None and not (isinstance(stream, int) and stream > 0):
        raise ArgumentError(f"expected the handle of a stream, or None, got stream {stream!r}")
    return CudaArray(address, shape, _strides(interface, shape, dtype), dtype, read_only, stream)


def _interface(value: Any) -> Mapping[str, Any]:
    try:
        interface = value.__cuda_array_interface__
    except Exception as error:
        raise ArgumentError(
            f"{type(value).__name__} cannot be exported through __cuda_array_interface__: {error}"
        ) from error
    if not isinstance(interface, Mapping):
        raise ArgumentError(f"expected a dict of __cuda_array_interface__, got {type(interface).__name__}")
    if missing := [key for key in ("shape", "typestr", "data", "version") if key not in interface]:
        raise ArgumentError(
            f"expected {missing[0]} in __cuda_array_interface__, got {', '.join(interface) or 'nothing'}"
        )
    version = interface["version"]
    if not isinstance(version, int) or not 0 <= version <= _NEWEST:
        raise ArgumentError(f"expected __cuda_array_interface__ of version 0 to {_NEWEST}, got {version!r}")
    return interface


def _dtype(typestr: Any) -> np.dtype[Any]:
    dtype = _named_dtype(typestr) if isinstance(typestr, str) else None
    if dtype is None:
        raise ArgumentError(f"expected elements of a type compiled code knows, got typestr {typestr!r}")
    return dtype


@lru_cache(maxsize=64)
def _named_dtype(typestr: str) -> np.dtype[Any] | None:
    try:
        dtype = np.dtype(typestr)
        dtype_of_numpy(dtype)
    except (TypeError, ValueError):
        return None
    return dtype if dtype.isnative else None


def _integers(name: str, values: Any) -> tuple[int, ...]:
    try:
        return tuple(operator.index(each) for each in values)
    except TypeError:
        raise ArgumentError(f"expected integers as {name}, got {values!r}") from None


def _data(data: Any) -> tuple[int, bool]:
    try:
        address, read_only = data
        if 0 <= (address := operator.index(address)) < 2**64:
            return address, bool(read_only)
    except (TypeError, ValueError):
        pass
    raise ArgumentError(f"expected an address and a flag as data, got {data!r}")


def _strides(interface: Mapping[str, Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...] | None:
    """The strides in elements, where the interface has bytes."""
    if interface.get("strides") is None:
        return None
    strides = _integers("strides", interface["strides"])
    if len(strides) != len(shape):
        raise ArgumentError(f"expected {len(shape)} strides for shape {shape}, got {strides}")
    if any(stride % dtype.itemsize for stride in strides):
        raise ArgumentError(f"expected strides that are multiples of {dtype.itemsize} bytes, got {strides}")
    return tuple(stride // dtype.itemsize for stride in strides)


def write_cuda_array(array: CudaArray) -> dict[str, Any]:
    """The `__cuda_array_interface__` of an array. Raises AttributeError for a data type that has no typestr."""
    typestr = array.dtype.str
    if typestr[1] == "V":
        raise AttributeError(f"__cuda_array_interface__ has no type for {dtype_of_numpy(array.dtype).name}")
    strides = array.strides and tuple(stride * array.dtype.itemsize for stride in array.strides)
    return {
        "shape": array.shape,
        "typestr": typestr,
        "data": (array.address, array.read_only),
        "strides": strides,
        "stream": array.stream,
        "version": _NEWEST,
    }
