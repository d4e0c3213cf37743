"""Loops that become blocks and threads."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.dependence import carried_dependence
from ...analysis.threads.axes import BLOCK_AXES
from ...dialects.tir import ForOp
from .. import Schedule
from ..handles import LoopRV
from .results import decline_unless

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


def bind_grid(sch: Schedule, loops: Sequence[LoopRV]) -> LoopRV:
    """Make blocks of threads of loops that stand in each other; the loop over threads.

    DeclineError unless the iterations of each are independent. Then so are those of all of them: of two that differ,
    the first of the loops in which they do tells. They become one loop, if the indices of that are affine; else the
    last one is cut into threads, and it and the first ones are blocks.
    """
    for loop in loops:
        decline_unless(is_independent(sch, loop), f"the iterations of loop {loop.name} depend on each other")
    with sch.unchecked():
        if all(extent_of(sch, loop) is not None for loop in loops[1:]):
            block, thread = _blocks_and_threads(sch, fused(sch, loops))
            sch.bind(block, "blockIdx.x")
        else:
            block, thread = _blocks_and_threads(sch, loops[-1])
            for loop, axis in zip((loops[0], block, *loops[1:-1]), BLOCK_AXES, strict=False):
                sch.bind(loop, axis)
        sch.bind(thread, "threadIdx.x")
    return thread


def _blocks_and_threads(sch: Schedule, loop: LoopRV) -> list[LoopRV]:
    """The two parts of a loop, of which the inner one has as many iterations as a block has threads, or fewer."""
    extent = extent_of(sch, loop)
    return sch.split(loop, [None, THREADS if extent is None else max(min(THREADS, extent), 1)])


def is_independent(sch: Schedule, loop: LoopRV) -> bool:
    """Whether no iteration of a loop touches what another one writes."""
    op = sch.get(loop)
    assert isinstance(op, ForOp)
    return carried_dependence(op) is None
