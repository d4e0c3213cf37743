"""Modules and functions at the top of TVM until v0.6: `tvm.expr`, `tvm.stmt`, `tvm.build_config`, ..."""

from . import expr, ir_pass, module, schedule, stmt, tensor
from .config import build_config

__all__ = ["build_config", "expr", "ir_pass", "module", "schedule", "stmt", "tensor"]
