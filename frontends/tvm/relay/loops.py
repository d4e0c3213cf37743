"""The module `tvm.relay.loops`: loops as functions that call themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...relay.expr import Expr, Function, If, Let, Tuple, Var
from ..absent import report_absent
from .types import type_of

__getattr__ = report_absent("tvm.relay.loops")


def while_loop(cond: Callable[..., Expr], loop_vars: Sequence[Expr], loop_bodies: Callable[..., Sequence[Expr]]) -> Let:
    """A function of the initial values of a loop, whose result is the tuple of the values after the last round.

    cond: the condition of another round.  loop_vars: variables, whose names and types those of the loop have, or other
    expressions, whose types they have.  loop_bodies: the values of the next round.
    """
    loop = Var("while_loop")
    variables = [
        Var(each.name_hint if isinstance(each, Var) else f"arg{n}", _type_of(each)) for n, each in enumerate(loop_vars)
    ]
    again = loop(*loop_bodies(*variables))
    return Let(loop, Function(variables, If(cond(*variables), again, Tuple(variables))), loop)


def _type_of(expr: Expr) -> Any:
    return expr.type_annotation if isinstance(expr, Var) else type_of(expr)


__all__ = ["while_loop"]
