"""Expressions of graphs: `tvm.relay.expr`."""

from __future__ import annotations

from ...relay.expr import *  # noqa: F403
from ...relay.expr import Expr
from ...relay.functor import bind as bind
from ..absent import report_absent
from ..ir.families import RelayExpr as RelayExpr

__getattr__ = report_absent("tvm.relay.expr")

ExprWithOp = Expr
"""The name of `Expr` since v0.7 as the base class of the expressions with operators of Python."""
