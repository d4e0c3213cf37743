"""The module `tvm.tir.stmt_functor`."""

from ..nodes.functor import ir_transform, post_order_visit, pre_order_visit, substitute

__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "substitute"]
