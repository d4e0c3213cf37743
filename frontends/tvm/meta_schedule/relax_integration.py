"""Tuning of programs: `tvm.meta_schedule.relax_integration`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ....module import Module
from .. import relax
from ..absent import report_absent
from ..ir.module import IRModule
from ..relax.transform import BindParams, FuseOps, FuseTIR, LegalizeOps, MetaScheduleApplyDatabase
from ..target.target import Target, TargetLike, target_of
from .database import Database, Workload, normalized
from .tir_integration import kernels_of, tune_tir
from .tuning import ExtractedTask, extracted_tasks_to_tune_contexts

__getattr__ = report_absent("tvm.meta_schedule.relax_integration")


def extract_tasks(
    mod: Module, target: TargetLike | None = None, params: Mapping[str, Any] | None = None,
    module_equality: str = "structural",
) -> list[ExtractedTask]:  # fmt: skip
    """The kernels that a program calls, and those that compute its operators. Equal kernels are one. weight: the
    number of equal kernels.  params: values of parameters of `main`."""
    where = target_of(target)
    found: dict[int, tuple[str, IRModule, int]] = {}
    for name, kernel in kernels_of(_with_kernels(mod, params)).items():
        workload = Workload(normalized(kernel))
        first, only, count = found.get(workload.shash, (name, workload.mod, 0))
        found[workload.shash] = first, only, count + 1
    return [ExtractedTask(name, only, where, [only], count) for name, only, count in found.values()]


def _with_kernels(mod: Module, params: Mapping[str, Any] | None) -> Module:
    """A program whose operators are calls of kernels."""
    bound = BindParams("main", params)(mod) if params else mod
    return FuseTIR()(FuseOps()(LegalizeOps()(bound)))


def tune_relax(
    mod: Module,
    params: Mapping[str, Any] | None,
    target: TargetLike,
    work_dir: str | os.PathLike[str],
    max_trials_global: int,
    *,
    op_names: list[str] | None = None,
    **options: Any,
) -> Database:
    """A database with measured schedules of the kernels of a program. op_names: parts of the names of the kernels,
    by default all.  options: of `tune_tir`."""
    kernels = kernels_of(_with_kernels(mod, params))
    chosen = {
        name: kernel for name, kernel in kernels.items() if op_names is None or any(each in name for each in op_names)
    }
    return tune_tir(IRModule(chosen), target, work_dir, max_trials_global, **options)


def compile_relax(
    database: Database,
    mod: Module,
    target: TargetLike,
    params: Mapping[str, Any] | None = None,
    enable_warning: bool = False,
) -> relax.Executable:
    """A compiled program whose kernels have their fastest schedules of a database; others have default schedules.
    enable_warning: as of `MetaScheduleApplyDatabase`."""
    with Target(target), database:
        scheduled = MetaScheduleApplyDatabase(enable_warning=enable_warning)(_with_kernels(mod, params))
    return relax.build(scheduled, target)


__all__ = ["compile_relax", "extract_tasks", "extracted_tasks_to_tune_contexts", "tune_relax"]
