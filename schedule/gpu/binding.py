"""Binding of loops to blocks and threads."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.dependence import carried_dependence
from ...analysis.threads.axes import BLOCK_AXES
from ...dialects.tir import ForOp
from .. import Schedule
from ..handles import LoopRV
from ..rules.results import decline_unless

THREADS = 256
"""The default number of threads of a block."""


def fuse_loops(sch: Schedule, loops: Sequence[LoopRV]) -> LoopRV:
    """Fuses a chain of nested loops into one."""
    return loops[0] if len(loops) == 1 else sch.fuse(*loops)


def fuse_blocks(sch: Schedule, loops: Sequence[LoopRV]) -> LoopRV:
    """Fuses nested loops as far as no index is divided by a dynamic extent, and returns the last fused loop.

    Memory of a block or thread has a known size only if no index is divided by a dynamic extent: a loop of dynamic
    extent begins a fused loop. Those before the last one are bound to blockIdx.y and blockIdx.z; each thread executes
    further ones.
    """
    groups: list[list[LoopRV]] = []
    for loop in loops:
        if groups and extent_of(sch, loop) is not None:
            groups[-1].append(loop)
        else:
            groups.append([loop])
    *others, last = (fuse_loops(sch, group) for group in groups)
    for loop, axis in zip(others, BLOCK_AXES[1:], strict=False):
        sch.bind(loop, axis)
    return last


def extent_of(sch: Schedule, loop: LoopRV) -> int | None:
    """The extent of a loop; None if it is dynamic."""
    op = sch.get(loop)
    assert isinstance(op, ForOp)
    extent = op.mixed_bounds[1]
    return extent if isinstance(extent, int) else None


def bind_grid(sch: Schedule, loops: Sequence[LoopRV]) -> LoopRV:
    """Binds nested loops to blocks and threads; returns the loop over threads.

    Raises DeclineError unless the iterations of each loop are independent. This makes the iterations of the nest
    independent: for two different iterations, consider the outermost loop in which they differ. The loops are fused as
    far as the resulting indices are affine (`fuse_blocks`), and the last fused loop is split into blocks and threads.
    """
    for loop in loops:
        decline_unless(is_independent(sch, loop), f"the iterations of loop {loop.name} depend on each other")
    with sch.without_checks():
        block, thread = _blocks_and_threads(sch, fuse_blocks(sch, loops))
        sch.bind(block, "blockIdx.x")
        sch.bind(thread, "threadIdx.x")
    return thread


def _blocks_and_threads(sch: Schedule, loop: LoopRV) -> list[LoopRV]:
    """Splits a loop in two; the inner loop has as many iterations as a block has threads, or fewer."""
    extent = extent_of(sch, loop)
    return sch.split(loop, [None, THREADS if extent is None else max(min(THREADS, extent), 1)])


def is_independent(sch: Schedule, loop: LoopRV) -> bool:
    """Whether no iteration of a loop accesses an element that another iteration writes."""
    op = sch.get(loop)
    assert isinstance(op, ForOp)
    return carried_dependence(op) is None
