"""Reductions by all threads of a block."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...analysis.threads.reductions import ThreadReductionError, thread_reduction
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rewriting.init_nests import plan_result
from ..rules.kernel import Kernel, block_of
from ..rules.results import DeclineError, decline_unless
from .binding import THREADS, extent_of, fuse_blocks, fuse_loops

LEAST = 32
"""The minimum number of steps of a reduction that is distributed over threads."""
MANY = 128
"""The number of results from which each result gets one thread, if the contiguous axis is unknown."""
COLUMNS = 32
"""The number of results of a block whose elements are neighbours in memory."""
BLOCKS = 512
"""The number of blocks of threads that keeps any GPU busy."""
STEPS = 4096
"""The minimum number of steps of a block, where several blocks share a result."""
PARTS = 4
"""The minimum number of parts of a result, so that a second kernel is worthwhile."""


def reduction_rule(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Assigns a block of threads to each result; each thread reduces a part of the steps.

    Where neighbours in memory belong to different results, a block computes 32 results, with 8 threads for each.

    Declines: less than 32 steps; and numbers of such results for which one thread per result is as good.
    """
    require_reduction(kernel)
    column = column_of(kernel)
    results = kernel.size(kernel.spatial_axes)
    if column is not None:
        decline_unless(results is not None and results < BLOCKS * THREADS, "a thread for each result is as good")
    elif not _is_along_steps(kernel):
        decline_unless(results is not None and results < MANY, "neighbours in memory are not known, of many results")
    _distribute(sch, kernel.rv, *reorder_reduction_loops(sch, kernel, column))
    return ()


def reduction_by_blocks(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Assigns several blocks of threads to each result, each with a part of the steps; a second kernel combines the
    parts.

    Declines: reductions with steps for less than 4 blocks per result, or with results for 512 / 4 blocks.
    """
    require_reduction(kernel)
    parts = parts_per_result(kernel)
    decline_unless(parts >= PARTS, "its steps are too few, or its results too many, for several blocks for each result")
    _, column_loops, steps = reorder_reduction_loops(sch, kernel, column_of(kernel))
    part, _ = sch.split(fuse_loops(sch, steps), [parts, None])
    partial = sch.rfactor(part, 0)
    *grid, part, inner = sch.get_loops(partial)
    columns = [grid.pop() for _ in column_loops]
    sch.reorder(part, *columns)
    _distribute(sch, partial, [*grid, part], columns, [inner])
    *grid, part = sch.get_loops(kernel.rv)
    columns = [grid.pop() for _ in column_loops]
    _distribute(sch, kernel.rv, grid, columns, [part])
    return ()


def column_of(kernel: Kernel) -> SSAValue | None:
    """The axis of results along which reads of the buffers with the most axes are contiguous; None without such an
    axis.
    """
    fastest = _fastest(kernel)
    axis = next(iter(fastest), None)
    return axis if len(fastest) == 1 and axis in kernel.spatial_axes and axis in kernel.loop_of else None


def _is_along_steps(kernel: Kernel) -> bool:
    """Whether reads of the buffers with the most axes are contiguous along a reduction axis."""
    return any(axis in kernel.reduction_axes for axis in _fastest(kernel))


def _fastest(kernel: Kernel) -> set[SSAValue | None]:
    most = max((len(read.axes()) for read in kernel.reads), default=0)
    return {read.fastest() for read in kernel.reads if len(read.axes()) == most}


def reorder_reduction_loops(
    sch: Schedule, kernel: Kernel, column: SSAValue | None = None
) -> tuple[list[LoopRV], list[LoopRV], list[LoopRV]]:
    """The loops of a reduction, reordered: the loops over results, the loop over the column, and the loops over steps.

    The second list is empty without a column.
    """
    others = [axis for axis in kernel.spatial_axes if axis is not column]
    groups = kernel.loop_handle_groups(sch, others, [] if column is None else [column], kernel.reduction_axes)
    sch.reorder(*(loop for group in groups for loop in group))
    return groups[0], groups[1], groups[2]


def _distribute(
    sch: Schedule, block: BlockRV, others: Sequence[LoopRV], columns: Sequence[LoopRV], steps: Sequence[LoopRV]
) -> None:
    """Distributes a reduction over threads: the steps of each result, and some neighbouring columns."""
    grid, thread, most = list(others), "threadIdx.x", THREADS
    for column in columns:
        outer, _, most = share_columns(sch, column)
        grid, thread = [*grid, outer], "threadIdx.y"
    sch.bind(fuse_blocks(sch, grid) if grid else sch.add_unit_loop(sch.get_loops(block)[0]), "blockIdx.x")
    share_steps(sch, block, steps, most, thread)


def share_columns(sch: Schedule, column: LoopRV) -> tuple[LoopRV, LoopRV, int]:
    """Assigns neighbouring columns to the threads of threadIdx.x.

    Returns the loop over blocks, the loop over these threads, and the maximum number of threads of each column.
    """
    wide = _columns_together(extent_of(sch, column))
    outer, inner = sch.split(column, [None, wide])
    sch.bind(inner, "threadIdx.x")
    return outer, inner, _power_of_two(THREADS // wide)


def _columns_together(extent: int | None) -> int:
    """The number of columns of a block."""
    return COLUMNS if extent is None else max(min(COLUMNS, extent), 1)


def parts_per_result(kernel: Kernel) -> int:
    """The number of blocks that can share each result of a reduction, a power of two; 0 for dynamic sizes."""
    results, steps = kernel.size(kernel.spatial_axes), kernel.size(kernel.reduction_axes)
    if results is None or steps is None:
        return 0
    column = column_of(kernel)
    together = 1 if column is None else _columns_together(kernel.extents[column])
    return _power_of_two(min(steps * together // STEPS, BLOCKS * together // max(results, 1)))


def require_reduction(kernel: Kernel) -> None:
    """Raises DeclineError unless a block is a reduction that is worth distributing over threads."""
    decline_unless(kernel.init is not None and kernel.reduction_axes, "it is no reduction")
    decline_unless(kernel.has_plain_loops(), "its loops are not its axes")
    decline_unless(len(kernel.spatial_axes) + len(kernel.reduction_axes) == len(kernel.axes), "it has other axes")
    decline_unless(all(write.is_plain() for write in kernel.writes), "it writes at computed indices")
    steps = kernel.size(kernel.reduction_axes)
    decline_unless(steps is None or steps >= LEAST, f"it has {steps} steps, less than {LEAST}")


def share_steps(
    sch: Schedule, block: BlockRV, steps: Sequence[LoopRV], most: int = THREADS, axis: str = "threadIdx.x"
) -> None:
    """Distributes the steps of a reduction over the threads of an axis.

    Raises DeclineError where threads cannot reduce together.
    """
    loop = fuse_loops(sch, steps)
    _, thread = sch.split(loop, [None, threads_for(extent_of(sch, loop), most)])
    sch.bind(thread, axis)
    try:
        across_threads = thread_reduction(block_of(sch, block))
        if across_threads is not None:
            plan_result(across_threads)
    except ThreadReductionError as error:
        raise DeclineError(f"threads cannot reduce together: {error.reason}") from error


def threads_for(extent: int | None, most: int = THREADS) -> int:
    """The number of threads for `extent` iterations: a power of two, at most `most`."""
    if extent is None:
        return most
    return min(most, _power_of_two(extent))


def _power_of_two(most: int) -> int:
    """The greatest power of two that is at most `most`; 1 for less."""
    return 1 << max(most.bit_length() - 1, 0)
