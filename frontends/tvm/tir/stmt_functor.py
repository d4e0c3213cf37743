"""The module `tvm.tir.stmt_functor`."""

from ..ir.module import PrimFunc
from ..nodes.functor import ir_transform, post_order_visit, pre_order_visit, substitute


def renew_defs(func: PrimFunc) -> PrimFunc:
    """A copy of a function, with variables and buffers of its own."""
    return PrimFunc(func.op.clone(), func.constants)


__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "renew_defs", "substitute"]
