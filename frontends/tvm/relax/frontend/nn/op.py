"""All operators on the tensors of modules: `nn.op`."""

from __future__ import annotations

from ......expressions.expr import PrimExpr
from ....absent import report_absent
from . import operators, sampling
from .operators import *  # noqa: F403
from .sampling import *  # noqa: F403

__getattr__ = report_absent("tvm.relax.frontend.nn.op")

IntExpr = int | PrimExpr
"""The type of sizes."""

__all__ = ["IntExpr", *operators.__all__, *sampling.__all__]  # pyright: ignore[reportUnsupportedDunderAll]
