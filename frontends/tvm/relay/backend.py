"""The module `tvm.relay.backend`."""

from ..absent import report_absent
from . import te_compiler, vm
from .executors import Executor, Runtime

__getattr__ = report_absent("tvm.relay.backend")

__all__ = ["Executor", "Runtime", "te_compiler", "vm"]
