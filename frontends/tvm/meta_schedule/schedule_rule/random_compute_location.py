"""The rule `RandomComputeLocation`."""

from __future__ import annotations

from .....analysis.scopes import child_blocks, consumers, enclosing_scope, loops_around
from .....dialects.tir import BlockOp
from ...tir import SBlockRV, Schedule
from ..blocks import annotation, inner_block, is_root, is_tiled
from .schedule_rule import ScheduleRule

RANDOM_PRODUCER = "meta_schedule.random_compute_producer"
"""The annotation of a block whose producer moves, too."""


class RandomComputeLocation(ScheduleRule):
    """Moves a block into a loop around the blocks that use it, which is drawn."""

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        op = inner_block(sch, block)
        if op is None or not _is_movable(op):
            return [sch]
        moved = [block]
        if annotation(op, RANDOM_PRODUCER) is not None:
            moved += sch.get_producers(block)
            sch.unannotate(block, RANDOM_PRODUCER)
        for each in moved:
            sch.compute_at(each, sch.sample_compute_location(each), preserve_unit_loops=True)
        return [sch]


def _is_movable(op: BlockOp) -> bool:
    """Whether a block is the only one in its loops, which no rule has tiled, and other blocks use it."""
    loops = loops_around(op)
    return (
        is_root(enclosing_scope(op))
        and bool(loops)
        and len(child_blocks(loops[0])) == 1
        and not is_tiled(op)
        and bool(consumers(op))
    )
