"""The names of the expressions and the types, in `relay` and in `tvm.relay`."""

from __future__ import annotations

from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, TupleWrapper, Var, const, var
from .types import Any_ as Any  # Relay's name for the class
from .types import FuncType, TensorType, TupleType

__all__ = [
    "Any",
    "Call",
    "Constant",
    "Expr",
    "FuncType",
    "Function",
    "GlobalVar",
    "If",
    "Let",
    "TensorType",
    "Tuple",
    "TupleGetItem",
    "TupleType",
    "TupleWrapper",
    "Var",
    "const",
    "var",
]
