"""The place of the tools of `tvm.contrib` since v0.25: `tvm.support`."""

from __future__ import annotations

from .absent import report_absent
from .contrib import cc, clang, nvcc, utils

__getattr__ = report_absent("tvm.support")

__all__ = ["cc", "clang", "nvcc", "utils"]
