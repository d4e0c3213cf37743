"""The module `tvm.module` until v0.6: compiled programs."""

from ..absent import report_absent
from ..runtime import Module, enabled
from ..runtime import load_module as load

__getattr__ = report_absent("tvm.module")

__all__ = ["Module", "enabled", "load"]
