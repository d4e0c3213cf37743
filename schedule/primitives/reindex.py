"""The primitive `reindex`: copies of buffers that are indexed by the axes of a block."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.names import buffer_name
from ...analysis.scopes import BlockScope, enclosing_scope, precedes_in_text, root_buffer
from ...core.errors import ScheduleError
from ...dialects.schedule import ReindexOp
from ...dialects.tir import BlockOp, FuncOp
from ..handles import BlockLike, BlockRV
from ..recorder import Recorder
from ..rewriting.copies import access_at, buffer_index, require_block
from ..rewriting.gaps import Gap, gap_beside, innermost_common
from ..rewriting.reindexing import axis_range, find_element, insert_reindexed_copy, plan_reindexing
from ..state import State, applies

SidedBuffer = tuple[str, int] | str | int
"""A buffer of a block: ("read", index) or ("write", index), a name, or an index among the buffers that it reads."""


class ReindexPrimitives(Recorder):
    """The primitive that indexes a buffer by the axes of a block."""

    def reindex(self, block: BlockLike, buffer: SidedBuffer) -> BlockRV:
        """Copy a buffer so that a block indexes the copy by its own axes, in their order.

            for i, j, k in T.grid(8, 4, 6):       for ax0, ax1 in T.grid(4, 6):
                with T.block("C"):                    with T.block("B_reindex_reindex"):
                    vi, vj, vk = ...                      v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    C[vi, vj] += ... B[vk, vj]  ->        B_reindex[v0, v1] = B[v1, v0]
                                                      ...     C[vi, vj] += ... B_reindex[vj, vk]

        block: a block without nested blocks, whose accesses to the buffer all have the same indices.  buffer:
        ("read", index), ("write", index), or the name of the buffer.
        Returns the copying block: before `block` if the block reads the buffer, after it if it writes the buffer, in
        the innermost loop that also encloses a writer of the read buffer, or a later user of the written one. The new
        buffer has a dimension for each axis in the indices, in the order of the axes.
        Legal if every reader still reads the same values. ScheduleError if not, if the indices are not sums of axes, or
        if the copy would access elements that the block does not.
        """
        handle = self._block(block)
        side, index = self._side(handle, buffer)
        return self.record(ReindexOp, block=handle, buffer_side=side, buffer_index=index)[0]

    def _side(self, block: BlockRV, buffer: SidedBuffer) -> tuple[str, int]:
        """The side and index of a buffer, which may be specified in any form of `SidedBuffer`."""
        return buffer_side(self._block_op(block), buffer)


def buffer_side(block: BlockOp | FuncOp, buffer: SidedBuffer | Sequence[str | int]) -> tuple[str, int]:
    """The side ("read" or "write") and index of a buffer of a block. A name is searched among the reads first.

    ScheduleError if there is no such buffer.
    """
    block = require_block(block)
    if isinstance(buffer, int):
        return "read", buffer_index(block, "read", buffer)
    if isinstance(buffer, str):
        reads = [buffer_name(access.buffer) for access in block.accesses if not access.is_write]
        side = "read" if buffer in reads else "write"
        return side, buffer_index(block, side, buffer)
    if len(buffer) == 2 and buffer[0] in ("read", "write") and isinstance(buffer[1], int):
        return buffer[0], buffer_index(block, buffer[0], buffer[1])
    raise ScheduleError(f'buffer {buffer!r}, expected ("read", number), ("write", number) or a name')


@applies(ReindexOp)
def reindex(state: State, block: BlockOp | FuncOp, buffer_side: str, buffer_index: int) -> BlockOp:
    buffer = access_at(block, buffer_side, buffer_index).buffer
    block = require_block(block)
    reads = buffer_side == "read"
    analyzer = Analyzer(through_lets=False)
    element = find_element(analyzer, block, buffer, reads=reads)
    domains = [axis_range(analyzer, block, n) for n in element.axes]
    copied = [Lin.of(block.variables[n]) - domain.low for n, domain in zip(element.axes, domains, strict=True)]
    gap = _gap(block, buffer, reads=reads)
    plan = plan_reindexing(analyzer, element, copied, [domain.extent for domain in domains], gap)
    hint = f"{buffer_name(buffer)}_reindex"
    # TVM names the block of a read after the new buffer, not after the old one.
    return insert_reindexed_copy(state, analyzer, plan, hint, f"{hint}_reindex" if reads else hint)


def _gap(block: BlockOp, buffer: SSAValue, *, reads: bool) -> Gap:
    """The gap before or after the block, in the innermost loop that encloses the block and a writer of the buffer that
    it reads, or a later user of the buffer that it writes."""
    scope = BlockScope(enclosing_scope(block))
    root = root_buffer(buffer)
    if reads:
        others = [w for w in scope.writers.get(root, ()) if w is not block]
    else:
        users = [*scope.readers.get(root, ()), *scope.writers.get(root, ())]
        others = [user for user in users if user is not block and precedes_in_text(block, user)]
    outer = innermost_common(block, others) if others else scope.op
    return gap_beside(outer, block, after=not reads)
