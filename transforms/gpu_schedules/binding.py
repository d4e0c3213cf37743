"""Loops that become blocks and threads."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.tir import ForOp
from ..schedule import Schedule
from ..schedule.handles import LoopRV

THREADS = 256
"""How many threads a block has, where nothing says another number."""


def fused(sch: Schedule, loops: Sequence[LoopRV]) -> LoopRV:
    """One loop for some that stand in each other."""
    return loops[0] if len(loops) == 1 else sch.fuse(*loops)


def extent_of(sch: Schedule, loop: LoopRV) -> int | None:
    """How often a loop runs; None if that is not known."""
    op = sch.get(loop)
    assert isinstance(op, ForOp)
    extent = op.mixed_bounds[1]
    return extent if isinstance(extent, int) else None


def bind_grid(sch: Schedule, loops: Sequence[LoopRV], threads: int = THREADS) -> LoopRV:
    """Make blocks of threads of loops that stand in each other; the loop over threads."""
    loop = fused(sch, loops)
    extent = extent_of(sch, loop)
    count = threads if extent is None else max(min(threads, extent), 1)
    block, thread = sch.split(loop, [None, count])
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    return thread
