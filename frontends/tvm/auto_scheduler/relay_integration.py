"""The tasks of graphs: `tvm.auto_scheduler.relay_integration`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....module import Module
from ...relay import Function
from ..absent import report_absent
from ..meta_schedule.graphs import PRODUCTS, kernels_of_graph
from ..target.target import TargetLike, target_of
from ..transform import PassContext
from .compute_dag import ComputeDAG
from .search_task import SearchTask

__getattr__ = report_absent("tvm.auto_scheduler.relay_integration")


def extract_tasks(
    mod: Module | Function,
    params: Mapping[str, Any] | None,
    target: TargetLike,
    target_host: TargetLike | None = None,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
    dump_workload_to_dag_log: str | None = None,
    opt_level: int = 3,
    other_targets: Any = None,
) -> tuple[list[SearchTask], list[int]]:
    """The kernels that `relay.build` compiles for a graph, equal ones once, and the number of calls of each.

    include_simple_tasks: whether kernels without convolutions and products of matrices are tasks. params, errors: as of
    `relay.build`.  dump_workload_to_dag_log: a file for the keys and the kernels as JSON.  The other arguments are
    ignored.
    """
    where = target_of(target, target_host)
    tasks: dict[str, SearchTask] = {}
    weights: dict[str, int] = {}
    for kernel in kernels_of_graph(mod, params, None if include_simple_tasks else PRODUCTS):
        dag = ComputeDAG(kernel.func)
        key = dag.workload_key()
        tasks.setdefault(key, SearchTask(compute_dag=dag, workload_key=key, target=where, desc=kernel.name))
        weights[key] = weights.get(key, 0) + kernel.weight
    if dump_workload_to_dag_log is not None:
        text = json.dumps({key: str(task.compute_dag) for key, task in tasks.items()})
        Path(dump_workload_to_dag_log).write_text(text)
    return list(tasks.values()), list(weights.values())


def is_auto_scheduler_enabled() -> bool:
    """Whether the context has the option `relay.backend.use_auto_scheduler`, which is without an effect."""
    return bool(PassContext.current().config.get("relay.backend.use_auto_scheduler", False))


__all__ = ["extract_tasks", "is_auto_scheduler_enabled"]
