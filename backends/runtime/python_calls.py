"""The interface between native code and the Python that calls it: a table of objects and functions of CPython and
numpy, and builtin functions of Python whose code is native.

Object code contains no address of Python: it reads the table, which each process fills, through one symbol.
"""

from __future__ import annotations

import ctypes
import platform
import sysconfig
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...core.dtypes import SCALAR_DTYPES, numpy_dtype
from ...core.once import once

TABLE = "stepwell.python"
"""The symbol of the table, no name of C."""

TYPE_OF_OBJECT = 8
DATA, RANK, SHAPE, STRIDES, DTYPE, FLAGS = 16, 24, 32, 40, 56, 64
"""Byte offsets in objects of CPython and in arrays of numpy on machines of 64 bits, which `is_supported` checks."""
CONTIGUOUS, ALIGNED, WRITEABLE, WARNS = 0x1, 0x100, 0x400, 1 << 31
"""Flags of an array. WARNS: numpy warns before the array is written."""

_FUNCTIONS = (
    "PyObject_Vectorcall",
    "PyTuple_GetItem",
    "PyLong_AsLongLongAndOverflow",
    "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong",
    "PyFloat_AsDouble",
    "PyFloat_FromDouble",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "Py_IncRef",
    "Py_DecRef",
)
_OBJECTS = {"ndarray": np.ndarray, "int": int, "float": float, "None": None, "True": True, "False": False}
_DTYPES = {name: numpy_dtype(name) for name in SCALAR_DTYPES}
STAND_INS = "stand_ins"
"""The entry for the function that makes stand-ins of tensors (`stand_ins.py`): null until a call had a tensor."""
_ENTRIES = (*_FUNCTIONS, *_OBJECTS, *_DTYPES, STAND_INS)


def table_offset(name: str) -> int:
    """The byte offset in the table of a function of CPython, of an object (`ndarray`, `None`), of a data type, or of
    `STAND_INS`."""
    return 8 * _ENTRIES.index(name)


@once
def python_table() -> ctypes.Array[ctypes.c_void_p]:
    """The table of this process."""
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _FUNCTIONS]
    return (ctypes.c_void_p * len(_ENTRIES))(*functions, *map(id, _OBJECTS.values()), *map(id, _DTYPES.values()))


@cache
def is_supported() -> bool:
    """Whether native code can read the objects of this Python and this numpy; else each call is checked in Python."""
    if platform.python_implementation() != "CPython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    array = np.zeros((5, 4, 3), np.float32)
    read_only = array[1:3, ::-2, 1]
    read_only.flags.writeable = False
    unaligned = np.zeros(17, np.int8)[1:].view(np.float64)
    return all(map(_has_known_layout, (array, read_only, unaligned, np.zeros(()), array.view(np.int32).T, array[:0])))


def _has_known_layout(array: np.ndarray[Any, Any]) -> bool:
    def number(offset: int, kind: Any = ctypes.c_int64) -> int:
        return kind.from_address(id(array) + offset).value

    expected = {CONTIGUOUS: array.flags.c_contiguous, ALIGNED: array.flags.aligned, WRITEABLE: array.flags.writeable}
    flags = number(FLAGS, ctypes.c_int32)
    if number(TYPE_OF_OBJECT) != id(np.ndarray) or any(bool(flags & flag) != expected[flag] for flag in expected):
        return False
    if number(DATA) != array.ctypes.data or number(RANK, ctypes.c_int32) != array.ndim:
        return False
    extents = ctypes.c_int64 * array.ndim
    return (
        number(DTYPE) == id(array.dtype)
        and tuple(extents.from_address(number(SHAPE)) if array.ndim else ()) == array.shape
        and tuple(extents.from_address(number(STRIDES)) if array.ndim else ()) == array.strides
    )


class _Method(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_FASTCALL_WITH_KEYWORDS, _NO_ARGUMENTS = 0x80 | 0x2, 0x4
_create = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def create_builtin(
    name: str, address: int, call: Callable[..., Any], fail: Callable[..., Any], keep_alive: object
) -> Callable[..., Any]:
    """A builtin function of Python.

    address: of native code, `ptr (ptr self, ptr arguments, i64 count, ptr names)`, where `self` is a tuple that begins
    with `call` and `fail`.  call: is called by native code with arguments that it does not accept.  fail: is called
    with the status of native code and the arguments, and raises an error.  keep_alive: owns the code.
    """
    method = _Method(name.encode(errors="replace"), address, _FASTCALL_WITH_KEYWORDS, None)
    return _create(ctypes.addressof(method), (call, fail, method, keep_alive), None)


def create_bound(
    name: str, code: int, entry: int, slots: ctypes.Array[ctypes.c_int64], short: bool, fail: Callable[[int], Any]
) -> Callable[[], None]:
    """A builtin function of Python without parameters, which calls an entry point.

    code: the address of native code, `ptr (ptr self, ptr nothing)`, where `self` is a tuple that begins with bytes and
    `fail`; the bytes are the addresses of the entry point and the slots, and whether the call is short.  fail: is
    called with a status other than 0, raises an error, and owns the code.
    """
    method = _Method(name.encode(errors="replace"), code, _NO_ARGUMENTS, None)
    words = bytes((ctypes.c_int64 * 3)(entry, ctypes.addressof(slots), short))
    return _create(ctypes.addressof(method), (words, fail, method, slots), None)
