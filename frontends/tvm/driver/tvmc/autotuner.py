"""Measurements of the kernels of models: `tvm.driver.tvmc.autotuner`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .....core.errors import OptionError
from ...absent import refuse_options, report_absent
from ...ir.module import IRModule
from ...target.target import target_of
from .compiler import change_graph
from .model import TVMCModel

__getattr__ = report_absent("tvm.driver.tvmc.autotuner")

TUNERS = ("ga", "gridsearch", "random", "xgb", "xgb_knob", "xgb-rank")
"""The names of tuners, which all measure the one configuration of a kernel."""


def autotvm_get_tuning_tasks(
    mod: IRModule, params: Mapping[str, Any], target: Any, target_host: Any = None, alter_layout: str | None = None
) -> list[Any]:
    """The kernels of a graph with convolutions or products of matrices, as tasks of `tvm.autotvm`. alter_layout: as of
    `compile`."""
    # lazy: tuners import drivers
    from ... import autotvm

    changed = change_graph(mod, alter_layout, None, None)
    return autotvm.task.extract_from_program(changed["main"], params, target_of(target, target_host))


def autoscheduler_get_tuning_tasks(
    mod: IRModule,
    params: Mapping[str, Any],
    target: Any,
    target_host: Any = None,
    alter_layout: str | None = None,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
) -> tuple[list[Any], list[int]]:
    """The kernels of a graph as tasks of `tvm.auto_scheduler`, and the number of calls of each. alter_layout: as of
    `compile`.  hardware_params: ignored.  include_simple_tasks: as of `auto_scheduler.extract_tasks`."""
    # lazy: tuners import drivers
    from ... import auto_scheduler

    changed = change_graph(mod, alter_layout, None, None)
    where = target_of(target, target_host)
    return auto_scheduler.extract_tasks(changed["main"], params, where, include_simple_tasks=include_simple_tasks)


def tune_model(
    tvmc_model: TVMCModel,
    target: Any,
    tuning_records: str | os.PathLike[str] | None = None,
    prior_records: str | os.PathLike[str] | None = None,
    enable_autoscheduler: bool = False,
    rpc_key: str | None = None,
    hostname: str | None = None,
    port: int | str = 9090,
    trials: int = 10000,
    target_host: Any = None,
    tuner: str = "xgb",
    min_repeat_ms: int | None = None,
    early_stopping: int | None = None,
    timeout: int = 10,
    repeat: int = 1,
    number: int = 10,
    parallel: int = 4,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
    log_estimated_latency: bool = False,
    additional_target_options: Any = None,
    tasks_filter: str | None = None,
    desired_layout: str | None = None,
    desired_layout_ops: Sequence[str] | None = None,
    mixed_precision: bool = False,
    mixed_precision_ops: Sequence[str] | None = None,
    mixed_precision_calculation_type: str | None = None,
    mixed_precision_acc_type: str | None = None,
    alter_layout: str | None = None,
) -> str:
    """Measures the kernels of a model with convolutions or products of matrices, once each, and writes records.

    Kernels have one configuration, the default schedule, which `compile` uses with and without records.
    tuning_records: the file of the records, by default one of the process.  prior_records: a file whose records precede
    the new ones.  enable_autoscheduler: writes records of `tvm.auto_scheduler`.  trials: 0 for no measurements.
    timeout: the longest seconds of a measurement.  repeat, number, min_repeat_ms: the measurements of a kernel, and the
    runs and the least milliseconds of each.  desired_layout, mixed_precision, ...: as of `compile`.  tuner: one of
    `TUNERS`.  parallel, early_stopping, hardware_params, include_simple_tasks, log_estimated_latency: ignored.

    Returns the path of the records. UnsupportedError for a machine elsewhere (rpc_key, hostname) and for tasks_filter;
    OptionError for another tuner.
    """
    # lazy: tuners import drivers
    from ... import auto_scheduler, autotvm

    refuse_options(
        "tvmc.tune", rpc_key=rpc_key, hostname=hostname, tasks_filter=tasks_filter,
        additional_target_options=additional_target_options, mixed_precision_ops=mixed_precision_ops,
    )  # fmt: skip
    if tuner not in TUNERS:
        raise OptionError(f"tvmc.tune: tuner {tuner!r}, expected {', '.join(TUNERS)}")
    path = Path(tuning_records or tvmc_model.default_tuning_records_path())
    path.write_text("" if prior_records is None else Path(prior_records).read_text())
    precision = (mixed_precision_calculation_type or "float16") if mixed_precision else None
    mod = change_graph(tvmc_model.mod, desired_layout or alter_layout, desired_layout_ops, precision)
    where = target_of(target, target_host)
    least = min_repeat_ms or 0
    if enable_autoscheduler:
        tasks, weights = auto_scheduler.extract_tasks(mod["main"], tvmc_model.params, where)
        runner = auto_scheduler.LocalRunner(timeout, number, repeat, least)
        options = auto_scheduler.TuningOptions(
            min(trials, len(tasks)), runner=runner, measure_callbacks=[auto_scheduler.RecordToFile(str(path))]
        )
        if trials and tasks:
            auto_scheduler.TaskScheduler(tasks, weights).tune(options)
        return str(path)
    option = autotvm.measure_option(
        autotvm.LocalBuilder(timeout=timeout),
        autotvm.LocalRunner(number=number, repeat=repeat, min_repeat_ms=least, timeout=timeout),
    )
    for task in autotvm.task.extract_from_program(mod["main"], tvmc_model.params, where):
        searcher = autotvm.tuner.RandomTuner(task)
        searcher.tune(min(trials, 1), option, callbacks=[autotvm.callback.log_to_file(str(path))])
    return str(path)
