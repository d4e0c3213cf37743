"""Expressions of graphs: `tvm.relay.expr`."""

from __future__ import annotations

from ...relay.expr import *  # noqa: F403
from ...relay.expr import Expr
from ...relay.functor import bind as bind
from ..absent import report_absent

__getattr__ = report_absent("tvm.relay.expr")

RelayExpr = ExprWithOp = Expr
"""The names of `Expr` since v0.7: as the base class of expressions, and as that of those with operators of Python."""
