"""Blocks that read the results of a reduction element by element, computed while a tile of sums is in registers."""

from __future__ import annotations

from ...analysis.names import loop_name
from ...analysis.scopes import consumers
from ...analysis.work import static_extent
from ...dialects.tir import BlockOp, ForOp
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.kernel import Kernel, block_of, handle_of
from ..rules.neighbours import reads_each_element_of
from ..rules.results import decline_unless
from ..rules.strides import shared_loops, strides_of
from .tiles import fill_registers


def epilogue_of(sch: Schedule, sums: BlockRV) -> BlockOp:
    """The block that reads the results of a reduction element by element. Raises DeclineError without such a block."""
    block = block_of(sch, sums)
    users = consumers(block)
    decline_unless(len(users) == 1, f"{len(users)} blocks read the results")
    (user,) = users
    decline_unless(reads_each_element_of(Kernel(sums, block), user), "its results are not read element by element")
    return user


def epilogue(sch: Schedule, function: str, sums: BlockRV) -> str:
    """Moves the block that reads the results of a reduction element by element into the loops over tiles of sums, so
    that it reads the sums from registers.

    sums: the block of a reduction whose sums of a tile are in registers. Returns the schedule in words.
    Declines: as `epilogue_of`; stores that are not contiguous along the last axis.
    """
    user = epilogue_of(sch, sums)
    strides = strides_of(Kernel(BlockRV(""), user))
    decline_unless(strides.written[-1] == 1, "its stores are not contiguous along the last axis")
    handle = handle_of(sch, function, user)
    loops = sch.get_loops(sums)
    count = shared_loops(Kernel(sums, block_of(sch, sums)))
    sch.reverse_compute_at(handle, loops[count - 1])
    *rows, columns = sch.get_loops(handle)[count:]
    lanes = static_extent(loop_of(sch, loops[-1]))
    fill_registers(sch, [*rows, *sch.split(columns, [None, lanes])])
    return f"in the loop {loop_name(loop_of(sch, loops[count - 1]))}"


def loop_of(sch: Schedule, loop: LoopRV) -> ForOp:
    """The loop of a handle."""
    op = sch.get(loop)
    assert isinstance(op, ForOp)
    return op
