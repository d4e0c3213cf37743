"""The `te` dialect: tensors defined mathematically, by an expression for each element. See docs/design.md."""

from __future__ import annotations

from xdsl.ir import Dialect

from .base import Axis, mixed_tensor_type, tensor_type_of
from .compute import ComputeOp, YieldOp
from .extern import ExternOp
from .functions import FuncOp, ParamsOp
from .scan import ScanOp
from .tensors import PlaceholderOp, ReadOp

__all__ = [
    "Axis",
    "ComputeOp",
    "ExternOp",
    "FuncOp",
    "ParamsOp",
    "PlaceholderOp",
    "ReadOp",
    "ScanOp",
    "Te",
    "YieldOp",
    "mixed_tensor_type",
    "tensor_type_of",
]

Te = Dialect("te", [ComputeOp, ExternOp, FuncOp, ParamsOp, PlaceholderOp, ReadOp, ScanOp, YieldOp])
