"""The rule `AutoBind`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...tir import SBlockRV, Schedule
from ..thread_binding import bind_block, sampler
from .schedule_rule import ScheduleRule

if TYPE_CHECKING:
    from ..tune_context import TuneContext


class AutoBind(ScheduleRule):
    """Binds the outer spatial loops of a block to blocks and threads of a GPU.

    max_threadblocks: the greatest number of blocks.  thread_extents: numbers of threads, of which one is drawn.
    max_threads_per_block: the greatest number of threads, by default that of the target.
    """

    def __init__(
        self, max_threadblocks: int = 256, thread_extents: Sequence[int] | None = None, max_threads_per_block: int = -1
    ):
        self.max_threadblocks = max_threadblocks
        self.thread_extents = list(thread_extents or (32, 64, 128, 256, 512, 1024))
        self.max_threads_per_block = max_threads_per_block

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if self.max_threads_per_block == -1:
            self.max_threads_per_block = int(context.target.max_threads_per_block)

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        factor = sampler(sch, self.thread_extents)
        bind_block(sch, block, self.max_threadblocks, self.max_threads_per_block, factor)
        return [sch]
