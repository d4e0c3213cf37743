"""Reductions by all threads of a block."""

from __future__ import annotations

from ...dialects.tir import BlockOp
from ..schedule import Schedule
from ..schedule.handles import BlockRV, LoopRV
from .binding import THREADS, extent_of, fused
from .kernel import Kernel
from .results import decline_unless

LEAST = 32
"""How many steps a reduction has at least that is divided among threads."""
MANY = 128
"""With so many results, each is done by a thread, if neighbours in memory belong to neighbouring results."""


def reduction(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """A block of threads for each result: each thread does a part of the steps, one of them puts the parts together.

    Declines: less than 32 steps; and many results of which neighbours read neighbours in memory, where a thread for
    each is as good.
    """
    require_reduction(kernel)
    contiguous = {read.fastest() for read in kernel.reads}
    results = kernel.size(kernel.spatial)
    decline_unless(
        contiguous & set(kernel.reduced) or (results is not None and results < MANY),
        "neighbours in memory belong to different results, of which there are many",
    )
    spatial = kernel.loop_handles(sch, kernel.spatial)
    partial = divide_steps(sch, kernel)
    block = fused(sch, spatial) if spatial else sch.add_unit_loop(sch.get_loops(kernel.rv)[0])
    sch.bind(block, "blockIdx.x")
    share_steps(sch, kernel.rv, partial, block)
    return ()


def require_reduction(kernel: Kernel) -> None:
    """DeclineError unless a block is a reduction that is worth dividing among threads."""
    decline_unless(kernel.init is not None and kernel.reduced, "it is no reduction")
    decline_unless(kernel.has_plain_loops(), "its loops are not its axes")
    decline_unless(len(kernel.spatial) + len(kernel.reduced) == len(kernel.axes), "it has other axes")
    decline_unless(all(write.is_plain() for write in kernel.writes), "it writes at computed indices")
    steps = kernel.size(kernel.reduced)
    decline_unless(steps is None or steps >= LEAST, f"it has {steps} steps, less than {LEAST}")


def divide_steps(sch: Schedule, kernel: Kernel, most: int = THREADS) -> BlockRV:
    """Cut the steps of a reduction into parts, one for each thread: the block that does the parts."""
    spatial, steps = kernel.groups_of_loops(sch, kernel.spatial, kernel.reduced)
    sch.reorder(*spatial, *steps)
    loop = fused(sch, steps)
    threads = threads_for(extent_of(sch, loop), most)
    _, part = sch.split(loop, [None, threads])
    return sch.rfactor(part, 0)


def threads_for(extent: int | None, most: int = THREADS) -> int:
    """How many threads share some work: a power of two, not more than there is to do."""
    if extent is None:
        return most
    return min(most, 1 << max(extent.bit_length() - 1, 0))


def share_steps(sch: Schedule, block: BlockRV, partial: BlockRV, place: LoopRV) -> LoopRV:
    """Do the parts of a reduction in a loop over blocks, each by a thread, in shared memory; the loop over threads."""
    sch.compute_at(partial, place)
    thread, steps = _loop_over_parts(sch, partial)
    sch.reorder(thread, steps)
    sch.bind(thread, "threadIdx.x")
    sch.set_scope(partial, 0, "shared")
    return thread


def _loop_over_parts(sch: Schedule, partial: BlockRV) -> tuple[LoopRV, LoopRV]:
    """The loops over parts, which `rfactor` makes the first axis, and over the steps of each, the innermost one."""
    block = sch.get(partial)
    assert isinstance(block, BlockOp)
    kernel = Kernel(partial, block)
    decline_unless(kernel.axes[0] in kernel.loop_of, "its parts have no loop of their own")
    loops = sch.get_loops(partial)
    return loops[kernel.loop_of[kernel.axes[0]]], loops[-1]
