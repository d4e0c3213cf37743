"""The rule `ParallelizeVectorizeUnroll`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...tir import SBlockRV, Schedule
from ..blocks import is_in_spatial_function, is_root, target_of_block
from .schedule_rule import ScheduleRule, cores_of

if TYPE_CHECKING:
    from ..tune_context import TuneContext

PARALLEL, VECTORIZE = "meta_schedule.parallel", "meta_schedule.vectorize"
UNROLL_EXPLICIT, UNROLL_IMPLICIT = "meta_schedule.unroll_explicit", "meta_schedule.unroll_implicit"
"""The annotations of a root block from which `RewriteParallelVectorizeUnroll` derives the kinds of loops."""


class ParallelizeVectorizeUnroll(ScheduleRule):
    """Annotates the root block with limits, by which the postprocessor `RewriteParallelVectorizeUnroll` selects
    parallel, vectorized and unrolled loops.

    max_jobs_per_core: iterations of parallel loops per core, -1 for no parallel loops.  max_vectorize_extent: lanes of
    vectors, -1 for no vectors.  unroll_max_steps: numbers of statements of unrolled loops, of which one is drawn.
    unroll_explicit: whether this compiler unrolls, or LLVM.
    """

    def __init__(
        self,
        max_jobs_per_core: int = 16,
        max_vectorize_extent: int = 16,
        unroll_max_steps: Sequence[int] | None = None,
        unroll_explicit: bool = True,
    ):
        self.max_jobs_per_core = max_jobs_per_core
        self.max_vectorize_extent = max_vectorize_extent
        self.unroll_max_steps = list(unroll_max_steps or ())
        self.unroll_explicit = unroll_explicit
        self._most = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._most = -1 if self.max_jobs_per_core == -1 else cores_of(context) * self.max_jobs_per_core

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        root = target_of_block(sch, block)
        if not is_root(root):
            return [sch]
        has_reductions = not is_in_spatial_function(root)
        if self.max_jobs_per_core != -1:
            sch.annotate(block, PARALLEL, self._most)
        if self.max_vectorize_extent != -1:
            sch.annotate(block, VECTORIZE, self.max_vectorize_extent)
        if self.unroll_max_steps and has_reductions:
            count = len(self.unroll_max_steps)
            steps = sch.sample_categorical(self.unroll_max_steps, [1.0 / count] * count)
            sch.annotate(block, UNROLL_EXPLICIT if self.unroll_explicit else UNROLL_IMPLICIT, steps)
        return [sch]
