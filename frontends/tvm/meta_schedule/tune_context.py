"""A kernel with a target and a space: `tvm.meta_schedule.tune_context`."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from ....core.errors import OptionError
from ....module import Module
from ..absent import report_absent
from ..target.target import TargetLike, target_of
from ..tir import Schedule
from .arg_info import args_info_of
from .candidates import Candidates, MeasureCandidate
from .database import normalized
from .search_strategy import SearchStrategy
from .space_generator import SpaceGenerator
from .utils import cpu_count

__getattr__ = report_absent("tvm.meta_schedule.tune_context")


def _new_seed() -> int:
    return Random().randrange(1, 2**31)


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
        """Without an effect are the threads and the logger. OptionError for another space or strategy, and for a module
        of several kernels."""
        self.mod = None if mod is None else normalized(mod)
        self.target = target_of(target)
        self.space_generator = SpaceGenerator.create(space_generator).clone()
        self.search_strategy = None if search_strategy is None else SearchStrategy.create(search_strategy)
        self.task_name = task_name
        self._is_repeated = rand_state != -1
        self.rand_state = rand_state if self._is_repeated else _new_seed()
        self.num_threads: int = cpu_count() if isinstance(num_threads, str) else num_threads
        self.logger = logger
        self._random = Random(self.rand_state)
        self._rest: int | None = None
        self._most = 0
        self._first: list[Schedule] = []
        self._candidates: Candidates | None = None
        self.space_generator.initialize_with_tune_context(self)

    @property
    def cores(self) -> int:
        """The number of cores of this machine."""
        return cpu_count()

    def generate_design_space(self) -> list[Schedule]:
        """The schedules of the space, with drawn choices; without a kernel none. The errors of the space."""
        return [] if self.mod is None else self.space_generator.generate_design_space(self.mod)

    def candidates(self) -> Candidates:
        """The schedules that a search draws from the space. OptionError without a kernel."""
        if self.mod is None:
            raise OptionError("search: no kernel, expected TuneContext(mod=...)")
        derives = self.search_strategy is None or self.search_strategy.derives
        return Candidates(self.mod, self.space_generator, derives, self._random)

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
        self._first, self._candidates = list(design_spaces or ()), self.candidates()

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The next schedules of the search, which differ from all before; None after the last one. OptionError outside
        of a search."""
        if self._rest is None or self._candidates is None:
            raise OptionError("generate_measure_candidates: no search, expected pre_tuning before")
        found: list[MeasureCandidate] = []
        while len(found) < min(self._most, self._rest):
            sch = self._first.pop(0) if self._first else self._candidates.draw()
            if sch is None:
                break
            self._candidates.add(sch)
            found.append(MeasureCandidate(sch, args_info_of(sch.mod)))
        self._rest -= len(found)
        return found or None

    def notify_runner_results(self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[Any]) -> None:
        """Reports the seconds of candidates, `run_secs` of the results. Others are derived from the fastest ones."""
        for candidate, result in zip(measure_candidates, results, strict=True):
            if self._candidates is not None and result.run_secs:
                seconds = [float(each) for each in result.run_secs]
                self._candidates.report(candidate.sch, sum(seconds) / len(seconds))

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
