"""Import and export of arrays through DLPack, without a copy.

numpy's own `from_dlpack` knows no bfloat16 or float8 and makes some producers' arrays read-only, so the capsule is read
here.
"""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.dtypes import dtype_of_numpy, numpy_dtype
from ...core.errors import ArgumentError
from .exchange import Exchange, exchange_of
from .memory import array_at

# https://dmlc.github.io/dlpack/latest/c_api.html, DLPack 1.0
CPU_DEVICES = {1, 3, 11}  # kDLCPU, and host memory that CUDA or ROCm pinned
_DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed memory", 14: "oneAPI"}
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
# https://github.com/dmlc/dlpack/blob/v1.1/include/dlpack/dlpack.h: one code for each float type of at most 8 bits.
# Types of less than a byte are packed, which numpy cannot represent.
_BYTE_FLOATS = {
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


class Tensor(ctypes.Structure):
    """`DLTensor`."""

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


class _UnversionedTensor(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedTensor(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


_api = ctypes.pythonapi
_get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", _api))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))

_OLD, _VERSIONED = b"dltensor", b"dltensor_versioned"
_KNOWN: dict[bytes, type[_UnversionedTensor | ManagedTensor]] = {_OLD: _UnversionedTensor, _VERSIONED: ManagedTensor}


_DELETER = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _api)
)
# Of a capsule that is being freed only the address may be used.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _delete_exported(capsule: int) -> None:
    """The destructor of a capsule with a tensor that a function of C has exported."""
    address = _pointer_of(capsule, _VERSIONED)
    if deleter := ManagedTensor.from_address(address).deleter:
        _DELETER(deleter)(address)


# Reading


@dataclass(frozen=True)
class ForeignTensor:
    """The content of a capsule. strides: in elements, None if C-contiguous.  device: DLPack's device type and index.
    owner: keeps the memory alive.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    device: tuple[int, int]
    read_only: bool
    owner: object

    def array(self) -> np.ndarray[Any, Any]:
        """The array on this memory."""
        return array_at(self.address, self.shape, self.strides, self.dtype, read_only=self.read_only, owner=self.owner)


def from_dlpack(value: Any) -> np.ndarray[Any, Any]:
    """A numpy array on the memory of `value`, which has `__dlpack__`. Raises ArgumentError for memory that is not the
    CPU's or a data type that numpy cannot represent; an error of the producer is chained.

    A type with DLPack's table of C functions exports through these, others through `__dlpack__`: tensors of torch that
    require gradients are exported by the functions, and refused by `__dlpack__`.
    """
    device, _ = dlpack_device(value)
    if device not in CPU_DEVICES:
        raise ArgumentError(f"expected an array in CPU memory, got one on {_DEVICES.get(device, 'device')}")
    exchange = exchange_of(type(value))
    capsule = None if exchange is None else _exported_capsule(value, exchange)
    return (read_dlpack(value) if capsule is None else read_capsule(capsule)).array()


def dlpack_device(value: Any) -> tuple[int, int]:
    """DLPack's device type and index of `value`. Raises ArgumentError for anything but two integers; an error of the
    producer is chained.
    """
    try:
        pair = value.__dlpack_device__()
    except Exception as error:
        raise _producer_error(value, error) from error
    if not isinstance(pair, tuple) or [isinstance(each, int) for each in pair] != [True, True]:
        raise ArgumentError(f"expected two integers from __dlpack_device__ of {type(value).__name__}, got {pair!r}")
    return int(pair[0]), int(pair[1])


def _producer_error(value: Any, error: Exception) -> ArgumentError:
    cause = str(error) if isinstance(error, BufferError | RuntimeError) else f"{type(error).__name__}: {error}"
    return ArgumentError(f"{type(value).__name__} cannot be exported through DLPack: {cause}")


def read_dlpack(value: Any, stream: int | None = None) -> ForeignTensor:
    """The tensor that `value` exports through `__dlpack__`. stream: the handle of the stream of the consumer.

    Raises ArgumentError if compiled code cannot use the tensor; an error of the producer is chained.
    """
    return read_capsule(_capsule(value, {} if stream is None else {"stream": stream}))


def export_with_stream(value: Any) -> tuple[ForeignTensor, int] | None:
    """The tensor that the C functions of the type of `value` export, and the handle of the stream on which the library
    works on the tensor's device; None for a type without such functions. The export waits for no stream.

    `__dlpack__` of torch takes 75 us for a tensor of a GPU.
    """
    exchange = exchange_of(type(value))
    if exchange is None or not exchange.stream:
        return None
    capsule, stream = _exported_capsule(value, exchange), ctypes.c_void_p()
    if capsule is None:
        return None
    tensor = read_capsule(capsule)
    try:
        status = exchange.stream_function(*tensor.device, ctypes.addressof(stream))
    except Exception:  # a device without streams
        return None
    return None if status else (tensor, stream.value or 0)


def read_capsule(capsule: Any) -> ForeignTensor:
    """The tensor of a DLPack capsule, which it keeps and does not mark as used. ArgumentError for another value, a used
    capsule, and a tensor that compiled code cannot use."""
    name = _name_of(capsule)
    structure = _KNOWN.get(name)
    if structure is None:
        raise ArgumentError(f"expected a DLPack capsule, got one called {name!r}")
    managed = structure.from_address(_get_pointer(capsule, name))
    if isinstance(managed, ManagedTensor) and managed.major != 1:
        raise ArgumentError(f"expected DLPack version 1, got {managed.major}")
    tensor = managed.tensor
    shape, strides = _layout(tensor)
    if tensor.data is None and 0 not in shape:
        raise ArgumentError(f"expected memory for shape {shape}, got none")
    # The capsule is never renamed to `used_...`, so it still owns the memory.
    return ForeignTensor(
        (tensor.data or 0) + tensor.byte_offset,
        shape,
        strides,
        _dtype(tensor),
        (tensor.device_type, tensor.device_id),
        isinstance(managed, ManagedTensor) and bool(managed.flags & _READ_ONLY),
        capsule,
    )


def _capsule(value: Any, options: dict[str, Any]) -> Any:
    try:
        try:
            return value.__dlpack__(max_version=(1, 0), **options)
        except TypeError:  # a producer from before DLPack 1.0
            return value.__dlpack__(**options)
    except Exception as error:
        raise _producer_error(value, error) from error


def _exported_capsule(value: Any, exchange: Exchange) -> Any:
    """A capsule with the tensor that a function of C exports; None if the function fails: `__dlpack__` says why."""
    exported = ctypes.c_void_p()
    try:
        status = exchange.export_function(value, ctypes.addressof(exported))
    except Exception:
        return None
    if status or exported.value is None:
        return None
    return _new_capsule(exported.value, _VERSIONED, ctypes.cast(_delete_exported, ctypes.c_void_p))


def _name_of(capsule: Any) -> bytes:
    try:
        return _get_name(capsule)
    except ValueError:
        raise ArgumentError(f"expected a DLPack capsule, got {type(capsule).__name__}") from None


def _layout(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The shape and the strides of a tensor. Raises ArgumentError for a shape that is none."""
    count = tensor.ndim
    shape = tuple(tensor.shape[:count]) if tensor.shape and count > 0 else ()
    if len(shape) != count or any(extent < 0 for extent in shape):
        raise ArgumentError(f"expected a shape of {count} sizes, got {shape}")
    return shape, tuple(tensor.strides[:count]) if tensor.strides else None


def _dtype(tensor: Tensor) -> np.dtype[Any]:
    kind = _KINDS.get(tensor.code)
    name = _BYTE_FLOATS.get(tensor.code, "bool" if kind == "bool" else f"{kind}{tensor.bits}")
    try:
        if tensor.lanes == 1 and tensor.bits >= 8:
            return numpy_dtype(name)
    except ValueError:
        pass
    raise ArgumentError(
        f"expected elements of a type compiled code knows, got DLPack type code {tensor.code}, "
        f"{tensor.bits} bits, {tensor.lanes} lanes"
    )


# Writing

_exported: dict[int, tuple[Any, ...]] = {}
"""The structure and the owner of the memory of each exported capsule, by the number stored in `context`."""
_numbers = itertools.count(1)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _forget_old(address: int) -> None:
    _exported.pop(_UnversionedTensor.from_address(address).context, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _forget_versioned(address: int) -> None:
    _exported.pop(ManagedTensor.from_address(address).context, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _delete_unused(capsule: int) -> None:
    """The destructor of a capsule. A consumed capsule is named `used_...`, and its consumer calls the deleter."""
    for name, forget in ((_OLD, _forget_old), (_VERSIONED, _forget_versioned)):
        if _is_valid(capsule, name):
            forget(_pointer_of(capsule, name))


def to_dlpack(tensor: ForeignTensor, versioned: bool) -> Any:
    """A capsule that exports `tensor`. versioned: in the format of DLPack 1.0; older versions cannot mark memory as
    read-only, so a read-only tensor raises BufferError.
    """
    if tensor.read_only and not versioned:
        raise BufferError("a read-only array, which DLPack says from version 1.0 on")
    shape = (ctypes.c_int64 * len(tensor.shape))(*tensor.shape)
    strides = (ctypes.c_int64 * len(tensor.shape))(*(tensor.strides or _contiguous(tensor.shape)))
    managed = ManagedTensor() if versioned else _UnversionedTensor()
    if isinstance(managed, ManagedTensor):
        managed.major, managed.minor, managed.flags = 1, 0, _READ_ONLY if tensor.read_only else 0
    managed.context = number = next(_numbers)
    managed.deleter = ctypes.cast(_forget_versioned if versioned else _forget_old, ctypes.c_void_p)
    managed.tensor = Tensor(
        tensor.address,
        *tensor.device,
        len(tensor.shape),
        *type_code(tensor.dtype),
        1,
        ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
        ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)),
        0,
    )
    _exported[number] = managed, shape, strides, tensor.owner
    destructor = ctypes.cast(_delete_unused, ctypes.c_void_p)
    return _new_capsule(ctypes.addressof(managed), _VERSIONED if versioned else _OLD, destructor)


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return tuple(strides)


def type_code(dtype: np.dtype[Any]) -> tuple[int, int]:
    """DLPack's type code and number of bits. Raises BufferError for a data type without a code."""
    name = dtype_of_numpy(dtype).name
    for code, known in _BYTE_FLOATS.items():
        if known == name:
            return code, 8
    if name == "bool":
        return 6, 8
    for code, kind in _KINDS.items():
        if name == f"{kind}{8 * dtype.itemsize}":
            return code, 8 * dtype.itemsize
    raise BufferError(f"DLPack has no type for {name}")
