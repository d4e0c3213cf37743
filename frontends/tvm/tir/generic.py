"""Arithmetic on expressions and tensors by name: `tvm.tir.generic`."""

from __future__ import annotations

from typing import Any

from ....expressions.expr import PrimExpr, as_expr
from ....expressions.expr import cast as convert
from ....expressions.functions import div
from ....expressions.functions import floordiv as round_down
from ....expressions.tensor import Tensor
from ..absent import report_absent

__getattr__ = report_absent("tvm.tir.generic")


def add(lhs: Any, rhs: Any, span: None = None) -> Any:
    """The sum of two expressions or tensors. span: ignored, as by all functions of the module."""
    return _operand(lhs) + rhs


def subtract(lhs: Any, rhs: Any, span: None = None) -> Any:
    """The difference of two expressions or tensors."""
    return _operand(lhs) - rhs


def multiply(lhs: Any, rhs: Any, span: None = None) -> Any:
    """The product of two expressions or tensors."""
    return _operand(lhs) * rhs


def divide(lhs: Any, rhs: Any, span: None = None) -> Any:
    """The quotient of two expressions or tensors; of integer expressions, rounded towards zero."""
    return lhs / rhs if isinstance(lhs, Tensor) or isinstance(rhs, Tensor) else div(lhs, rhs)


def floordiv(lhs: Any, rhs: Any, span: None = None) -> PrimExpr:
    """The quotient of two expressions, rounded down."""
    return round_down(lhs, rhs)


def cast(src: Any, dtype: str, span: None = None) -> Any:
    """An expression, or the elements of a tensor, converted to a data type."""
    return src.astype(dtype) if isinstance(src, Tensor) else convert(dtype, as_expr(src))


def _operand(value: Any) -> Any:
    return value if isinstance(value, Tensor) else as_expr(value)


__all__ = ["add", "cast", "divide", "floordiv", "multiply", "subtract"]
