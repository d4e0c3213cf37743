"""Passes and their contexts: `tvm.ir.transform`."""

from ..transform import Pass, PassContext, PassInfo, Sequential, module_pass

__all__ = ["Pass", "PassContext", "PassInfo", "Sequential", "module_pass"]
