"""Steps of schedules that many rules share."""

from __future__ import annotations

from collections.abc import Sequence

from .....core.errors import ScheduleError
from .....schedule import Schedule
from ..analysis import SBlockInfo


def try_inline(sch: Schedule, blocks: Sequence[SBlockInfo]) -> list[SBlockInfo]:
    """Inlines blocks into their consumers, else into their producers, where that is legal. Returns the other blocks."""
    left = list(blocks)
    for inline in (sch.compute_inline, sch.reverse_compute_inline):
        for block in list(left):
            try:
                inline(block.block_rv)
            except ScheduleError:
                continue
            left.remove(block)
    return left


def try_inline_contiguous_spatial(sch: Schedule, block_infos: Sequence[SBlockInfo]) -> list[SBlockInfo]:
    """Inlines the spatial blocks among those before, between and after reductions, as `try_inline`. Returns the other
    blocks."""
    result: list[SBlockInfo] = []
    spatial: list[SBlockInfo] = []
    for block in block_infos:
        if block.is_injective():
            spatial.append(block)
        else:
            result += [*try_inline(sch, spatial), block]
            spatial = []
    return [*result, *try_inline(sch, spatial)]


__all__ = ["try_inline", "try_inline_contiguous_spatial"]
