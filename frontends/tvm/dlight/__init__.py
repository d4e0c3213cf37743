"""Default schedules of kernels by rules: `tvm.dlight`, from v0.24 on `tvm.s_tir.dlight`.

The rules are those of [default schedules](gpu.md) under TVM's names, and rules of users.
"""

from __future__ import annotations

from ..absent import report_absent
from . import analysis, base, cpu, gpu
from .analysis import BlockInfo, IterInfo, SBlockInfo, normalize_prim_func
from .base import ApplyDefaultSchedule, ScheduleRule, try_inline, try_inline_contiguous_spatial

__getattr__ = report_absent("tvm.dlight")

__all__ = [
    "ApplyDefaultSchedule", "BlockInfo", "IterInfo", "SBlockInfo", "ScheduleRule", "analysis", "base", "cpu", "gpu",
    "normalize_prim_func", "try_inline", "try_inline_contiguous_spatial",
]  # fmt: skip
