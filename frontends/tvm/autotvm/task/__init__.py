"""Templates, their tasks and their configurations: `tvm.autotvm.task`."""

from __future__ import annotations

from ...absent import report_absent
from . import dispatcher, relay_integration, space, task, topi_integration
from .dispatcher import (
    ApplyConfig,
    ApplyFixedConfig,
    ApplyGraphBest,
    ApplyHistoryBest,
    DispatchContext,
    FallbackContext,
    clear_fallback_cache,
)
from .relay_integration import extract_from_multiple_program, extract_from_program
from .space import ConfigEntity, ConfigSpace, FallbackConfigEntity
from .task import (
    Task,
    TaskTemplate,
    args_to_workload,
    compute_flop,
    create,
    deserialize_args,
    get_config,
    register,
    serialize_args,
    template,
)
from .topi_integration import TaskExtractEnv, get_workload, register_topi_compute, register_topi_schedule

__getattr__ = report_absent("tvm.autotvm.task")

TopiTemplate = TaskTemplate
"""The templates of v0.7's name."""

__all__ = [
    "ApplyConfig", "ApplyFixedConfig", "ApplyGraphBest", "ApplyHistoryBest", "ConfigEntity", "ConfigSpace",
    "DispatchContext", "FallbackConfigEntity", "FallbackContext", "Task", "TaskExtractEnv", "TaskTemplate",
    "TopiTemplate", "args_to_workload", "clear_fallback_cache", "compute_flop", "create", "deserialize_args",
    "dispatcher", "extract_from_multiple_program", "extract_from_program", "get_config", "get_workload", "register",
    "register_topi_compute", "register_topi_schedule", "relay_integration", "serialize_args", "space", "task",
    "template", "topi_integration",
]  # fmt: skip
