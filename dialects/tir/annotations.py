"""What programs say about their functions, blocks and loops: keys and values of annotations."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, f64
from xdsl.ir import Attribute

from ...core.dtypes import int_fits, literal_dtype, type_of


def annotation_key(key: str) -> str:
    """The key as this compiler knows it: `tirx.noalias` of today's TVM is `tir.noalias`."""
    return f"tir.{key.removeprefix('tirx.')}" if key.startswith("tirx.") else key


def annotation_value(value: bool | float | str) -> Attribute:
    """A value as an attribute: integers are i32, or i64 where they do not fit; floats are f64. ValueError if an integer
    fits neither."""
    if isinstance(value, bool):
        return IntegerAttr.from_bool(value)
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, float):
        return FloatAttr(value, f64)
    dtype = literal_dtype(value)
    if not int_fits(value, dtype):
        raise ValueError(f"{value} does not fit {dtype}")
    return IntegerAttr(value, cast(Any, type_of(dtype)))
