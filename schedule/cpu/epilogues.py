"""Blocks that read the results of a reduction element by element, computed while a tile of sums is in registers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...analysis.names import loop_name
from ...analysis.scopes import consumers
from ...analysis.work import static_extent
from ...dialects.tir import ForOp
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.kernel import Kernel, block_of, handle_of
from ..rules.neighbours import reads_each_element_of
from ..rules.results import decline_unless
from ..rules.strides import shared_loops, strides_of
from .tiles import fill_registers

UNROLLED = 64
"""The greatest number of unrolled vectors of a tile."""


def epilogue(sch: Schedule, function: str, sums: BlockRV) -> tuple[str, str]:
    """Moves the block that reads the results of a reduction element by element into the loops over tiles of sums, so
    that it reads the sums from registers.

    sums: the block of a reduction whose sums of a tile are in registers. Returns the name of the moved block, and the
    schedule in words. Declines: results that other blocks read, or that are read in another order; operands or stores
    that are not contiguous along the last axis.
    """
    block = block_of(sch, sums)
    users = consumers(block)
    decline_unless(len(users) == 1, f"{len(users)} blocks read its results")
    (user,) = users
    decline_unless(reads_each_element_of(Kernel(sums, block), user), "its results are not read element by element")
    strides = strides_of(Kernel(BlockRV(""), user))
    columns = max((n for n, extent in enumerate(strides.extents) if extent != 1), default=-1)
    near = strides.written[columns] == 1 and all(stride[columns] in (0, 1) for stride in strides.read)
    decline_unless(near, f"{user.block_name.data} accesses elements that are not contiguous along its last axis")
    handle = handle_of(sch, function, user)
    loops = sch.get_loops(sums)
    count = shared_loops(Kernel(sums, block))
    tile = loops[count - 1]
    sch.reverse_compute_at(handle, tile)
    _vectorize(sch, sch.get_loops(handle)[count:], _extent(sch, loops[-1]))
    return user.block_name.data, f"in the loop {loop_name(_loop(sch, tile))}"


def _vectorize(sch: Schedule, tile: Sequence[LoopRV], lanes: int) -> None:
    """Vectorizes the loops over a tile of results. lanes: of the vectors of sums."""
    decline_unless(tile, "a tile has one result")
    *rows, columns = tile
    vectors, lane = sch.split(columns, [None, lanes])
    if prod(_extent(sch, loop) for loop in (*rows, vectors)) <= UNROLLED:
        fill_registers(sch, [*rows, vectors, lane])
    else:
        sch.vectorize(lane)


def _extent(sch: Schedule, loop: LoopRV) -> int:
    extent = static_extent(_loop(sch, loop))
    decline_unless(extent is not None, f"the extent of {loop_name(_loop(sch, loop))} is dynamic")
    assert extent is not None
    return extent


def _loop(sch: Schedule, loop: LoopRV) -> ForOp:
    op = sch.get(loop)
    assert isinstance(op, ForOp)
    return op
