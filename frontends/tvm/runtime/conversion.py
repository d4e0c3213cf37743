"""Python values as arguments and expressions: `tvm.runtime.convert`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.errors import ArgumentError
from ....expressions.expr import ExprConvertible, PrimExpr, StringImm, const


def convert(value: Any, span: None = None) -> Any:
    """A value as TVM's functions take it: a number as a constant, text as a `StringImm`, a tuple or dictionary of
    converted values; expressions, arrays, functions and other objects of this package are themselves. ArgumentError for
    other values.
    """
    match value:
        case bool() | int() | float():
            return const(value)
        case np.generic():
            return const(value.item(), str(value.dtype))
        case str():
            return StringImm(value)
        case list() | tuple():
            return tuple(convert(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case dict():
            return {key: convert(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            own = type(value).__module__.partition(".")[0] == __name__.partition(".")[0]
            if value is None or own or callable(value) or isinstance(value, PrimExpr | ExprConvertible | np.ndarray):
                return value
            raise ArgumentError(f"convert: {value!r}, expected a number, text, a list, a dictionary or an expression")
