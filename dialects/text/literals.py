"""Printing of numbers, strings, types and attributes in TVMScript."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    UnitAttr,
    f64,
)
from xdsl.ir import Attribute

from ...core.dtypes import DType, dtype_of, numpy_dtype
from ...core.errors import UnsupportedError
from ..tir import HandleType, ParameterAttr, TargetAttr
from .styles import Style

_DECIMAL_DIGITS = {"float32": 6, "float16": 3, "bfloat16": 2}
"""The number of decimal digits that a conversion to the type and back preserves (C's FLT_DIG)."""

_MAX_FLOAT32 = 3.4028234663852886e38
_MAX_INT64 = 2**63 - 1


def string_literal(text: str) -> str:
    """The string literal of `text`."""
    return json.dumps(text, ensure_ascii=False)


def _shortest_decimal(value: float, dtype: DType) -> float:
    """The shortest decimal number that rounds to `value`, 1e-05 for 9.99999974737875e-06, or `value` itself."""
    if value.is_integer() and dtype.bits <= 16:
        return value
    rounded = numpy_dtype(dtype).type
    with np.errstate(over="ignore"):  # the decimal number above one of the largest values may overflow
        for digits in range(1, _DECIMAL_DIGITS.get(dtype.name, 0) + 1):
            short = float(f"{value:.{digits - 1}e}")
            if float(rounded(short)) == value:
                return short
    return value


def float_digits(value: float, dtype: DType) -> str:
    """The text of a finite float in TVM's format: all digits of an integer, else 17 significant digits."""
    value = _shortest_decimal(value, dtype)
    if value.is_integer() and abs(value) <= _MAX_FLOAT32:
        return f"{value:.1f}"
    return f"{value:.17g}"


def is_exact(value: int, dtype: DType) -> bool:
    """Whether a float type represents `value` exactly."""
    with np.errstate(over="ignore"):
        return abs(value) < 2**128 and float(numpy_dtype(dtype).type(float(value))) == value


def is_large_float(value: float) -> bool:
    """Whether a finite float64 is beyond the range of float32."""
    return math.isfinite(value) and abs(value) > _MAX_FLOAT32


def number_literal(value: int | float, dtype: DType, style: Style) -> str:
    """The text of a constant: an int32 without its type, other constants with their type, vectors as a broadcast."""
    if dtype.lanes != 1:
        return f"T.Broadcast({number_literal(value, dtype.scalar, style)}, {dtype.lanes})"
    if dtype.is_bool:
        return f"T.bool({bool(value)})"
    if not dtype.is_float:
        if not style.has_large_literals and value > _MAX_INT64:
            return f'T.Cast("{dtype.name}", T.int64({int(value) - 2**64}))'
        return str(value) if dtype == DType("int", 32) else f"T.{dtype.name}({value})"
    value = float(value)
    if not math.isfinite(value):
        return f'T.{dtype.name}("{value}")'
    if not style.has_large_literals and is_large_float(value):
        (bits,) = struct.unpack("<q", struct.pack("<d", value))
        return f'T.reinterpret("float64", T.int64({bits}))'
    return f"T.{dtype.name}({float_digits(value, dtype)})"


def dtype_literal(type: Attribute | None) -> str:
    """The text of a type as a string argument: `"float32x4"`, `"handle"`, `"void"` for None."""
    if type is None:
        return '"void"'
    return string_literal("handle" if isinstance(type, HandleType) else dtype_of(type).name)


def type_text(type: Attribute, style: Style) -> str:
    """The text of a type as an annotation: `T.float32`, `T.handle("float32", "shared")`."""
    if not isinstance(type, HandleType):
        return f"T.{dtype_of(type).name}"
    if isinstance(type.element, NoneAttr):
        return "T.handle"
    scope = "" if type.scope.data == "global" and not style.always_scope else f", {string_literal(type.scope.data)}"
    return f"T.handle({dtype_literal(type.element)}{scope})"


def _float_attribute(attr: FloatAttr[Any], style: Style) -> str:
    """The text of a float attribute; a finite float64 is a plain Python number."""
    if attr.type == f64 and math.isfinite(attr.value.data):
        return float_digits(attr.value.data, dtype_of(f64))
    return number_literal(attr.value.data, dtype_of(attr.type), style)


def _integer_attribute(attr: IntegerAttr[Any], style: Style) -> str:
    dtype = dtype_of(attr.type)
    return str(attr.value.data != 0) if dtype.is_bool else number_literal(attr.value.data, dtype, style)


def dictionary_literal(items: Mapping[str, Attribute], style: Style) -> str:
    """The text of a dictionary, `{"a": 1, "b": "x"}`, sorted by key."""
    pairs = sorted((style.key(key), value) for key, value in items.items())
    return f"{{{', '.join(f'{string_literal(key)}: {attribute_literal(value, style)}' for key, value in pairs)}}}"


def _list(attr: ArrayAttr[Any], style: Style) -> str:
    return f"[{', '.join(attribute_literal(item, style) for item in attr.data)}]"


_ATTRIBUTES: dict[type[Attribute], Callable[[Any, Style], str]] = {
    IntegerAttr: _integer_attribute,
    FloatAttr: _float_attribute,
    IntAttr: lambda attr, _: str(attr.data),
    StringAttr: lambda attr, _: string_literal(attr.data),
    UnitAttr: lambda _attr, _style: "True",
    NoneAttr: lambda _attr, _style: "None",
    ArrayAttr: _list,
    DenseArrayBase: lambda attr, _: str(list(attr.get_values())),
    DictionaryAttr: lambda attr, style: dictionary_literal(attr.data, style),
    ParameterAttr: lambda attr, _: attr.parameter.data,
    TargetAttr: lambda attr, style: f"T.target({attribute_literal(attr.config, style)})",
}


def attribute_literal(attr: Attribute, style: Style) -> str:
    """The text of an annotation value; `UnsupportedError` for an attribute without a form in TVMScript."""
    if type(attr) not in _ATTRIBUTES:
        raise UnsupportedError(f"TVMScript has no way to write the attribute {attr}")
    return _ATTRIBUTES[type(attr)](attr, style)
