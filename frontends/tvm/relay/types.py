"""Types of expressions that are not part of a module."""

from __future__ import annotations

from typing import Any

from ....core.errors import StepwellError
from ...relay.analysis import free_vars
from ...relay.expr import Call, Expr, Function, Var
from ...relay.graph import module_of
from ..ir.module import IRModule


def type_call(call: Call) -> Call:
    """A call of an operator, which records its type. The operands have types. The errors of types of `module_of`."""
    params = [Var(f"x{n}", each.checked_type) for n, each in enumerate(call.args)]
    alike = Call(call.op, params, call.attrs)
    module_of({"main": Function(params, alike)})
    call.known_type = alike.known_type
    return call


def type_of(expr: Expr) -> Any:
    """The type of an expression, None if it does not follow from the annotations of the free variables."""
    if expr.known_type is not None:
        return expr.known_type
    try:
        mod = module_of({"main": Function(free_vars(expr), expr)})
    except StepwellError:
        return None
    return IRModule(mod.op, mod.constants)["main"].body.checked_type
