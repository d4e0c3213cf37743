"""Modules and functions at the top of TVM until v0.6: `tvm.expr`, `tvm.stmt`, `tvm.build_config`, ..."""

from . import expr, module, schedule, stmt, tensor
from .config import build_config

__all__ = ["build_config", "expr", "module", "schedule", "stmt", "tensor"]
