"""The schedule of blocks that compute each element independently."""

from __future__ import annotations

from ...analysis.scopes import child_blocks
from .. import Schedule
from ..rules.kernel import Kernel
from ..rules.results import decline_unless
from .binding import bind_grid


def elementwise_rule(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Assigns one thread to each element, and neighbouring threads to neighbours in memory.

    Declines: reductions, loops other than axes, several outputs written in different orders.
    """
    decline_unless(kernel.has_plain_loops(), "its loops are not its axes")
    decline_unless(
        kernel.spatial_axes and len(kernel.spatial_axes) == len(kernel.axes), "it has axes that are not spatial"
    )
    decline_unless(kernel.loops, "it has no loops")
    decline_unless(not child_blocks(kernel.block), "there are blocks in it")
    decline_unless(kernel.writes and all(write.is_plain() for write in kernel.writes), "it writes at computed indices")
    fastest = {write.fastest() for write in kernel.writes}
    decline_unless(len(fastest) == 1, "it writes in several orders")
    last = fastest.pop()
    loops = kernel.loop_handles(sch, kernel.spatial_axes)
    if last is not None and last in kernel.loop_of and kernel.loop_of[last] != len(loops) - 1:
        loops = kernel.loop_handles(sch, [*(axis for axis in kernel.spatial_axes if axis is not last), last])
        sch.reorder(*loops)
    else:
        loops = sch.get_loops(kernel.rv)
    bind_grid(sch, loops)
    return ()
