"""What is known of expressions."""

from __future__ import annotations

from .expr import Expr, Function, Let, Var


def free_vars(expr: Expr) -> list[Var]:
    """The variables of an expression that it does not bind, in the order in which they are computed with."""
    found: dict[Var, None] = {}
    bound: set[Expr] = set()
    seen: set[Expr] = set()
    todo: list[Expr] = [expr]
    while todo:
        top = todo.pop()
        if top in seen:
            continue
        seen.add(top)
        if isinstance(top, Var):
            found[top] = None
        elif isinstance(top, Function):
            bound |= set(top.params)
            todo.append(top.body)
        elif isinstance(top, Let):
            bound.add(top.var)
        todo += reversed(top.children)
    return [variable for variable in found if variable not in bound]
