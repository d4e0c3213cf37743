"""Workloads that are measured with their default schedules: `tvm.auto_scheduler`, v0.7 to v0.19.

A workload is a function that returns tensors. Its schedule is the default schedule for the target (docs/cpu.md,
docs/gpu.md), which is measured and written to a record; there is no search.
"""

from __future__ import annotations

from ..absent import report_absent
from . import (
    _ffi_api,
    compute_dag,
    cost_model,
    dispatcher,
    loop_state,
    measure,
    measure_record,
    relay_integration,
    search_policy,
    search_task,
    task_scheduler,
    utils,
    workload_registry,
)
from .compute_dag import ComputeDAG, LayoutRewriteOption
from .cost_model import RandomModel, XGBModel
from .dispatcher import ApplyHistoryBest, DispatchContext
from .measure import (
    LocalBuilder,
    LocalRPCMeasureContext,
    LocalRunner,
    MeasureInput,
    MeasureResult,
    RPCRunner,
    register_task_input_check_func,
)
from .measure_record import RecordReader, RecordToFile, load_best, load_best_record, load_records, save_records
from .relay_integration import extract_tasks, is_auto_scheduler_enabled
from .search_policy import EmptyPolicy, PreloadCustomSketchRule, PreloadMeasuredStates, SketchPolicy
from .search_task import HardwareParams, SearchTask, TuningOptions, auto_schedule, create_task
from .task_scheduler import TaskScheduler
from .workload_registry import make_workload_key, register_workload

__getattr__ = report_absent("tvm.auto_scheduler")

__all__ = [
    "ApplyHistoryBest", "ComputeDAG", "DispatchContext", "EmptyPolicy", "HardwareParams", "LayoutRewriteOption",
    "LocalBuilder", "LocalRPCMeasureContext", "LocalRunner", "MeasureInput", "MeasureResult",
    "PreloadCustomSketchRule", "PreloadMeasuredStates", "RPCRunner", "RandomModel", "RecordReader", "RecordToFile",
    "SearchTask", "SketchPolicy", "TaskScheduler", "TuningOptions", "XGBModel", "_ffi_api", "auto_schedule",
    "compute_dag", "cost_model", "create_task", "dispatcher", "extract_tasks", "is_auto_scheduler_enabled", "load_best",
    "load_best_record", "load_records", "loop_state", "make_workload_key", "measure", "measure_record",
    "register_task_input_check_func", "register_workload", "relay_integration", "save_records", "search_policy",
    "search_task", "task_scheduler", "utils", "workload_registry",
]  # fmt: skip
