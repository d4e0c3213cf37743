"""A kernel with a target and a space: `tvm.meta_schedule.tune_context`."""

from __future__ import annotations

from random import Random
from typing import Any

from ....module import Module
from ..absent import report_absent
from ..target.target import TargetLike, target_of
from ..tir import Schedule
from .database import normalized
from .space_generator import SpaceGenerator

__getattr__ = report_absent("tvm.meta_schedule.tune_context")


class TuneContext:
    """A kernel and the space of its schedules.

    mod: a module of one kernel.  target: of the schedules.  space_generator: as of `tune_tir`.  rand_state: the seed of
    the draws, -1 for a new one.
    """

    def __init__(
        self,
        mod: Module | None = None,
        *,
        target: TargetLike | None = None,
        space_generator: Any = "post-order-apply",
        search_strategy: Any = None,
        task_name: str = "main",
        rand_state: int = -1,
        num_threads: Any = "physical",
        logger: Any = None,
    ):
        """Ignored are the strategy, the threads and the logger. OptionError for another space, and for a module of
        several kernels."""
        self.mod = None if mod is None else normalized(mod)
        self.target = target_of(target)
        self.space_generator = SpaceGenerator.create(space_generator)
        self.search_strategy = search_strategy
        self.task_name = task_name
        self.rand_state = rand_state
        self.logger = logger

    def generate_design_space(self) -> list[Schedule]:
        """One drawn schedule of the kernel, without a kernel none. The errors of the space."""
        if self.mod is None:
            return []
        seed = Random().randrange(1, 2**31) if self.rand_state == -1 else self.rand_state
        return [self.space_generator.draw(Schedule(self.mod, seed=seed), self.target)]

    def clone(self) -> TuneContext:
        """A context of the same kernel, target and space."""
        return TuneContext(
            self.mod, target=self.target, space_generator=self.space_generator, search_strategy=self.search_strategy,
            task_name=self.task_name, rand_state=self.rand_state, logger=self.logger,
        )  # fmt: skip


_normalize_mod = normalized
"""The name of TVM for `normalized`."""


__all__ = ["TuneContext"]
