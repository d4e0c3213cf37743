"""Reductions of rows with their elementwise consumers: softmax, normalizations."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...analysis.scopes import BlockScope, enclosing_scope, writes_of
from ...analysis.threads.axes import is_in_kernel
from ...dialects.tir import AllocBufferOp, BlockOp, FuncOp
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.kernel import Kernel, block_of, handle_of
from ..rules.results import decline_unless
from .binding import THREADS, fuse_blocks, fuse_loops
from .reduction import PARTS, parts_per_result, require_reduction, share_columns, share_steps, threads_for


def normalization(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Assigns a block of threads to each row, which executes all reductions of the row and then their consumers.

    Where neighbours in memory belong to different rows, a block executes 32 rows, with 8 threads for each.

    Declines: rows that several blocks reduce (`reduction_by_blocks`); reductions without a consumer of several elements
    for each result; blocks between reduction and consumer with results other than rows.
    """
    require_reduction(kernel)
    decline_unless(parts_per_result(kernel) < PARTS, "its rows are few, and so long that several blocks do each")
    last = _last(sch, kernel)
    column = last.writes[0].fastest()
    rows = sorted(_rows(last, kernel), key=lambda axis: axis is column)
    members = [_kernel(sch, member) for member in _members(kernel, last.block, kernel.size(kernel.spatial_axes))]
    columns = [axis for axis in last.spatial_axes if axis not in rows]
    row_loops, column_loops = last.loop_handle_groups(sch, rows, columns)
    decline_unless(column_loops, "what comes behind has one element for each result")
    sch.reorder(*row_loops, *column_loops)
    row_loops = row_loops or [sch.add_unit_loop(column_loops[0])]
    row, axis, most = _share_rows(sch, row_loops, are_neighbours=column in rows)
    sizes = [last.size(columns), *(member.size(member.reduction_axes) for member in members if member.reduction_axes)]
    threads = min(threads_for(size, most) for size in sizes)
    _, thread = sch.split(fuse_loops(sch, column_loops), [None, threads])
    sch.bind(thread, axis)
    for member in reversed(members):
        sch.compute_at(member.rv, row)
        sch.set_scope(member.rv, 0, "shared")
        if member.reduction_axes:
            share_steps(sch, member.rv, _steps(sch, member), threads, axis)
    return tuple(member.name for member in (*members, last) if member.name != kernel.name)


def _share_rows(sch: Schedule, rows: list[LoopRV], are_neighbours: bool) -> tuple[LoopRV, str, int]:
    """Distributes rows over blocks; returns a loop around one row, the axis of the threads of a row, and their maximum
    number.

    are_neighbours: whether the rows of the last loop are neighbours in memory.
    """
    if not are_neighbours:
        row = fuse_blocks(sch, rows)
        sch.bind(row, "blockIdx.x")
        return row, "threadIdx.x", THREADS
    outer, inner, most = share_columns(sch, rows[-1])
    sch.bind(fuse_blocks(sch, [*rows[:-1], outer]), "blockIdx.x")
    return inner, "threadIdx.y", most


def _kernel(sch: Schedule, block: BlockOp) -> Kernel:
    function = enclosing_scope(block)
    assert isinstance(function, FuncOp)
    return Kernel(handle_of(sch, function.sym_name.data, block), block)


def _steps(sch: Schedule, kernel: Kernel) -> list[LoopRV]:
    """The reduction loops of a block that has been moved to its row."""
    moved = Kernel(kernel.rv, block_of(sch, kernel.rv))
    return moved.loop_handles(sch, moved.reduction_axes)


def _last(sch: Schedule, kernel: Kernel) -> Kernel:
    """The last of the direct and indirect consumers of a block."""
    scope = BlockScope(enclosing_scope(kernel.block))
    users, todo = dict[BlockOp, None](), [kernel.block]
    while todo:
        for user in scope.consumers(todo.pop()):
            if user not in users:
                users[user] = None
                todo.append(user)
    decline_unless(users, "nothing is computed of it")
    last = max(users, key=scope.blocks.index)
    decline_unless(last.init is None and not is_in_kernel(last), "what comes last is no block of elements")
    end = _kernel(sch, last)
    decline_unless(
        end.has_plain_loops() and len(end.spatial_axes) == len(end.axes), "what comes behind has other loops"
    )
    decline_unless(all(write.is_plain() for write in end.writes), "what comes behind writes at computed indices")
    return end


def _rows(last: Kernel, kernel: Kernel) -> list[SSAValue]:
    """The axes of the last block that index results of the reduction."""
    written = {write.buffer for write in kernel.writes}
    reads = [read for read in last.reads if read.buffer in written]
    decline_unless(reads, "what comes last does not read it")
    same = all(read.is_plain() and read.axes() == reads[0].axes() for read in reads)
    decline_unless(same, "it is read at other rows")
    rows = [axis for axis in last.spatial_axes if axis in reads[0].axes()]
    decline_unless(last.size(rows) == kernel.size(kernel.spatial_axes), "it is not read at each of its rows")
    return rows


def _members(kernel: Kernel, last: BlockOp, rows: int | None) -> list[BlockOp]:
    """The blocks that are computed for each row before the last block, in order."""
    scope = BlockScope(enclosing_scope(kernel.block))
    members = [last]
    for block in reversed(scope.blocks[: scope.blocks.index(last)]):
        users = scope.consumers(block)
        if users and all(user in members for user in users) and not is_in_kernel(block) and _fits(block, rows):
            members.append(block)
    decline_unless(kernel.block in members, "what it computes is used elsewhere too")
    return members[:0:-1]


def _fits(block: BlockOp, rows: int | None) -> bool:
    """Whether a block computes one element of a temporary for each row."""
    kernel = Kernel(BlockRV(""), block)
    if (
        not all(isinstance(buffer.owner, AllocBufferOp) for buffer in writes_of(block))
        or kernel.size(kernel.spatial_axes) != rows
    ):
        return False
    if block.init is None:
        return len(kernel.spatial_axes) == len(kernel.axes)
    return kernel.has_plain_loops()
