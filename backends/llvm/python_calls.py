"""The native code of builtin functions of Python, linked on first use: it checks arguments, calls a function of a
program and returns the result as an object of Python (`calls.ll`, `runtime/python_calls.py`). The code that makes
stand-ins of tensors is linked apart (`tensors.ll`, `runtime/stand_ins.py`).
"""

from __future__ import annotations

import ctypes

import numpy as np

from ...core.once import once
from ..runtime import forwarding, python_calls
from ..runtime.python_calls import RESULTS, CallCode
from ..runtime.stand_ins import STAND_IN_SPACE, maker, stand_in_symbols
from .engine import NativeModule
from .shared_code import python_symbols, read_texts, shared_object

_FUNCTION, _FORWARDED, _BOUND = "stepwell.call_function", "stepwell.call_forwarded", "stepwell.call_bound"
_STAND_INS = "stepwell.stand_ins"
_PYTHON = (
    "PyObject_Vectorcall", "PyLong_AsLongLongAndOverflow", "PyLong_FromLongLong", "PyLong_FromUnsignedLongLong",
    "PyFloat_AsDouble", "PyFloat_FromDouble", "PyEval_SaveThread", "PyEval_RestoreThread", "Py_IncRef", "Py_DecRef",
)  # fmt: skip
_OBJECTS = {"ndarray": np.ndarray, "int": int, "float": float, "none": None, "true": True, "false": False}


@once
def call_code() -> CallCode:
    """The code of builtin functions."""
    objects = {f"stepwell.{name}": id(each) for name, each in _OBJECTS.items()}
    symbols = {**python_symbols(_PYTHON), **objects, "stepwell.make_stand_ins": ctypes.addressof(maker)}
    names = _FUNCTION, _FORWARDED, _BOUND
    native = NativeModule([shared_object(_text())], names, (), symbols)
    function, forwarded, bound = map(native.address, names)
    return CallCode(function, forwarded, bound, lambda: _stand_ins().address(_STAND_INS), native)


@once
def _stand_ins() -> NativeModule:
    text = read_texts(["tensors.ll"], _layout())
    return NativeModule(
        [shared_object(text)], [_STAND_INS], (), {**python_symbols(["PyErr_Clear"]), **stand_in_symbols()}
    )


def _text() -> str:
    words = {
        "header": python_calls.HEADER_WORDS,
        "buffer": python_calls.BUFFER_WORDS,
        "fixed": python_calls.FIXED,
        "integer": python_calls.INTEGER,
        "single": python_calls.SINGLE,
        "double": python_calls.DOUBLE,
        "dynamic_stride": python_calls.DYNAMIC_STRIDE,
        "stand_in_space": STAND_IN_SPACE,
        "function": forwarding.FUNCTION,
        "self": forwarding.SELF_OF_BUILTIN,
    }
    kinds = {name: number for number, name in enumerate(RESULTS, 1)}
    return read_texts(["calls.ll"], _layout() | words | kinds)


def _layout() -> dict[str, int]:
    """The layout of objects of Python."""
    return {
        "type": python_calls.TYPE_OF_OBJECT,
        "data": python_calls.DATA,
        "rank": python_calls.RANK,
        "shape": python_calls.SHAPE,
        "strides": python_calls.STRIDES,
        "dtype": python_calls.DTYPE,
        "flags": python_calls.FLAGS,
        "items": python_calls.ITEMS,
        "characters": python_calls.CHARACTERS,
        "contiguous": python_calls.CONTIGUOUS,
        "aligned": python_calls.ALIGNED,
        "writeable": python_calls.WRITEABLE,
    }
