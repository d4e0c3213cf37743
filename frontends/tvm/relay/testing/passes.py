"""Expressions as passes change them: `run_infer_type`, `run_opt_pass`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .....operators import Operator
from ....relay.expr import Call, Expr, Function
from ....relay.functor import post_order
from ...ir.module import IRModule
from ...nd import NDArray, array
from ...transform import Pass
from ..transform import InferType


def run_opt_pass(expr: Expr, opt_pass: Pass | Sequence[Pass], import_prelude: bool = False) -> Any:
    """The expression after passes: a function, or the body of the function of the free variables.

    import_prelude: ignored; there are no data types of users.
    """
    mod = InferType()(IRModule.from_expr(expr))
    for each in opt_pass if isinstance(opt_pass, Sequence) else [opt_pass]:
        mod = each(mod)
    entry = mod["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr: Expr) -> Any:
    """The expression with types."""
    return run_opt_pass(expr, InferType())


def rand(dtype: str, *shape: int) -> NDArray:
    """An array of random numbers from 0 to 1."""
    return array(np.random.rand(*shape).astype(dtype))


def count_ops(expr: Expr) -> dict[str, int]:
    """The number of calls of each operator in an expression, by name."""
    counts: dict[str, int] = {}

    for node in post_order(expr):
        if isinstance(node, Call) and isinstance(node.op, Operator):
            counts[node.op.name] = counts.get(node.op.name, 0) + 1
    return counts
