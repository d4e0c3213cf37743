"""Analyses of expressions."""

from __future__ import annotations

from .adt import Match
from .expr import Expr, Function, Let, Var


def free_vars(expr: Expr) -> list[Var]:
    """The free variables of an expression, in the order of their first use."""
    variables: dict[Var, None] = {}
    bound: set[Expr] = set()
    seen: set[Expr] = set()
    todo: list[Expr] = [expr]
    while todo:
        top = todo.pop()
        if top in seen:
            continue
        seen.add(top)
        if isinstance(top, Var):
            variables[top] = None
        elif isinstance(top, Function):
            bound |= set(top.params)
            todo.append(top.body)
        elif isinstance(top, Let):
            bound.add(top.var)
        elif isinstance(top, Match):
            bound |= {variable for clause in top.clauses for variable in clause.lhs.variables}
        todo += reversed(top.children)
    return [variable for variable in variables if variable not in bound]
