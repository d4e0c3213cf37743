"""What `tvm.tir.stmt_functor` has."""

from ..nodes.functor import ir_transform, post_order_visit, pre_order_visit, substitute

__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "substitute"]
