"""Rules that schedule a block: `tvm.meta_schedule.schedule_rule`."""

from __future__ import annotations

from ...absent import report_absent
from .add_rfactor import AddRFactor
from .apply_custom_rule import ApplyCustomRule
from .auto_bind import AutoBind
from .auto_inline import AutoInline, InlineConstantScalars
from .cross_thread_reduction import CrossThreadReduction
from .multi_level_tiling import MultiLevelTiling, MultiLevelTilingWideVector, MultiLevelTilingWithIntrin, ReuseType
from .parallel_vectorize_unroll import ParallelizeVectorizeUnroll
from .random_compute_location import RandomComputeLocation
from .schedule_rule import PyScheduleRule, ScheduleRule

__getattr__ = report_absent("tvm.meta_schedule.schedule_rule")

__all__ = [
    "AddRFactor", "ApplyCustomRule", "AutoBind", "AutoInline", "CrossThreadReduction", "InlineConstantScalars",
    "MultiLevelTiling", "MultiLevelTilingWideVector", "MultiLevelTilingWithIntrin", "ParallelizeVectorizeUnroll",
    "PyScheduleRule", "RandomComputeLocation", "ReuseType", "ScheduleRule",
]  # fmt: skip
