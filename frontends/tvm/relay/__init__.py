"""The module `tvm.relay`, as of v0.16: graphs as expressions, and their compilation."""

from __future__ import annotations

import typing
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
    image,
    nn,
    op,
    qnn,
    var,
)
from . import analysis, build_module, frontend, ir_pass, testing, transform
from .build_module import build, optimize
from .execute import create_executor

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
    "create_executor",
    "frontend",
    "image",
    "ir_pass",
    "nn",
    "op",
    "optimize",
    "qnn",
    "scalar_type",
    "testing",
    "transform",
    "var",
]

if TYPE_CHECKING:

    def __getattr__(name: str) -> typing.Any:
        """The function that builds expressions of the operator `name`."""
else:
    globals().update(op.functions())


def scalar_type(dtype: str) -> TensorType:
    """The type of a tensor of rank 0."""
    return _relay.TensorType((), dtype)
