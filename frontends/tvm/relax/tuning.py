"""Passes that tune the kernels of programs, and apply the schedules that were found."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from ....core.errors import OptionError
from ....module import Module
from ..ir.module import IRModule
from ..target.target import Target
from ..transform import FunctionalPass, PassContext, PassInfo

_LOG = logging.getLogger(__name__)


def _report(kernel: str) -> None:
    _LOG.warning("kernel %s: the database has no record for the target", kernel)


def MetaScheduleApplyDatabase(
    work_dir: str | os.PathLike[str] | None = None, enable_warning: bool = False
) -> FunctionalPass:
    """Replaces kernels by those with their fastest schedules of a database for the current target. Other kernels stay.

    work_dir: the folder of the database, outside of `with database:`.  enable_warning: whether kernels without a
    record are reported. OptionError without a database.
    """

    def run(mod: IRModule, ctx: PassContext) -> Module:
        # lazy: the tuner imports this package
        from ..meta_schedule.database import Database, JSONDatabase, apply_database

        database = Database.current()
        if database is None:
            if work_dir is None:
                raise OptionError("MetaScheduleApplyDatabase: no database, expected work_dir or `with database:`")
            database = JSONDatabase(work_dir=work_dir)
        return apply_database(database, mod, Target.current(), _report if enable_warning else lambda _: None)

    return FunctionalPass(run, PassInfo(0, "MetaScheduleApplyDatabase"))


def MetaScheduleTuneTIR(work_dir: str | os.PathLike[str], max_trials_global: int) -> FunctionalPass:
    """Tunes each kernel of a module for the current target, and leaves the module as it is. Arguments and errors as of
    `meta_schedule.tune_tir`."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        # lazy: the tuner imports this package
        from ..meta_schedule.tir_integration import tune_tir

        tune_tir(mod, Target.current(), work_dir, max_trials_global)
        return mod

    return FunctionalPass(run, PassInfo(0, "MetaScheduleTuneTIR"))


def MetaScheduleTuneIRMod(
    params: Mapping[str, Any] | None,
    work_dir: str | os.PathLike[str],
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    op_names: list[str] | None = None,
) -> FunctionalPass:
    """Tunes the kernels of a program for the current target, and leaves the program as it is. params: values of
    parameters of `main`.  Other arguments and errors as of `meta_schedule.tune_relax`."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        # lazy: the tuner imports this package
        from ..meta_schedule.relax_integration import tune_relax

        tune_relax(
            mod, params, Target.current() or "llvm", work_dir, max_trials_global,
            max_trials_per_task=max_trials_per_task, op_names=op_names,
        )  # fmt: skip
        return mod

    return FunctionalPass(run, PassInfo(0, "MetaScheduleTuneIRMod"))


__all__ = ["MetaScheduleApplyDatabase", "MetaScheduleTuneIRMod", "MetaScheduleTuneTIR"]
