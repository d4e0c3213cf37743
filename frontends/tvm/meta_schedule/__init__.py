"""Schedules that are drawn and measured: `tvm.meta_schedule`, from v0.24 on `tvm.s_tir.meta_schedule`.

A space gives the schedules of a kernel: a function of users with random choices, or the default schedule. The fastest
of those that are drawn is kept in a database.
"""

from __future__ import annotations

from ..absent import report_absent
from . import (
    arg_info,
    builder,
    cost_model,
    database,
    measure_callback,
    mutator,
    postproc,
    relax_integration,
    relay_integration,
    runner,
    schedule_rule,
    search_strategy,
    space_generator,
    task_scheduler,
    tir_integration,
    utils,
)
from .builder import Builder
from .cost_model import CostModel
from .database import Database, TuningRecord, Workload
from .measure_callback import MeasureCallback
from .mutator import Mutator
from .postproc import Postproc
from .relax_integration import compile_relax, tune_relax
from .relax_integration import extract_tasks as extract_task_from_relax
from .relay_integration import compile_relay, is_meta_schedule_enabled, tune_relay
from .relay_integration import extract_tasks as extract_task_from_relay
from .runner import Runner
from .schedule_rule import ScheduleRule
from .search_strategy import SearchStrategy
from .space_generator import SpaceGenerator
from .task_scheduler import TaskScheduler
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
    tune_tasks,
)
from .utils import derived_object

__getattr__ = report_absent("tvm.meta_schedule")


def ApplyHistoryBest(database: Database) -> Database:
    """A database, as the context of a compilation, under the name until v0.9."""
    return database


__all__ = [
    "Builder",
    "CostModel",
    "Database",
    "EvolutionarySearchConfig",
    "ExtractedTask",
    "MeasureCallback",
    "MeasureCandidate",
    "Mutator",
    "Postproc",
    "Profiler",
    "ReplayFuncConfig",
    "ReplayTraceConfig",
    "Runner",
    "ScheduleRule",
    "SearchStrategy",
    "SpaceGenerator",
    "TaskScheduler",
    "TuneConfig",
    "TuneContext",
    "TuningRecord",
    "Workload",
    "arg_info",
    "builder",
    "compile_relax",
    "compile_relay",
    "compile_tir",
    "cost_model",
    "database",
    "derived_object",
    "extract_task_from_relax",
    "extract_task_from_relay",
    "is_meta_schedule_enabled",
    "measure_callback",
    "mutator",
    "postproc",
    "relax_integration",
    "relay_integration",
    "runner",
    "schedule_rule",
    "search_strategy",
    "space_generator",
    "task_scheduler",
    "tir_integration",
    "tune_extracted_tasks",
    "tune_relax",
    "tune_relay",
    "tune_tasks",
    "tune_te",
    "tune_tir",
    "utils",
]  # fmt: skip
