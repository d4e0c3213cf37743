"""The module `tvm.schedule` until v0.6: schedules of tensors."""

from ..absent import report_absent
from ..te import Schedule, Stage, create_schedule
from ..tir import IterVar

__getattr__ = report_absent("tvm.schedule")

__all__ = ["IterVar", "Schedule", "Stage", "create_schedule"]
