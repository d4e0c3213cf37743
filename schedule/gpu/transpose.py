"""Transposing copies: blocks that read and write contiguous elements along different axes."""

from __future__ import annotations

from .. import Schedule
from ..rules.kernel import Kernel
from ..rules.results import decline_unless
from .binding import fuse_loops

TILE = 32
"""The number of rows and columns of a tile."""
ROWS = 8
"""The number of rows of threads of a tile."""


def transpose_rule(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Loads tiles into shared memory along one axis, and stores them along the other axis; their rows are padded by a
    bank.

    Declines: blocks that read all buffers in the order in which they write, or several buffers in another order; small
    sizes.
    """
    decline_unless(kernel.has_plain_loops(), "its loops are not its axes")
    decline_unless(
        kernel.spatial_axes and len(kernel.spatial_axes) == len(kernel.axes), "it has axes that are not spatial"
    )
    decline_unless(len(kernel.writes) == 1 and kernel.writes[0].is_plain(), "it does not write one element at its axes")
    last = kernel.writes[0].fastest()
    decline_unless(last is not None, "no axis is the last one of what it writes")
    buffers = kernel.read_buffers()
    transposed = [n for n, read in enumerate(buffers) if read.fastest() not in (None, last)]
    decline_unless(transposed, "it reads in the order in which it writes")
    decline_unless(len(transposed) == 1, "it reads several buffers in another order")
    read = buffers[transposed[0]]
    other = read.fastest()
    assert last is not None
    assert other is not None
    decline_unless(read.is_plain() and last in read.axes(), "it does not read a transposed buffer at its axes")
    for axis in (last, other):
        extent = kernel.extents[axis]
        decline_unless(axis in kernel.loop_of and (extent is None or extent >= TILE), f"an axis has less than {TILE}")
    outer = kernel.loop_handles(sch, [axis for axis in kernel.spatial_axes if axis is not last and axis is not other])
    row, column = kernel.loop_handles(sch, [other, last])
    row_block, row_inner = sch.split(row, [None, TILE])
    column_block, column_inner = sch.split(column, [None, TILE])
    sch.reorder(*outer, row_block, column_block, row_inner, column_inner)
    block = fuse_loops(sch, [*outer, row_block, column_block])
    sch.bind(block, "blockIdx.x")
    tile = sch.cache_read(kernel.rv, transposed[0], "shared", [kernel.rv])
    sch.compute_at(tile, block)
    sch.storage_align(tile, 0, axis=-2, factor=TILE, offset=1)
    for nest in ((row_inner, column_inner), tuple(sch.get_loops(tile)[-len(read.indices) :])):
        _, y, x = sch.split(fuse_loops(sch, nest), [None, ROWS, TILE])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    return ()
