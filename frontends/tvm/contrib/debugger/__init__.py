"""The supported part of `tvm.contrib.debugger`: the executor that measures and shows kernels."""

from ...absent import report_absent
from . import debug_executor

__getattr__ = report_absent("tvm.contrib.debugger")

__all__ = ["debug_executor"]
