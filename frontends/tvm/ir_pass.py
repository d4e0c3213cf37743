"""Functions on statements and expressions until v0.6: `tvm.ir_pass`."""

from __future__ import annotations

from typing import Any

from ...expressions.expr import PrimExpr
from .absent import report_absent
from .arith import Analyzer
from .ir.comparison import structural_equal
from .nodes.functor import ir_transform as IRTransform
from .nodes.functor import post_order_visit as PostOrderVisit
from .nodes.functor import substitute as Substitute

__getattr__ = report_absent("tvm.ir_pass")


def Simplify(expr: Any) -> PrimExpr:
    """An equal, simpler expression, as of `tvm.arith.Analyzer.simplify`."""
    return Analyzer().simplify(expr)


CanonicalSimplify = Simplify


def Equal(lhs: Any, rhs: Any) -> bool:
    """Whether two expressions or statements are equal, as of `tvm.ir.structural_equal`."""
    return structural_equal(lhs, rhs)


__all__ = ["CanonicalSimplify", "Equal", "IRTransform", "PostOrderVisit", "Simplify", "Substitute"]
