"""The rule `AddRFactor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....core.errors import ScheduleError
from ...tir import SBlockRV, Schedule
from ..blocks import fuse_reduction_loops, inner_block, is_split_reduction
from .random_compute_location import RANDOM_PRODUCER
from .schedule_rule import ScheduleRule, cores_of

if TYPE_CHECKING:
    from ..tune_context import TuneContext


class AddRFactor(ScheduleRule):
    """Divides a reduction with few results into partial reductions, of outer or of inner steps.

    max_jobs_per_core: the number of results per core above which there are enough of them, -1 for any.
    max_innermost_factor: the greatest number of inner steps, by default any.
    """

    def __init__(self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None):
        self.max_jobs_per_core = max_jobs_per_core
        self.max_innermost_factor = -1 if max_innermost_factor is None else max_innermost_factor
        self._most = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._most = cores_of(context) * self.max_jobs_per_core if self.max_jobs_per_core != -1 else -1

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        op = inner_block(sch, block)
        if op is None or not is_split_reduction(op, self._most):
            return [sch]
        original = sch.copy()
        original.seed(sch.fork_seed())
        loop, spatial = fuse_reduction_loops(sch, block)
        factors = sch.sample_perfect_tile(loop, 2, self.max_innermost_factor)
        results: list[Schedule] = []
        for part in sch.split(loop, factors):
            other = sch.copy()
            other.seed(sch.fork_seed())
            try:
                partial = other.rfactor(part, spatial)
            except ScheduleError:
                continue
            other.get_loops(partial)
            other.annotate(block, RANDOM_PRODUCER, 1)
            results.append(other)
        return [*results, original]
