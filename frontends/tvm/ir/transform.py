"""Passes and their contexts: `tvm.ir.transform`."""

from ..absent import report_absent
from ..transform import ModulePass, Pass, PassContext, PassInfo, PrintIR, Sequential, module_pass

__getattr__ = report_absent("tvm.ir.transform")

__all__ = ["ModulePass", "Pass", "PassContext", "PassInfo", "PrintIR", "Sequential", "module_pass"]
