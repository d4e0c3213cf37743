"""Native calls with tensors of other libraries.

Native code reads the fields of arrays of numpy. It describes a tensor whose type has DLPack's table of C functions in
the same layout, by a stand-in (`llvm/tensors.ll`). A type is known to native code after its first call, whose arguments
Python converts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from weakref import WeakSet

import numpy as np

from ...core.dtypes import SCALAR_DTYPES, numpy_dtype
from .dlpack import type_code
from .exchange import Exchange, exchange_of

_MOST_TYPES = 32
"""The number of types of tensors that native code knows at most: it searches their table in each call."""


class _Library(ctypes.Structure):
    _fields_ = (("type", ctypes.c_void_p), ("describe", ctypes.c_void_p), ("export", ctypes.c_void_p))


class _Element(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("alignment", ctypes.c_int64),
        ("dtype", ctypes.c_void_p),
    )


maker = ctypes.c_void_p()
"""The address of the function that makes stand-ins, null until a call had a tensor."""
STAND_IN_SPACE = 8 + 200
"""The bytes for a pointer and for a stand-in, `%stepwell.array` of `llvm/tensors.ll`."""
_libraries = (_Library * (_MOST_TYPES + 1))()  # the last one is null
_known: list[type] = []
_seen: WeakSet[type] = WeakSet()


@cache
def _elements() -> ctypes.Array[_Element]:
    """The types of elements, and a null entry."""
    entries: list[_Element] = []
    for dtype in map(numpy_dtype, SCALAR_DTYPES):
        try:
            code, bits = type_code(dtype)
        except BufferError:  # packed elements of less than a byte
            continue
        entries.append(_Element(code | bits << 8 | 1 << 16, dtype.itemsize, dtype.alignment, id(dtype)))
    return (_Element * (len(entries) + 1))(*entries)


def stand_in_symbols() -> dict[str, int]:
    """The addresses of the symbols of `llvm/tensors.ll`."""
    return {
        "stepwell.libraries": ctypes.addressof(_libraries),
        "stepwell.elements": ctypes.addressof(_elements()),
        "stepwell.ndarray": id(np.ndarray),
    }


def accept_types(arguments: Sequence[Any], code: Callable[[], int]) -> None:
    """Makes the types of arguments known to native code, if they have DLPack's functions. code: returns the address of
    the function that makes stand-ins."""
    for kind in {type(argument) for argument in arguments}.difference(_seen):
        _seen.add(kind)
        exchange = exchange_of(kind)
        if exchange is not None and exchange.describe and len(_known) < _MOST_TYPES:
            _accept(kind, exchange)
            maker.value = code()


def _accept(kind: type, exchange: Exchange) -> None:
    entry = _libraries[len(_known)]
    _known.append(kind)
    entry.describe, entry.export = exchange.describe, exchange.export
    entry.type = id(kind)
