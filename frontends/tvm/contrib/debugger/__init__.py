"""The supported part of `tvm.contrib.debugger`: the executor that measures and shows kernels."""

from . import debug_executor

__all__ = ["debug_executor"]
