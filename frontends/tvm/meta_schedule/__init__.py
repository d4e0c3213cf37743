"""Schedules that are drawn and measured: `tvm.meta_schedule`, from v0.24 on `tvm.s_tir.meta_schedule`.

A space gives the schedules of a kernel: a function of users with random choices, or the default schedule. The fastest
of those that are drawn is kept in a database.
"""

from __future__ import annotations

from ..absent import report_absent
from . import (
    arg_info,
    builder,
    database,
    relax_integration,
    relay_integration,
    runner,
    space_generator,
    tir_integration,
)
from .database import Database, TuningRecord, Workload
from .relax_integration import compile_relax, tune_relax
from .relax_integration import extract_tasks as extract_task_from_relax
from .relay_integration import compile_relay, is_meta_schedule_enabled, tune_relay
from .relay_integration import extract_tasks as extract_task_from_relay
from .space_generator import SpaceGenerator
from .tir_integration import compile_tir, tune_te, tune_tir
from .tune_context import MeasureCandidate, TuneContext
from .tuning import (
    EvolutionarySearchConfig,
    ExtractedTask,
    Profiler,
    ReplayFuncConfig,
    ReplayTraceConfig,
    TuneConfig,
    tune_extracted_tasks,
)

__getattr__ = report_absent("tvm.meta_schedule")


def ApplyHistoryBest(database: Database) -> Database:
    """A database, as the context of a compilation, under the name until v0.9."""
    return database


__all__ = [
    "Database", "EvolutionarySearchConfig", "ExtractedTask", "MeasureCandidate", "Profiler", "ReplayFuncConfig",
    "ReplayTraceConfig", "SpaceGenerator", "TuneConfig", "TuneContext", "TuningRecord", "Workload",
    "arg_info", "builder", "compile_relax", "compile_relay", "compile_tir", "database", "extract_task_from_relax",
    "extract_task_from_relay",
    "is_meta_schedule_enabled", "relax_integration", "relay_integration", "runner", "space_generator",
    "tir_integration", "tune_extracted_tasks", "tune_relax", "tune_relay", "tune_te", "tune_tir",
]  # fmt: skip
