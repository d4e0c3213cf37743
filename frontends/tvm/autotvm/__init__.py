"""Templates of schedules whose configurations are measured: `tvm.autotvm`, until v0.19.

A template is a function that defines knobs and uses their values in a schedule of tensors. A task is a template with
arguments; a tuner measures configurations of its space, and a record of the fastest configuration is applied where the
template is called.
"""

from __future__ import annotations

from ..absent import report_absent
from . import env, graph_tuner, measure, record, task, tophub, tuner, utils
from .env import GLOBAL_SCOPE
from .measure import (
    LocalBuilder,
    LocalRunner,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    RPCRunner,
    measure_option,
)
from .task import (
    ApplyFixedConfig,
    ApplyGraphBest,
    ApplyHistoryBest,
    ConfigEntity,
    ConfigSpace,
    DispatchContext,
    FallbackContext,
    create,
    get_config,
    register_topi_compute,
    register_topi_schedule,
    template,
)
from .tuner import callback

__getattr__ = report_absent("tvm.autotvm")

apply_history_best = ApplyHistoryBest
apply_graph_best = ApplyGraphBest
apply_fixed_config = ApplyFixedConfig

__all__ = [
    "GLOBAL_SCOPE", "ApplyFixedConfig", "ApplyGraphBest", "ApplyHistoryBest", "ConfigEntity", "ConfigSpace",
    "DispatchContext", "FallbackContext", "LocalBuilder", "LocalRunner", "MeasureErrorNo", "MeasureInput",
    "MeasureResult", "RPCRunner", "apply_fixed_config", "apply_graph_best", "apply_history_best", "callback", "create",
    "env", "get_config", "graph_tuner", "measure", "measure_option", "record", "register_topi_compute",
    "register_topi_schedule", "task", "template", "tophub", "tuner", "utils",
]  # fmt: skip
