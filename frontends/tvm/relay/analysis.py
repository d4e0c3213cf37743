"""The module `tvm.relay.analysis`."""

from __future__ import annotations

from typing import Any

from ....operators import Operator
from ...relay.analysis import free_vars
from ...relay.expr import Expr, Var
from ...relay.functor import post_order_visit
from ..absent import report_absent
from ..ir.module import IRModule
from .fake_quantization import operators_of_region

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


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """The number of calls of each operator between `qnn.dequantize` and `qnn.quantize`, by its name."""
    counts: dict[str, int] = {}
    for _, func in mod.items():
        for node in _nodes(func):
            if getattr(getattr(node, "op", None), "name", None) == "qnn.quantize":
                names = operators_of_region(node)
                for name in names if "qnn.dequantize" in names else ():
                    counts[name] = counts.get(name, 0) + (name != "qnn.dequantize")
    return {name: count for name, count in counts.items() if count}


def _nodes(expr: Expr) -> list[Any]:
    nodes: list[Any] = []
    post_order_visit(expr, nodes.append)
    return nodes


__all__ = [
    "all_vars",
    "bound_vars",
    "free_vars",
    "list_fake_quantized_op_freqs",
    "list_op_freqs",
    "post_order_visit",
]
