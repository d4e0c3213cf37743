"""DLPack's table of C functions, through which a type of tensors exports its objects without a call of Python."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

_ATTRIBUTE, _CAPSULE = "__dlpack_c_exchange_api__", b"dlpack_exchange_api"
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class ExchangeTable(ctypes.Structure):
    """`DLPackExchangeAPI` of DLPack 1.3: its version, an older table, and the functions."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("older", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("export", ctypes.c_void_p),
        ("create", ctypes.c_void_p),
        ("describe", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class Exchange:
    """The addresses of the C functions of a type of tensors. export: `i32 (object, DLManagedTensorVersioned**)`.
    describe: `i32 (object, DLTensor*)`, 0 if the type has no such function.  stream: `i32 (device type, device index,
    void**)`, the stream of the present work on a device, 0 as for `describe`.
    """

    export: int
    describe: int
    stream: int

    @cached_property
    def export_function(self) -> Any:
        """`export`, to be called from Python."""
        return ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(self.export)

    @cached_property
    def stream_function(self) -> Any:
        """`stream`, to be called from Python."""
        return ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)(self.stream)


@lru_cache(maxsize=256)
def exchange_of(kind: type) -> Exchange | None:
    """The functions of a type of tensors, None for a type without them, or with a `__dlpack__` other than that of the
    class that defines them."""
    owner = next((each for each in kind.__mro__ if _ATTRIBUTE in vars(each)), None)
    if owner is None or getattr(kind, "__dlpack__", None) is not getattr(owner, "__dlpack__", None):
        return None
    try:
        address = _get_pointer(vars(owner)[_ATTRIBUTE], _CAPSULE)
    except ValueError:  # another object than the capsule of the specification
        return None
    while address:
        table = ExchangeTable.from_address(address)
        if table.major == 1:
            return Exchange(table.export, table.describe or 0, table.stream or 0) if table.export else None
        address = table.older
    return None
