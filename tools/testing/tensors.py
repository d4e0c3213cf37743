"""Tensors that no library makes: producers of DLPack's table of C functions, with freely chosen fields."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np

from ...backends.runtime.dlpack import ManagedTensor, Tensor, type_code
from ...backends.runtime.exchange import ExchangeTable

_READ_ONLY = 1
_exported: dict[int, tuple[Any, ...]] = {}
_numbers = itertools.count(1)
_PRODUCER = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)


def count_exported() -> int:
    """The number of exported tensors whose deleter was not called."""
    return len(_exported)


class ExchangeTensor:
    """An array whose type has DLPack's table of C functions. device: DLPack's device type.  calls: the number of times
    that each function was called, and `__dlpack__`.  stream: the handle of the stream of the present work on any
    device."""

    __dlpack_c_exchange_api__: Any
    stream = 0

    def __init__(self, array: np.ndarray[Any, Any], device: int = 1) -> None:
        self.array, self.device = array, device
        self.calls = {"describe": 0, "export": 0, "__dlpack__": 0}
        self._shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self._strides = (ctypes.c_int64 * array.ndim)(*(stride // array.itemsize for stride in array.strides))

    def fill(self, tensor: Tensor) -> None:
        """Describes the array."""
        tensor.data, tensor.byte_offset = self.array.ctypes.data - 64, 64
        tensor.device_type, tensor.device_id, tensor.ndim = self.device, 0, self.array.ndim
        tensor.code, tensor.bits = type_code(self.array.dtype)
        tensor.lanes, tensor.shape, tensor.strides = 1, self._shape, self._strides

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **options: Any) -> Any:
        self.calls["__dlpack__"] += 1
        raise BufferError("exported through the table alone")


@_PRODUCER
def _describe(value: Any, address: int) -> int:
    value.calls["describe"] += 1
    value.fill(Tensor.from_address(address))
    return 0


@_PRODUCER
def _export(value: Any, address: int) -> int:
    value.calls["export"] += 1
    managed, number = ManagedTensor(), next(_numbers)
    managed.major, managed.minor, managed.context = 1, 3, number
    managed.flags = 0 if value.array.flags.writeable else _READ_ONLY
    managed.deleter = ctypes.cast(_delete, ctypes.c_void_p)
    value.fill(managed.tensor)
    _exported[number] = managed, value
    ctypes.c_void_p.from_address(address).value = ctypes.addressof(managed)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
def _stream(_type: int, _index: int, address: int) -> int:
    ctypes.c_void_p.from_address(address).value = ExchangeTensor.stream
    return 0


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete(address: int) -> None:
    del _exported[ManagedTensor.from_address(address).context]


_functions = {"export": _export, "describe": _describe, "stream": _stream}
_addresses = {name: ctypes.cast(function, ctypes.c_void_p).value for name, function in _functions.items()}
_older = ExchangeTable(1, 3, **_addresses)
_table = ExchangeTable(2, 0, ctypes.addressof(_older))
_create = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_NAME = b"dlpack_exchange_api"
ExchangeTensor.__dlpack_c_exchange_api__ = _create(ctypes.addressof(_table), _NAME, None)
