"""Measurements of kernels: `tvm.runtime.profiling`."""

from __future__ import annotations

from ..absent import report_absent
from ..contrib.debugger.debug_executor import Report

__getattr__ = report_absent("tvm.runtime.profiling")

__all__ = ["Report"]
