"""Tuning of graphs: `tvm.meta_schedule.relay_integration`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ....module import Module
from ...relay import Function
from ..absent import report_absent
from ..ir.module import IRModule
from ..relay.building import GraphExecutorFactoryModule, build
from ..runtime import vm
from ..target.target import TargetLike, target_of
from ..transform import PassContext
from .database import Database, Workload, normalized
from .graphs import kernels_of_graph
from .tir_integration import tune_tir
from .tuning import ExtractedTask, TuneConfig, extracted_tasks_to_tune_contexts, tune_tasks

__getattr__ = report_absent("tvm.meta_schedule.relay_integration")

Graph = Module | Function


def extract_tasks(
    mod: Graph,
    target: TargetLike | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    opt_level: int = 3,
    pass_config: Mapping[str, Any] | None = None,
    **_options: Any,
) -> list[ExtractedTask]:
    """The kernels of a graph, as `relay.build` fuses them. Equal kernels are one. weight: the number of their calls.
    opt_level, pass_config: of the context. Other options of TVM are ignored. Errors as of `relay.build`."""
    where = target_of(target)
    found: dict[int, tuple[str, IRModule, int]] = {}
    with PassContext(opt_level=opt_level, config=dict(pass_config or {})):
        kernels = kernels_of_graph(mod, params)
    for kernel in kernels:
        workload = Workload(normalized(kernel.func))
        name, only, count = found.get(workload.shash, (kernel.name, workload.mod, 0))
        found[workload.shash] = name, only, count + kernel.weight
    return [ExtractedTask(name, only, where, [only], count) for name, only, count in found.values()]


def tune_relay(
    mod: Graph,
    params: Mapping[str, Any] | None = None,
    target: TargetLike | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    max_trials_global: int | None = None,
    *,
    space: Any = "post-order-apply",
    opt_level: int = 3,
    pass_config: Mapping[str, Any] | None = None,
    config: TuneConfig | None = None,
    backend: str = "graph",
    **options: Any,
) -> Any:
    """A database with measured schedules of the kernels of a graph, with which `compile_relay` compiles it.

    opt_level, pass_config: as of `extract_tasks`.  space, options: of `tune_tir`.  With `config`, as until v0.10, the
    result is the compiled graph, as of `compile_relay`.
    """
    tasks = extract_tasks(mod, target, params, opt_level=opt_level, pass_config=pass_config)
    kernels = {task.task_name: task.mod["main"].with_attr("global_symbol", task.task_name) for task in tasks}
    database = tune_tir(IRModule(kernels), target, work_dir, max_trials_global, space=space, **options)
    if config is None:
        return database
    return compile_relay(database, mod, target, params, opt_level=opt_level, pass_config=pass_config, backend=backend)


def compile_relay(
    database: Database,
    mod: Graph,
    target: TargetLike | None,
    params: Mapping[str, Any] | None = None,
    *,
    backend: str = "graph",
    opt_level: int = 3,
    pass_config: Mapping[str, Any] | None = None,
    executor: Any = None,
) -> GraphExecutorFactoryModule | vm.Executable:
    """The compiled graph, as of `relay.build`; with the backend "vm" as of `relay.vm.compile`. database: has the
    schedules of kernels; kernels without a record have default schedules.  executor: ignored. Errors as of these
    functions."""
    config = {**(pass_config or {}), "relay.backend.use_meta_schedule": True}
    with database, PassContext(opt_level=opt_level, config=config):
        if backend == "vm":
            # lazy: the machine imports executors of graphs
            from ..relay import vm as relay_vm

            return relay_vm.compile(mod, target, params=params)
        return build(mod, target, params=params)


extract_task_from_relay = extract_tasks
"""The name until v0.9."""


def is_meta_schedule_enabled() -> bool:
    """Whether the context has the option `relay.backend.use_meta_schedule`."""
    return bool(PassContext.current().config.get("relay.backend.use_meta_schedule", False))


__all__ = [
    "compile_relay", "extract_task_from_relay", "extract_tasks", "extracted_tasks_to_tune_contexts",
    "is_meta_schedule_enabled", "tune_relay", "tune_tasks",
]  # fmt: skip
