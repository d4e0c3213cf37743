"""A kernel with a target and a space: `tvm.meta_schedule.tune_context`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from ....core.errors import OptionError
from ....module import Module
from ..absent import report_absent
from ..target.target import TargetLike, target_of
from ..tir import Schedule
from .arg_info import TensorInfo, args_info_of
from .database import normalized
from .space_generator import SpaceGenerator

__getattr__ = report_absent("tvm.meta_schedule.tune_context")


_LEAST_DRAWS = 16
"""The draws in a row that repeat known schedules after which a space counts as exhausted."""


def _new_seed() -> int:
    return Random().randrange(1, 2**31)


@dataclass(frozen=True)
class MeasureCandidate:
    """A schedule to measure, with the descriptions of the parameters of its kernel."""

    sch: Schedule
    args_info: Sequence[TensorInfo]


class TuneContext:
    """A kernel and the space of its schedules.

    mod: a module of one kernel.  target: of the schedules.  space_generator: as of `tune_tir`.  rand_state: the seed of
    the draws, -1 for a new one.  num_threads: a number, "physical" or "logical" for the processors of this machine.
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
        """Without an effect are the strategy, the threads and the logger. OptionError for another space, and for a
        module of several kernels."""
        self.mod = None if mod is None else normalized(mod)
        self.target = target_of(target)
        self.space_generator = SpaceGenerator.create(space_generator)
        self.search_strategy = search_strategy
        self.task_name = task_name
        self._is_repeated = rand_state != -1
        self.rand_state = rand_state if self._is_repeated else _new_seed()
        self.num_threads: int = (os.cpu_count() or 1) if isinstance(num_threads, str) else num_threads
        self.logger = logger
        self._rest: int | None = None
        self._most = 0
        self._first: list[Schedule] = []
        self._seen: set[str] = set()

    def generate_design_space(self) -> list[Schedule]:
        """One drawn schedule of the kernel, without a kernel none. The errors of the space."""
        if self.mod is None:
            return []
        seed = self.rand_state if self._is_repeated else _new_seed()
        return [self.space_generator.draw(Schedule(self.mod, seed=seed), self.target)]

    def initialize(self) -> None:
        """Nothing: the constructor prepares all."""

    def pre_tuning(
        self,
        max_trials: int = 64,
        num_trials_per_iter: int = 64,
        design_spaces: Sequence[Schedule] | None = None,
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        """Begins a search, whose candidates `generate_measure_candidates` returns.

        max_trials: the greatest number of candidates.  num_trials_per_iter: those of each call.  design_spaces: the
        first candidates.  Ignored are the database and the model.
        """
        self._rest, self._most = max_trials, num_trials_per_iter
        self._first, self._seen = list(design_spaces or ()), set[str]()

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The next schedules of the search, which differ from all before; None after the last one. OptionError outside
        of a search."""
        if self._rest is None:
            raise OptionError("generate_measure_candidates: no search, expected pre_tuning before")
        found: list[MeasureCandidate] = []
        repeats = 0
        while len(found) < min(self._most, self._rest) and repeats < _LEAST_DRAWS:
            if self._first:
                sch = self._first.pop(0)
            else:
                (sch,) = self.generate_design_space() or (None,)
            if sch is None:
                break
            text = str(sch.trace)
            repeats = repeats + 1 if text in self._seen else 0
            if text not in self._seen:
                self._seen.add(text)
                found.append(MeasureCandidate(sch, args_info_of(sch.mod)))
        self._rest -= len(found)
        return found or None

    def notify_runner_results(self, measure_candidates: Any, results: Any) -> None:
        """Nothing: schedules are drawn, not derived from the fastest ones."""

    def post_tuning(self) -> None:
        """Ends a search."""
        self._rest = None

    def clone(self) -> TuneContext:
        """A context of the same kernel, target and space."""
        return TuneContext(
            self.mod, target=self.target, space_generator=self.space_generator, search_strategy=self.search_strategy,
            task_name=self.task_name, rand_state=self.rand_state if self._is_repeated else -1,
            num_threads=self.num_threads, logger=self.logger,
        )  # fmt: skip


_normalize_mod = normalized
"""The name of TVM for `normalized`."""


__all__ = ["MeasureCandidate", "TuneContext"]
