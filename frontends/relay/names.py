"""The names of the classes, the types and the operators, in `relay` and in `tvm.relay`."""

from __future__ import annotations

from . import image, nn, op, qnn
from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, TupleWrapper, Var, const, var
from .op import *  # noqa: F403
from .types import Any_ as Any  # Relay's name for the class
from .types import TensorType, TupleType

__all__ = [
    "Any",
    "Call",
    "Constant",
    "Expr",
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
    "image",
    "nn",
    "op",
    "qnn",
    "var",
]
__all__ += op.__all__
