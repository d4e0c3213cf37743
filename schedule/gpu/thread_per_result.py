"""Reductions by one thread for each result."""

from __future__ import annotations

from ...analysis.scopes import consumers
from ...analysis.threads.memories import LOCAL
from .. import Schedule
from ..handles import BlockRV
from ..rules.kernel import Kernel, block_of
from ..rules.neighbours import is_epilogue_of
from ..rules.results import decline_unless
from .binding import THREADS, fuse_blocks


def thread_per_result(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Assigns one thread to each result of a reduction, neighbouring threads to neighbours in memory; the result stays
    in a register until the reduction is complete, and the thread executes its consumer.

    Declines: blocks other than reductions to one element at their axes, and reductions to one result.
    """
    decline_unless(kernel.init is not None and kernel.reduction_axes, "it is no reduction")
    decline_unless(kernel.has_plain_loops(), "its loops are not its axes")
    decline_unless(len(kernel.spatial_axes) + len(kernel.reduction_axes) == len(kernel.axes), "it has other axes")
    decline_unless(kernel.size(kernel.spatial_axes) != 1, "it has one result")
    decline_unless(kernel.is_one_store(), "it does more than to reduce to one element")
    (write,) = kernel.writes
    decline_unless(write.is_plain(), "it writes at computed indices")
    decline_unless(all(read.buffer is not write.buffer for read in kernel.reads), "it reads what it writes")
    users = consumers(kernel.block)
    follows = users[0] if len(users) == 1 and is_epilogue_of(kernel, users[0]) else None
    with sch.without_checks():  # as in `contract`: one store at the spatial axes, to a buffer that is not read
        reduce_in_registers(sch, kernel.rv, None if follows is None else sch.get_consumers(kernel.rv)[0])
    return () if follows is None else (follows.block_name.data,)


def reduce_in_registers(sch: Schedule, block: BlockRV, follows: BlockRV | None) -> None:
    """Distributes the results of a reduction over threads; its consumer, or a copy to memory, is in the same thread."""
    kernel = Kernel(block, block_of(sch, block))
    last = kernel.writes[0].fastest()
    spatial = sorted(kernel.spatial_axes, key=lambda axis: axis is last)
    results, steps = kernel.loop_handle_groups(sch, spatial, kernel.reduction_axes)
    sch.reorder(*results, *steps)
    blocks, threads = sch.split(fuse_blocks(sch, results), [None, THREADS])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    if follows is None:
        follows = sch.cache_write(block, 0, LOCAL)
    else:
        sch.set_scope(block, 0, LOCAL)
    sch.reverse_compute_at(follows, threads)
    if steps:
        sch.decompose_reduction(block, steps[0])
