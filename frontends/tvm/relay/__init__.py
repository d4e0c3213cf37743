"""What `tvm.relay` has, as of v0.16: graphs as expressions, and building them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ... import relay as _relay
from ...relay import (
    Any,
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    TupleWrapper,
    Var,
    const,
    nn,
    var,
)
from ...relay.operators import functions_in
from . import analysis, build_module, ir_pass, testing
from .build_module import build

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
    "analysis",
    "build",
    "build_module",
    "const",
    "ir_pass",
    "nn",
    "scalar_type",
    "testing",
    "var",
]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Expr]: ...

else:
    globals().update(functions_in(""))


def scalar_type(dtype: str) -> TensorType:
    """The type of a tensor without dimensions."""
    return _relay.TensorType((), dtype)
