"""Types of expressions that are not part of a module."""

from __future__ import annotations

from typing import Any

from ....core.errors import StepwellError
from ...relay.analysis import free_vars
from ...relay.expr import Expr, Function
from ...relay.graph import module_of
from ..ir.module import IRModule


def type_of(expr: Expr) -> Any:
    """The type of an expression, None if it does not follow from the annotations of the free variables."""
    if expr.known_type is not None:
        return expr.known_type
    try:
        mod = module_of({"main": Function(free_vars(expr), expr)})
    except StepwellError:
        return None
    return IRModule(mod.op, mod.constants)["main"].body.checked_type
