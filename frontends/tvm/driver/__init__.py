"""The module `tvm.driver`."""

from ..absent import report_absent
from . import tvmc
from .build_module import OperatorModule, build, compile, lower

__getattr__ = report_absent("tvm.driver")

__all__ = ["OperatorModule", "build", "compile", "lower", "tvmc"]
