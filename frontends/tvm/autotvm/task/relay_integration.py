"""The tasks of graphs: `tvm.autotvm.task.relay_integration`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .....module import Module
from ....relay import Function
from ...absent import report_absent
from ...ir.module import IRModule
from ...meta_schedule.database import Workload, normalized
from ...meta_schedule.graphs import PRODUCTS, GraphKernel, kernels_of_graph
from ...meta_schedule.space_generator import default_schedule
from ...target.target import Target, TargetLike, target_of
from ...tir.analysis import estimate_tir_flops
from .space import ConfigSpace
from .task import Task, register_function

__getattr__ = report_absent("tvm.autotvm.task.relay_integration")


def extract_from_program(
    mod: Module | Function,
    params: Mapping[str, Any] | None,
    target: TargetLike,
    target_host: TargetLike | None = None,
    ops: Iterable[Any] | None = None,
) -> list[Task]:
    """The tasks of a graph, as of `extract_from_multiple_program`."""
    return extract_from_multiple_program([mod], [params], target, target_host, ops)


def extract_from_multiple_program(
    mods: Sequence[Module | Function],
    params: Sequence[Mapping[str, Any] | None],
    target: TargetLike,
    target_host: TargetLike | None = None,
    ops: Iterable[Any] | None = None,
) -> list[Task]:
    """The tasks of graphs: the kernels of `relay.build` with convolutions or products of matrices, equal ones once.

    Kernels have default schedules and no templates, so the space of a task is one configuration, the default schedule,
    which is measured like others and leaves `relay.build` as it is. ops: operators, by default all of these.  params,
    errors: as of `relay.build`.
    """
    where = target_of(target, target_host)
    names = PRODUCTS if ops is None else tuple(str(getattr(each, "name", each)) for each in ops)
    tasks: dict[str, Task] = {}
    for mod, values in zip(mods, params, strict=True):
        for kernel in kernels_of_graph(mod, values, names):
            workload = Workload(normalized(kernel.func))
            if workload.key not in tasks:
                tasks[workload.key] = _task(kernel, workload, where)
    return list(tasks.values())


_KERNELS: dict[str, Workload] = {}
"""The kernels of tasks by the text of their hashes."""


def _task(kernel: GraphKernel, workload: Workload, target: Target) -> Task:
    _KERNELS[workload.key] = workload
    register_function(kernel.name, "fcustomized", _default_schedule, override=True)
    task = Task(kernel.name, (workload.key,))
    task.config_space, task.target, task.target_host = ConfigSpace(), target, target.host
    task.flop = estimate_tir_flops(workload.mod) or 1.0
    return task


def _default_schedule(key: str) -> tuple[IRModule, list[Any]]:
    """The template of a kernel: its module with the default schedule for the current target."""
    return default_schedule(_KERNELS[key].mod, target_of()).mod, []


__all__ = ["extract_from_multiple_program", "extract_from_program"]
