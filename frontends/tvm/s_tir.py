"""Schedules of functions, as TVM calls `tvm.tir.Schedule` from v0.24 on."""

from . import dlight
from .absent import report_absent
from .tir import Block as SBlock
from .tir import BlockRealize as SBlockRealize
from .tir import Schedule, ScheduleError, analysis, transform

__getattr__ = report_absent("tvm.s_tir")

__all__ = ["SBlock", "SBlockRealize", "Schedule", "ScheduleError", "analysis", "dlight", "transform"]
