"""The module `tvm.schedule` until v0.6: schedules of tensors."""

from ..te import Schedule, Stage, create_schedule
from ..tir import IterVar

__all__ = ["IterVar", "Schedule", "Stage", "create_schedule"]
