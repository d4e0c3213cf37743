"""Tuning of kernels: `tvm.meta_schedule.tir_integration`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ....expressions.tensor import Tensor
from ....module import Module
from ..absent import report_absent
from ..ir.module import IRModule, PrimFunc
from ..target.target import TargetLike, target_of
from ..te import create_prim_func
from ..tir import Schedule
from .cost_model import model_of_users
from .database import Database
from .space_generator import SpaceGenerator, space_of
from .tuning import TuneConfig, create_database, tools_of, tune_kernel

__getattr__ = report_absent("tvm.meta_schedule.tir_integration")


def tune_tir(
    mod: Module,
    target: TargetLike | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    max_trials_global: int | None = None,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Any = "local",
    runner: Any = "local",
    database: Any = None,
    cost_model: Any = "xgb",
    measure_callbacks: Any = "default",
    task_scheduler: Any = "gradient",
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    num_tuning_cores: Any = "physical",
    seed: int | None = None,
    module_equality: str = "structural",
    special_space: Mapping[str, Any] | None = None,
    post_optimization: bool | None = False,
    config: TuneConfig | None = None,
    task_name: str = "main",
    sch_rules: Any = None,
    postprocs: Any = None,
    mutator_probs: Any = None,
    blocks: Sequence[str] | None = None,
    num_threads: int | None = None,
) -> Any:
    """A database with measured schedules of the kernels of a module, drawn at random from a space.

    work_dir: the folder of the database, without one it is in memory.  max_trials_global: the greatest number of
    measurements, shared by the kernels; max_trials_per_task: of each.  space: a function of users
    (`ms.space_generator.ScheduleFn`), rules (`PostOrderApply(sch_rules=[...])`), or "post-order-apply": the default
    schedule, which is measured once.  strategy: "evolutionary", which derives schedules from the fastest ones by the
    mutators of the space, or "replay-trace" and "replay-func", which draw all choices.
    special_space: spaces by the names of kernels, None for a kernel that is left out.  builder, runner: "local", or
    those of users.  measure_callbacks: functions of users that see measurements.  database: a database, or "memory".
    seed: of the draws.  With `config`, as until v0.10, the result is the fastest schedule of the module's kernel;
    sch_rules, postprocs, mutator_probs: the parts of the space, values or functions that return them, and blocks: the
    names of its blocks, as until v0.9.  cost_model: a `CostModel` of users, by which twice as many schedules as are
    measured are ordered, and which learns of the measurements; TVM's models, by name, are ignored.

    OptionError for another space, runner or database; the errors of the space if no schedule of a kernel is legal.
    """
    where = target_of(target)
    records = create_database(database, work_dir)
    kernels = kernels_of(mod)
    trials = max_trials_global or (config or TuneConfig()).max_trials_global
    most = max_trials_per_task or max(1, trials // max(1, len(kernels)))
    model = model_of_users(cost_model)
    tools = tools_of(runner, builder, measure_callbacks)
    whole = space_of(space, sch_rules, postprocs, mutator_probs, blocks)
    for name, kernel in sorted(kernels.items()):
        chosen = (special_space or {}).get(name, whole)
        if chosen is not None:
            each = SpaceGenerator.create(chosen)
            tune_kernel(kernel, where, each, most, tools, records, seed, strategy, model)
    return records if config is None else records.query_schedule(mod, where)


def tune_te(tensors: Sequence[Tensor], target: TargetLike | None = None, **options: Any) -> Any:
    """The result of `tune_tir` for a function of tensors, as of v0.9. tensors: the parameters of the function."""
    return tune_tir(create_prim_func(tensors), target, **options)


def kernels_of(mod: Module) -> dict[str, PrimFunc]:
    """The kernels of a module by name, each with its name as its symbol unless it has another one."""
    if isinstance(mod, PrimFunc):
        return {"main": mod}
    kernels = {name: func for name, func in IRModule(mod.op, mod.constants).items() if isinstance(func, PrimFunc)}
    return {
        name: func if "global_symbol" in func.own_attrs else func.with_attr("global_symbol", name)
        for name, func in kernels.items()
    }


def compile_tir(database: Database | Schedule, mod: Module, target: TargetLike | None = None) -> Schedule | None:
    """The kernel of a module with its fastest schedule of a database, None if there is none."""
    return database if isinstance(database, Schedule) else database.query_schedule(mod, target)


__all__ = ["compile_tir", "tune_te", "tune_tir"]
