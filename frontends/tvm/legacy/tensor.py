"""The module `tvm.tensor` until v0.6: tensors and the operations that compute them."""

from ....expressions.extern import ExternOp
from ....expressions.scan import ScanOp
from ....expressions.tensor import ComputeOp, Operation, PlaceholderOp, Tensor, TensorSlice
from ..absent import report_absent

__getattr__ = report_absent("tvm.tensor")

__all__ = ["ComputeOp", "ExternOp", "Operation", "PlaceholderOp", "ScanOp", "Tensor", "TensorSlice"]
