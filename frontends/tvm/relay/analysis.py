"""The module `tvm.relay.analysis`."""

from __future__ import annotations

from typing import Any

from ....operators import Operator
from ...relay.analysis import free_vars
from ...relay.expr import Expr, Var
from ...relay.functor import post_order_visit
from ..absent import report_absent

__getattr__ = report_absent("tvm.relay.analysis")


def all_vars(expr: Expr) -> list[Var]:
    """The variables of an expression, parameters among them, in the order of their first use."""
    return [node for node in _nodes(expr) if isinstance(node, Var)]


def bound_vars(expr: Expr) -> list[Var]:
    """The variables of an expression that are parameters, or bound by a `Let`."""
    free = set(free_vars(expr))
    return [variable for variable in all_vars(expr) if variable not in free]


def list_op_freqs(expr: Expr) -> dict[str, int]:
    """The number of calls of each operator, by its name."""
    counts: dict[str, int] = {}
    for node in _nodes(expr):
        if isinstance(getattr(node, "op", None), Operator):
            counts[node.op.name] = counts.get(node.op.name, 0) + 1
    return counts


def _nodes(expr: Expr) -> list[Any]:
    nodes: list[Any] = []
    post_order_visit(expr, nodes.append)
    return nodes


__all__ = ["all_vars", "bound_vars", "free_vars", "list_op_freqs", "post_order_visit"]
