"""Conversions of values and copies of functions: `tvm.relax.utils`."""

from __future__ import annotations

from typing import Any

from ..absent import report_absent
from .expr import Expr, as_expr
from .function import Function
from .type_converter import args_converter as args_converter

__getattr__ = report_absent("tvm.relax.utils")


def convert_to_expr(value: Any) -> Expr:
    """A value as an expression: a number and an expression of `tvm.tir` as a `PrimValue`, a text as a `StringImm`, a
    list or tuple as a `Tuple`. ArgumentError for a value of another kind."""
    return as_expr(value)


def copy_with_new_vars(func: Function) -> Function:
    """A copy of a function, whose variables are new."""
    return func.of_op(func.func, func.constants)


__all__ = ["args_converter", "convert_to_expr", "copy_with_new_vars"]
