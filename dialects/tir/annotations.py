"""Keys and values of the annotations of functions, blocks and loops."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, StringAttr, f64
from xdsl.ir import Attribute

from ...core.dtypes import int_fits, literal_dtype, mlir_type
from ...core.identifiers import is_encodable


def annotation_key(key: str) -> str:
    """The canonical key of this compiler: `tirx.noalias` of TVM 0.25-0.27 becomes `tir.noalias`."""
    return f"tir.{key.removeprefix('tirx.')}" if key.startswith("tirx.") else key


def annotation_value(value: object) -> Attribute:
    """The attribute of a bool, number or string, or of a list or dictionary of these; an attribute is returned as is.

    Integers become i32, or i64 if they do not fit; floats become f64. ValueError for a value of another type, and for
    an integer that does not fit i64.
    """
    match value:
        case Attribute():
            return value
        case bool():
            return IntegerAttr.from_bool(value)
        case int():
            dtype = literal_dtype(value)
            if not int_fits(value, dtype):
                raise ValueError(f"{value} does not fit {dtype}")
            return IntegerAttr(value, cast(Any, mlir_type(dtype)))
        case float():
            return FloatAttr(value, f64)
        case str():
            if not is_encodable(value):
                raise ValueError(f"{value!r} holds half of a surrogate pair, which is no character")
            return StringAttr(value)
        case list() | tuple():
            return ArrayAttr([annotation_value(item) for item in cast("list[object]", value)])
        case dict():
            items = cast("dict[object, object]", value).items()
            return DictionaryAttr({_checked_key(key): annotation_value(item) for key, item in items})
        case _:
            raise ValueError(f"{value!r}: expected a bool, a number, a string, a list or dictionary of them")


def _checked_key(key: object) -> str:
    if not isinstance(key, str) or not is_encodable(key):
        raise ValueError(f"key {key!r}: expected a string")
    return annotation_key(key)
