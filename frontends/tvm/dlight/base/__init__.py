"""Rules, the pass that applies them, and helpers for rules of users."""

from __future__ import annotations

from ...absent import report_absent
from .. import analysis
from ..analysis import BlockInfo, IterInfo, SBlockInfo, normalize_prim_func
from . import common_schedules, schedule_rule, transform, utils
from .common_schedules import try_inline, try_inline_contiguous_spatial
from .schedule_rule import ScheduleRule
from .transform import ApplyDefaultSchedule
from .utils import get_max_shared_memory_per_block, get_max_threads_per_block, suggest_threads_per_block

__getattr__ = report_absent("tvm.dlight.base")

__all__ = [
    "ApplyDefaultSchedule", "BlockInfo", "IterInfo", "SBlockInfo", "ScheduleRule", "analysis", "common_schedules",
    "get_max_shared_memory_per_block", "get_max_threads_per_block", "normalize_prim_func", "schedule_rule",
    "suggest_threads_per_block", "transform", "try_inline", "try_inline_contiguous_spatial", "utils",
]  # fmt: skip
