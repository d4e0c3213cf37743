"""Schedules of functions, as TVM calls `tvm.tir.Schedule` from v0.24 on."""

from .tir import Schedule, ScheduleError, analysis, transform

__all__ = ["Schedule", "ScheduleError", "analysis", "transform"]
