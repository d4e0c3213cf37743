"""Products of a matrix and a vector."""

from __future__ import annotations

from .. import Schedule
from ..rules.kernel import Kernel
from ..rules.results import decline_unless
from .binding import extent_of, fuse_blocks
from .gemm import operands
from .reduction import reorder_reduction_loops, require_reduction, share_steps

ROWS = 4
"""The number of rows of a block of threads."""
THREADS = 64
"""The number of threads of a row."""


def gemv(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Assigns several rows to each block of threads, and several threads to each row.

    Declines: blocks other than sums of products of two buffers at their axes, one of which has no axis of the result
    for itself; a matrix with contiguous columns (`reduction`); less than 32 steps.
    """
    left, right = operands(kernel)
    decline_unless(left.is_plain() and right.is_plain(), "it reads at indices that are computed")
    own = [(a, b) for a, b in ((left, right), (right, left)) if not (b.axes() - a.axes()) & set(kernel.spatial_axes)]
    decline_unless(own, "both have an axis of the result for themselves")
    matrix = own[0][0]
    decline_unless(matrix.fastest() in kernel.reduction_axes, "neighbours in memory belong to different results")
    require_reduction(kernel)
    spatial, _, steps = reorder_reduction_loops(sch, kernel)
    decline_unless(spatial, "it has one result")
    rows = fuse_blocks(sch, spatial)
    block, row = sch.split(rows, [None, min(ROWS, extent_of(sch, rows) or ROWS)])
    sch.bind(block, "blockIdx.x")
    sch.bind(row, "threadIdx.y")
    share_steps(sch, kernel.rv, steps, THREADS)
    return ()
