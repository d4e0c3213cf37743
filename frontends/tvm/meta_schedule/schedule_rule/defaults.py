"""The rules that TVM 0.16 has for kinds of targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .add_rfactor import AddRFactor
from .apply_custom_rule import ApplyCustomRule
from .auto_bind import AutoBind
from .auto_inline import AutoInline, InlineConstantScalars
from .cross_thread_reduction import CrossThreadReduction
from .multi_level_tiling import MultiLevelTiling, MultiLevelTilingWideVector, ReuseType
from .parallel_vectorize_unroll import ParallelizeVectorizeUnroll
from .random_compute_location import RandomComputeLocation
from .schedule_rule import ScheduleRule


def _inline_into_users() -> list[ScheduleRule]:
    return [
        ApplyCustomRule(),
        InlineConstantScalars(),
        AutoInline(
            into_producer=False,
            into_consumer=True,
            inline_const_tensor=True,
            disallow_if_then_else=True,
            require_injective=True,
            require_ordered=True,
            disallow_op=["tir.exp"],
        ),
    ]


def _tiles() -> MultiLevelTiling:
    reuse = ReuseType("may", [1, 2], "global")
    return MultiLevelTiling("SSRSRS", max_innermost_factor=64, reuse_write=reuse)


def _llvm() -> list[ScheduleRule]:
    return [
        *_inline_into_users(),
        AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
        _tiles(),
        ParallelizeVectorizeUnroll(max_jobs_per_core=16, max_vectorize_extent=64, unroll_max_steps=[0, 16, 64, 512]),
        RandomComputeLocation(),
    ]


def _cuda() -> list[ScheduleRule]:
    return [
        ApplyCustomRule(),
        MultiLevelTiling(
            "SSSRRSRS",
            tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"],
            max_innermost_factor=64,
            vector_load_lens=[1, 2, 3, 4, 8, 16],
            reuse_read=ReuseType("must", [4], "shared"),
            reuse_write=ReuseType("must", [3], "local"),
        ),
        InlineConstantScalars(),
        AutoInline(
            into_producer=True,
            into_consumer=True,
            inline_const_tensor=True,
            disallow_if_then_else=False,
            require_injective=False,
            require_ordered=False,
        ),
        CrossThreadReduction([4, 8, 16, 32, 64, 128, 256, 512]),
        ParallelizeVectorizeUnroll(-1, -1, unroll_max_steps=[0, 16, 64, 512, 1024]),
        AutoBind(max_threadblocks=256, thread_extents=[32, 64, 128, 256, 512, 1024]),
    ]


def _hexagon() -> list[ScheduleRule]:
    return [
        *_inline_into_users(),
        MultiLevelTilingWideVector(
            "SRSRS", vector_length_in_bits=1024, max_innermost_factor=128,
            reuse_write=ReuseType("may", [1, 2], "global"),
        ),
        ParallelizeVectorizeUnroll(max_jobs_per_core=16, max_vectorize_extent=128, unroll_max_steps=[0, 16, 64, 512]),
    ]  # fmt: skip


DEFAULTS: Mapping[str, Callable[[], list[ScheduleRule]]] = {
    "llvm": _llvm,
    "cuda": _cuda,
    "hexagon": _hexagon,
    "c": lambda: [*_inline_into_users(), _tiles()],
}
"""The rules by the kind of a target."""
