"""Arrays of other libraries as numpy arrays without a copy, through DLPack.

numpy's own `from_dlpack` knows no bfloat16 or float8 and makes some producers' arrays read-only, so the capsule is read
here.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError
from .memory import array_at

# https://dmlc.github.io/dlpack/latest/c_api.html, DLPack 1.0
_CPU_DEVICES = {1, 3, 11}  # kDLCPU, and host memory that CUDA or ROCm pinned
_DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed memory", 14: "oneAPI"}
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
# https://github.com/dmlc/dlpack/blob/v1.1/include/dlpack/dlpack.h: one code for each type of less than 16 bits. Those
# of less than a byte are packed, which numpy cannot show.
_OF_A_BYTE = {
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
    14: "float8_e8m0fnu",
}
_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_api = ctypes.pythonapi
_get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", _api))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))

_KNOWN: dict[bytes, type[_Managed | _Versioned]] = {b"dltensor": _Managed, b"dltensor_versioned": _Versioned}


def from_dlpack(value: Any) -> np.ndarray[Any, Any]:
    """A numpy array on the memory of `value`, which has `__dlpack__`. ArgumentError if it is not in CPU memory or of a
    type that numpy cannot show; what the producer raises is chained."""
    device = value.__dlpack_device__()[0]
    if device not in _CPU_DEVICES:
        raise ArgumentError(f"expected an array in CPU memory, got one on {_DEVICES.get(int(device), 'device')}")
    capsule = _capsule(value)
    structure = _KNOWN.get(_get_name(capsule))
    if structure is None:
        raise ArgumentError(f"expected a DLPack capsule, got one called {_get_name(capsule)!r}")
    managed = structure.from_address(_get_pointer(capsule, _get_name(capsule)))
    if isinstance(managed, _Versioned) and managed.major != 1:
        raise ArgumentError(f"expected DLPack version 1, got {managed.major}")
    read_only = isinstance(managed, _Versioned) and bool(managed.flags & _READ_ONLY)
    return _array(managed.tensor, read_only, capsule)


def _capsule(value: Any) -> Any:
    try:
        try:
            return value.__dlpack__(max_version=(1, 0))
        except TypeError:  # a producer from before DLPack 1.0
            return value.__dlpack__()
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentError(f"{type(value).__name__} cannot be exported through DLPack: {error}") from error


def _array(tensor: _Tensor, read_only: bool, capsule: object) -> np.ndarray[Any, Any]:
    """The capsule is never renamed to `used_...`, so it still owns the memory, and the array owns it."""
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset
    return array_at(address, shape, strides, _dtype(tensor), read_only=read_only, owner=capsule)


def _dtype(tensor: _Tensor) -> np.dtype[Any]:
    kind = _KINDS.get(tensor.code)
    name = _OF_A_BYTE.get(tensor.code, "bool" if kind == "bool" else f"{kind}{tensor.bits}")
    try:
        if tensor.lanes == 1 and tensor.bits >= 8:
            return numpy_dtype(name)
    except ValueError:
        pass
    raise ArgumentError(
        f"expected elements of a type compiled code knows, got DLPack type code {tensor.code}, "
        f"{tensor.bits} bits, {tensor.lanes} lanes"
    )
