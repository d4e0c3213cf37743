"""Reductions by all threads of a block."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.tir import BlockOp
from ..analysis.thread_reductions import ThreadReductionError, thread_reduction
from ..schedule import Schedule
from ..schedule.handles import BlockRV, LoopRV
from ..tir_lower_thread_reductions import plan_result
from .binding import THREADS, extent_of, fused
from .kernel import Kernel
from .results import DeclineError, decline_unless

LEAST = 32
"""How many steps a reduction has at least that is divided among threads."""
MANY = 128
"""With so many results, each is done by a thread, if neighbours in memory belong to neighbouring results."""
BLOCKS = 512
"""How many blocks of threads are enough for any GPU."""
STEPS = 4096
"""How many steps a block does at least, where several share a result."""
PARTS = 4
"""Into how many parts a result is cut at least, so that it is worth a second kernel."""


def reduction(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """A block of threads for each result, which reduce together: each thread does a part of the steps.

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
    steps = steps_inside(sch, kernel)
    sch.bind(fused(sch, spatial) if spatial else sch.add_unit_loop(sch.get_loops(kernel.rv)[0]), "blockIdx.x")
    share_steps(sch, kernel.rv, steps)
    return ()


def reduction_by_blocks(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Several blocks of threads for each result, each a part of the steps; a second kernel puts the parts together.

    Declines: less than 4 parts of 4096 steps or more, and 512 / 4 results or more.
    """
    require_reduction(kernel)
    parts = parts_of(kernel)
    decline_unless(parts >= PARTS, "its steps are too few, or its results too many, for several blocks for each result")
    loop = fused(sch, steps_inside(sch, kernel))
    part, _ = sch.split(loop, [parts, None])
    partial = sch.rfactor(part, 0)
    *grid, steps = sch.get_loops(partial)
    sch.bind(fused(sch, grid), "blockIdx.x")
    share_steps(sch, partial, [steps])
    *spatial, steps = sch.get_loops(kernel.rv)
    sch.bind(fused(sch, spatial) if spatial else sch.add_unit_loop(steps), "blockIdx.x")
    share_steps(sch, kernel.rv, [steps])
    return ()


def parts_of(kernel: Kernel) -> int:
    """How many blocks of threads can share each result of a reduction, a power of two; 0 if its size is not known."""
    results, steps = kernel.size(kernel.spatial), kernel.size(kernel.reduced)
    if results is None or steps is None:
        return 0
    return _power_of_two(min(steps // STEPS, BLOCKS // max(results, 1)))


def require_reduction(kernel: Kernel) -> None:
    """DeclineError unless a block is a reduction that is worth dividing among threads."""
    decline_unless(kernel.init is not None and kernel.reduced, "it is no reduction")
    decline_unless(kernel.has_plain_loops(), "its loops are not its axes")
    decline_unless(len(kernel.spatial) + len(kernel.reduced) == len(kernel.axes), "it has other axes")
    decline_unless(all(write.is_plain() for write in kernel.writes), "it writes at computed indices")
    steps = kernel.size(kernel.reduced)
    decline_unless(steps is None or steps >= LEAST, f"it has {steps} steps, less than {LEAST}")


def steps_inside(sch: Schedule, kernel: Kernel) -> list[LoopRV]:
    """The loops of the steps of a reduction, moved inside of those of its results."""
    spatial, steps = kernel.groups_of_loops(sch, kernel.spatial, kernel.reduced)
    sch.reorder(*spatial, *steps)
    return steps


def share_steps(sch: Schedule, block: BlockRV, steps: Sequence[LoopRV], most: int = THREADS) -> None:
    """Give each thread a part of the steps of a reduction. DeclineError where threads cannot reduce together."""
    loop = fused(sch, steps)
    _, thread = sch.split(loop, [None, threads_for(extent_of(sch, loop), most)])
    sch.bind(thread, "threadIdx.x")
    op = sch.get(block)
    assert isinstance(op, BlockOp)
    try:
        together = thread_reduction(op)
        if together is not None:
            plan_result(together)
    except ThreadReductionError as error:
        raise DeclineError(f"threads cannot reduce together: {error.reason}") from error


def threads_for(extent: int | None, most: int = THREADS) -> int:
    """How many threads share some work: a power of two, not more than there is to do."""
    if extent is None:
        return most
    return min(most, _power_of_two(extent))


def _power_of_two(most: int) -> int:
    """The greatest power of two that is not more than a number; 1 for less than that."""
    return 1 << max(most.bit_length() - 1, 0)
