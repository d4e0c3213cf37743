"""Checks of the data types of operands and of the values of attributes."""

from __future__ import annotations

from collections.abc import Sequence

from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr
from ..expressions.tensor import Tensor


def require_floats(data: Tensor | PrimExpr, what: str) -> None:
    """TeError unless the elements are floats. what: the name in the error."""
    if not data.data_type.is_float:
        raise TeError(f"{what} of {data.dtype}, expected floats")


def require_integers(data: Tensor | PrimExpr, what: str) -> None:
    """TeError unless the elements are signed or unsigned integers. what: the name in the error."""
    if data.data_type.is_float or data.data_type.is_bool:
        raise TeError(f"{what} of {data.dtype}, expected integers")


def wide_dtype(data: Tensor | PrimExpr) -> str:
    """The data type of computations on floats that are rounded once at the end: at least 32 bits."""
    return data.dtype if data.data_type.bits > 16 else "float32"


def require_one_of(value: str, expected: Sequence[str], what: str) -> None:
    """TeError unless an attribute has an expected value. what: the name in the error."""
    if value not in expected:
        raise TeError(f"{what} {value!r}, expected {', '.join(map(repr, expected[:-1]))} or {expected[-1]!r}")
