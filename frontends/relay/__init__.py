"""Graphs written in Python with Relay's names.

x = relay.var("x", shape=(1, 784))
y = relay.nn.relu(relay.nn.dense(x, relay.var("w"), units=128))
mod = relay.module(relay.Function(relay.free_vars(y), y))
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING

from ...module import Module
from . import image, nn, op, qnn
from .analysis import free_vars
from .expr import (
    Call,
    Constant,
    Expr,
    Function,
    FunctionCall,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
    const,
    var,
)
from .graph import module_of
from .types import Any_ as Any  # Relay's name for the class
from .types import TensorType, TupleType

__all__ = [
    "Any",
    "Call",
    "Constant",
    "Expr",
    "Function",
    "FunctionCall",
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
    "free_vars",
    "image",
    "module",
    "nn",
    "op",
    "qnn",
    "var",
]

if TYPE_CHECKING:

    def __getattr__(name: str) -> typing.Any:
        """The function that builds expressions of the operator `name`."""
else:
    globals().update(op.functions())


def module(function: Function) -> Module:
    """A module of the `relay` dialect with `function` as `main`. OptionError, TeError for an invalid expression."""
    return module_of({"main": function})
