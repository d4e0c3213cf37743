"""Reductions by all threads of a block."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...analysis.threads.reductions import ThreadReductionError, thread_reduction
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rewriting.init_nests import plan_result
from .binding import THREADS, extent_of, fused
from .kernel import Kernel, block_of
from .results import DeclineError, decline_unless

LEAST = 32
"""How many steps a reduction has at least that is divided among threads."""
MANY = 128
"""With so many results, each is done by a thread, if it is not known which elements are neighbours."""
COLUMNS = 32
"""How many results whose elements are neighbours a block does."""
BLOCKS = 512
"""How many blocks of threads are enough for any GPU."""
STEPS = 4096
"""How many steps a block does at least, where several share a result."""
PARTS = 4
"""Into how many parts a result is cut at least, so that it is worth a second kernel."""


def reduction(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """A block of threads for each result, which reduce together: each thread does a part of the steps.

    Where neighbours in memory belong to different results, a block has 32 of those, and 8 threads for each.

    Declines: less than 32 steps; and so many such results that a thread for each is as good.
    """
    require_reduction(kernel)
    column = column_of(kernel)
    results = kernel.size(kernel.spatial)
    if column is not None:
        decline_unless(results is not None and results < BLOCKS * THREADS, "a thread for each result is as good")
    elif not _is_along_steps(kernel):
        decline_unless(results is not None and results < MANY, "neighbours in memory are not known, of many results")
    _divide(sch, kernel.rv, *steps_inside(sch, kernel, column))
    return ()


def reduction_by_blocks(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Several blocks of threads for each result, each a part of the steps; a second kernel puts the parts together.

    Declines: steps for less than 4 blocks, or blocks enough, 512 / 4, without.
    """
    require_reduction(kernel)
    parts = parts_of(kernel)
    decline_unless(parts >= PARTS, "its steps are too few, or its results too many, for several blocks for each result")
    _, found, steps = steps_inside(sch, kernel, column_of(kernel))
    part, _ = sch.split(fused(sch, steps), [parts, None])
    partial = sch.rfactor(part, 0)
    *grid, part, inner = sch.get_loops(partial)
    columns = [grid.pop() for _ in found]
    sch.reorder(part, *columns)
    _divide(sch, partial, [*grid, part], columns, [inner])
    *grid, part = sch.get_loops(kernel.rv)
    columns = [grid.pop() for _ in found]
    _divide(sch, kernel.rv, grid, columns, [part])
    return ()


def column_of(kernel: Kernel) -> SSAValue | None:
    """The axis of results whose neighbours read neighbours in memory, of the buffers with the most axes."""
    fastest = _fastest(kernel)
    axis = next(iter(fastest), None)
    return axis if len(fastest) == 1 and axis in kernel.spatial and axis in kernel.loop_of else None


def _is_along_steps(kernel: Kernel) -> bool:
    """Whether neighbours in memory belong to one result."""
    return any(axis in kernel.reduced for axis in _fastest(kernel))


def _fastest(kernel: Kernel) -> set[SSAValue | None]:
    most = max((len(read.axes()) for read in kernel.reads), default=0)
    return {read.fastest() for read in kernel.reads if len(read.axes()) == most}


def steps_inside(
    sch: Schedule, kernel: Kernel, column: SSAValue | None = None
) -> tuple[list[LoopRV], list[LoopRV], list[LoopRV]]:
    """The loops of a reduction, moved so that they stand in this order: of its results, but for the column, of the
    column, if there is one, and of its steps."""
    others = [axis for axis in kernel.spatial if axis is not column]
    groups = kernel.groups_of_loops(sch, others, [] if column is None else [column], kernel.reduced)
    sch.reorder(*(loop for group in groups for loop in group))
    return groups[0], groups[1], groups[2]


def _divide(
    sch: Schedule, block: BlockRV, others: Sequence[LoopRV], columns: Sequence[LoopRV], steps: Sequence[LoopRV]
) -> None:
    """Divide a reduction among threads: the steps of each result, and some neighbouring columns."""
    grid, thread, most = list(others), "threadIdx.x", THREADS
    for column in columns:
        outer, _, most = share_columns(sch, column)
        grid, thread = [*grid, outer], "threadIdx.y"
    sch.bind(fused(sch, grid) if grid else sch.add_unit_loop(sch.get_loops(block)[0]), "blockIdx.x")
    share_steps(sch, block, steps, most, thread)


def share_columns(sch: Schedule, column: LoopRV) -> tuple[LoopRV, LoopRV, int]:
    """Give each thread of threadIdx.x one of some neighbouring columns: a loop over blocks and one over these threads,
    and how many threads there may be for each column."""
    wide = _columns_together(extent_of(sch, column))
    outer, inner = sch.split(column, [None, wide])
    sch.bind(inner, "threadIdx.x")
    return outer, inner, _power_of_two(THREADS // wide)


def _columns_together(extent: int | None) -> int:
    """How many columns a block does."""
    return COLUMNS if extent is None else max(min(COLUMNS, extent), 1)


def parts_of(kernel: Kernel) -> int:
    """How many blocks of threads can share each result of a reduction, a power of two; 0 if its size is not known."""
    results, steps = kernel.size(kernel.spatial), kernel.size(kernel.reduced)
    if results is None or steps is None:
        return 0
    column = column_of(kernel)
    together = 1 if column is None else _columns_together(kernel.extents[column])
    return _power_of_two(min(steps * together // STEPS, BLOCKS * together // max(results, 1)))


def require_reduction(kernel: Kernel) -> None:
    """DeclineError unless a block is a reduction that is worth dividing among threads."""
    decline_unless(kernel.init is not None and kernel.reduced, "it is no reduction")
    decline_unless(kernel.has_plain_loops(), "its loops are not its axes")
    decline_unless(len(kernel.spatial) + len(kernel.reduced) == len(kernel.axes), "it has other axes")
    decline_unless(all(write.is_plain() for write in kernel.writes), "it writes at computed indices")
    steps = kernel.size(kernel.reduced)
    decline_unless(steps is None or steps >= LEAST, f"it has {steps} steps, less than {LEAST}")


def share_steps(
    sch: Schedule, block: BlockRV, steps: Sequence[LoopRV], most: int = THREADS, axis: str = "threadIdx.x"
) -> None:
    """Give each thread of an axis a part of the steps of a reduction.

    DeclineError where threads cannot reduce together.
    """
    loop = fused(sch, steps)
    _, thread = sch.split(loop, [None, threads_for(extent_of(sch, loop), most)])
    sch.bind(thread, axis)
    try:
        together = thread_reduction(block_of(sch, block))
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
