"""The module `tvm.te`: tensor expressions, whose functions are `PrimFunc`s."""

from __future__ import annotations

from collections.abc import Iterable

from ...expressions.extern import ExternOp
from ...expressions.scan import ScanOp
from ...expressions.tensor import ComputeOp, PlaceholderOp, TensorSlice
from .. import te
from ..te import names
from ..te.gradient import gradient
from ..te.inlining import AutoInlineBroadcast, AutoInlineBroarcast, AutoInlineElemWise, AutoInlineInjective
from ..te.names import *  # noqa: F403
from ..te.stage import Fuse, Split
from .absent import report_absent
from .ir.module import PrimFunc
from .nodes.declarations import Var, decl_buffer, var
from .tags import compute, tag_scope

__getattr__ = report_absent("tvm.te")

BaseComputeOp = ComputeOp
"""The operations that compute elements, as TVM's users ask for them."""

__all__ = [
    "AutoInlineBroadcast",
    "AutoInlineBroarcast",
    "AutoInlineElemWise",
    "AutoInlineInjective",
    "BaseComputeOp",
    "ComputeOp",
    "ExternOp",
    "Fuse",
    "PlaceholderOp",
    "ScanOp",
    "Split",
    "TensorSlice",
    "Var",
    "compute",
    "create_prim_func",
    "decl_buffer",
    "gradient",
    "tag_scope",
    "var",
]
__all__ += [name for name in names.__all__ if name not in __all__]


def create_prim_func(ops: Iterable[te.Tensor | te.Var], index_dtype_override: str | None = None) -> PrimFunc:
    """A function of the given tensors. ops: its parameters: placeholders, results and variables, in order."""
    return PrimFunc(te.create_prim_func(ops, index_dtype_override).op)
