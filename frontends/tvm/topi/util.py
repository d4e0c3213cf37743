"""`tvm.topi.utils`, as TVM called it until v0.7."""

from .utils import get_const_float, get_const_int, get_const_tuple, infer_pad, infer_stride, simplify, traverse_inline

__all__ = [
    "get_const_float", "get_const_int", "get_const_tuple", "infer_pad", "infer_stride", "simplify",
    "traverse_inline",
]  # fmt: skip
