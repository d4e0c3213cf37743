"""Builtin functions of Python whose code is native (`llvm/calls.ll`), and the layout of the objects that it reads.

The code is the same for all functions. A function describes its parameters by words, integers of 64 bits:

- the header: the address of the entry point; the number of parameters, of slots; whether the call is short; the kind of
  the result; a bit for each written parameter; the number of pairs of buffers that share no memory;
- a record of each parameter. A number: its kind, the size of the record, the minimum and the maximum. A buffer: its
  kind, the size of the record, the data type, flags (32 bits that mask the flags of an array, 32 bits that are expected
  then), the rank, the offset in bytes, the alignment, the binary logarithm of the size of an element, the extents (-1
  for a dynamic one), and the strides in bytes unless the buffer is contiguous. A contiguous buffer of static extents
  without offset and alignment is *fixed*: its number of bytes is in place of the offset;
- the pairs, each the positions of two parameters.
"""

from __future__ import annotations

import ctypes
import platform
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ...core.dtypes import int_range, numpy_dtype, parse_dtype
from .arguments import exclusive_pairs
from .signature import BufferParameter, FunctionSignature, RuntimeParameter, ScalarParameter

TYPE_OF_OBJECT = 8
DATA, RANK, SHAPE, STRIDES, DTYPE, FLAGS = 16, 24, 32, 40, 56, 64
ITEMS, CHARACTERS = 24, 32
"""Byte offsets in objects of CPython, in arrays of numpy, in tuples and in bytes on machines of 64 bits, which
`is_supported` checks."""
CONTIGUOUS, ALIGNED, WRITEABLE, WARNS = 0x1, 0x100, 0x400, 1 << 31
"""Flags of an array. WARNS: numpy warns before the array is written."""

BUFFER, FIXED, INTEGER, SINGLE, DOUBLE = range(5)
"""The kinds of parameters: arrays, fixed arrays; `int` in a range; `float` rounded to 32 bits, or as it is."""
RESULTS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "handle",
)  # fmt: skip
"""The results that native code converts. The kind of a result is its position and 1; 0 for no result."""
HEADER_WORDS, BUFFER_WORDS = 7, 8
"""The numbers of words of the header, and of the record of a buffer before its extents."""
DYNAMIC_STRIDE = -(2**63)
_NUMBERS = RESULTS[:-1]


def is_direct(signature: FunctionSignature) -> bool:
    """Whether native code can check the arguments of a function and convert its result. Python does it for others."""
    return signature.result in (None, *RESULTS) and all(
        isinstance(each, BufferParameter) or (isinstance(each, ScalarParameter) and each.dtype in _NUMBERS)
        for each in signature.parameters
    )


def function_words(signature: FunctionSignature, entry: int) -> bytes:
    """The words of a function that `is_direct` accepts. entry: the address of the entry point."""
    written = sum(
        1 << n for n, each in enumerate(signature.parameters) if isinstance(each, BufferParameter) and each.written
    )
    pairs = exclusive_pairs(signature)
    words = [
        entry, len(signature.parameters), signature.slot_count, signature.short,
        0 if signature.result is None else RESULTS.index(signature.result) + 1,
        _signed(written & (2**64 - 1)), len(pairs),
    ]  # fmt: skip
    for parameter in signature.parameters:
        words += _record(parameter)
    words += [position for pair in pairs for position in pair]
    return bytes((ctypes.c_int64 * len(words))(*words))


def _record(parameter: RuntimeParameter) -> Sequence[int]:
    """The record of a parameter that `is_direct` accepts."""
    if isinstance(parameter, BufferParameter):
        return _buffer_record(parameter)
    assert isinstance(parameter, ScalarParameter)
    dtype = parse_dtype(parameter.dtype)
    if dtype.is_float:
        return SINGLE if dtype.bits == 32 else DOUBLE, 4, 0, 0
    low, high = int_range(dtype)
    return INTEGER, 4, low, min(high, 2**63 - 1)


def _buffer_record(parameter: BufferParameter) -> Sequence[int]:
    dtype = numpy_dtype(parameter.dtype)
    size = dtype.itemsize
    flags = ALIGNED | (CONTIGUOUS if parameter.strides is None else 0) | (WRITEABLE if parameter.written else 0)
    extents = [-1 if extent is None else extent for extent in parameter.shape]
    strides = [DYNAMIC_STRIDE if each is None else each * size for each in parameter.strides or ()]
    description = [id(dtype), _signed(flags << 32 | flags | WARNS), len(extents)]
    log_size = size.bit_length() - 1
    if parameter.strides is None and parameter.offset == 0 and parameter.alignment == 1 and -1 not in extents:
        memory = [prod(extents) * size, 1, log_size]
        return [FIXED, BUFFER_WORDS + len(extents), *description, *memory, *extents]
    memory = [parameter.offset * size, parameter.alignment, log_size]
    return [BUFFER, BUFFER_WORDS + len(extents) + len(strides), *description, *memory, *extents, *strides]


def _signed(bits: int) -> int:
    """The word with 64 bits."""
    return bits - 2**64 if bits >= 2**63 else bits


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
    pair = (b"characters", array)
    return (
        ctypes.c_int64.from_address(id(pair) + ITEMS).value == id(pair[0])
        and ctypes.c_int64.from_address(id(pair) + ITEMS + 8).value == id(array)
        and ctypes.string_at(id(pair[0]) + CHARACTERS, len(pair[0])) == pair[0]
        and all(map(_has_known_layout, (array, read_only, unaligned, np.zeros(()), array.view(np.int32).T, array[:0])))
    )


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


@dataclass(frozen=True)
class CallCode:
    """The addresses of the code of builtin functions, of `llvm/calls.ll`, and the owner of the code. function: of
    `create_builtin`.  forwarded: of objects that forward their calls to such a function.  bound: of `create_bound`.
    stand_ins: returns the address of the function that makes stand-ins of tensors."""

    function: int
    forwarded: int
    bound: int
    stand_ins: Callable[[], int]
    owner: object


class _Method(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_FASTCALL_WITH_KEYWORDS, _NO_ARGUMENTS = 0x80 | 0x2, 0x4
_create = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def create_builtin(
    signature: FunctionSignature,
    code: CallCode,
    entry: int,
    call: Callable[..., Any],
    fail: Callable[..., Any],
    keep_alive: object,
) -> Callable[..., Any]:
    """A builtin function of Python for a signature that `is_direct` accepts.

    entry: the address of the entry point.  call: is called with arguments that native code does not accept.  fail: is
    called with the status of native code and the arguments, and raises an error.  keep_alive: owns the entry point.
    """
    method = _Method(signature.name.encode(errors="replace"), code.function, _FASTCALL_WITH_KEYWORDS, None)
    words = function_words(signature, entry)
    return _create(ctypes.addressof(method), (words, fail, call, method, keep_alive, code), None)


def create_bound(
    name: str, code: CallCode, entry: int, slots: ctypes.Array[ctypes.c_int64], short: bool, fail: Callable[[int], Any]
) -> Callable[[], None]:
    """A builtin function of Python without parameters, which calls an entry point.

    entry: the address of the entry point.  fail: is called with a status other than 0, raises an error, and owns the
    entry point.
    """
    method = _Method(name.encode(errors="replace"), code.bound, _NO_ARGUMENTS, None)
    words = bytes((ctypes.c_int64 * 3)(entry, ctypes.addressof(slots), short))
    return _create(ctypes.addressof(method), (words, fail, method, slots, code), None)
