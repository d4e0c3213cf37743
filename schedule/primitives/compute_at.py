"""Blocks moved into loops of those who read them, or whom they read."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ...analysis.index import Analyzer
from ...analysis.names import block_name, loop_name
from ...analysis.regions import (
    Box,
    Demand,
    IsFixed,
    Side,
    access_box,
    axes_region,
    finishing_region,
    fixed_inside,
    required_region,
    shape_sides,
    written_box,
)
from ...analysis.regions.access_regions import buffer_shape
from ...analysis.scopes import (
    ancestors,
    child_blocks,
    child_towards,
    comes_before,
    loops_around,
    reads_of,
    root_buffer,
    scope_of,
    statements,
    writes_of,
)
from ...core.errors import ScheduleError
from ...dialects.schedule import ComputeAtOp, ComputeInlineOp, ReverseComputeAtOp, ReverseComputeInlineOp
from ...dialects.tir import AccessOp, BlockOp, ForOp, FuncOp
from ...dialects.tir import scope_of as memory_scope_of
from ..handles import BlockLike, LoopRV
from ..recorder import Recorder
from ..rewriting.gaps import Gap
from ..rewriting.moving import move_block
from ..state import INLINE, PRIMITIVES, Place, State, applies

_LAST, _FIRST = -1, -2
"""Values of `index`: as late among the statements of the loop as possible, or as early."""


class ComputeAtPrimitives(Recorder):
    """Primitives that move a block into a loop, with new loops around it for what is needed there."""

    def compute_at(self, block: BlockLike, loop: LoopRV, preserve_unit_loops: bool = False, index: int = _LAST) -> None:
        """Move a producer into a loop of its consumers, where it computes what one iteration of the loop reads.

            for i in range(64):                       for i_0 in range(8):
                with T.block("B"):                        for ax0 in range(8):
                    vi = T.axis.spatial(64, i)                with T.block("B"):
                    B[vi] = A[vi] + 1.0                           vi = T.axis.spatial(64, i_0 * 8 + ax0)
            for i_0, i_1 in T.grid(8, 8):      ->                 B[vi] = A[vi] + 1.0
                with T.block("C"):                        for i_1 in range(8):
                    vi = ...(64, i_0 * 8 + i_1)               with T.block("C"):
                    C[vi] = B[vi] * 2.0                           ...

        loop: in the same scope as the block, not around it, around at least one block that reads what it writes.
        preserve_unit_loops: make a loop of one iteration too where one value of an axis is needed.  index: in front of
        which statement of the loop; -1 as late as possible, -2 as early.
        What several iterations need is computed several times. What is in memory that threads share ("shared":
        threadIdx, vthread; "warp": threadIdx.x) each thread computes for all of them. Legal if every reader, and
        whoever looks at the buffer later, still sees what it saw; so all of an output must still be written.
        ScheduleError with two instances that conflict if not. A loop drawn by `sample_compute_location` may stand for
        no place (then the block is inlined) or for where it is (then nothing happens).
        """
        block = self._block(block)
        self.record(ComputeAtOp, block=block, loop=loop, preserve_unit_loops=preserve_unit_loops, index=index)

    def reverse_compute_at(
        self, block: BlockLike, loop: LoopRV, preserve_unit_loops: bool = False, index: int = _LAST
    ) -> None:
        """Move a consumer into a loop of its producers, where it does what one iteration of the loop makes possible.

            for i_0, i_1 in T.grid(8, 8):             for i_0 in range(8):
                with T.block("B"):                        for i_1 in range(8):
                    vi = ...(64, i_0 * 8 + i_1)               with T.block("B"):
                    B[vi] = A[vi] + 1.0        ->                 ...
            for i in range(64):                           for ax0 in range(8):
                with T.block("C"):                            with T.block("C"):
                    vi = T.axis.spatial(64, i)                    vi = T.axis.spatial(64, i_0 * 8 + ax0)
                    C[vi] = B[vi] * 2.0                           C[vi] = B[vi] * 2.0

        loop: in the same scope as the block, not around it. Where nothing in it writes what the block reads, each
        iteration does all of the block's work.  preserve_unit_loops, index: as for `compute_at`.
        Legal if every reader still sees what it saw. ScheduleError with two instances that conflict if not.
        """
        self.record(
            ReverseComputeAtOp,
            block=self._block(block),
            loop=loop,
            preserve_unit_loops=preserve_unit_loops,
            index=index,
        )


@applies(ComputeAtOp)
def compute_at(
    state: State, block: BlockOp | FuncOp, loop: ForOp | Place, preserve_unit_loops: bool, index: int
) -> None:
    if isinstance(loop, Place):
        return PRIMITIVES[ComputeInlineOp](state, block=block) if loop is INLINE else None
    block = _require_movable(block, loop)
    written = set(writes_of(block))
    consumers = [other for other in child_blocks(loop) if written & set(reads_of(other))]
    if not consumers:
        raise ScheduleError(
            f"no block in loop {loop_name(loop)} reads what block {block_name(block)} writes", {loop: "", block: ""}
        )
    gap = _gap(loop, block, index)
    analyzer = Analyzer()
    demands = _demands(analyzer, block, consumers, loop, reads=False)
    sides = axes_region(analyzer, block, demands, fixed_inside(loop))
    return move_block(state, analyzer, block, sides, gap, preserve_unit_loops)


@applies(ReverseComputeAtOp)
def reverse_compute_at(
    state: State, block: BlockOp | FuncOp, loop: ForOp | Place, preserve_unit_loops: bool, index: int
) -> None:
    if isinstance(loop, Place):
        return PRIMITIVES[ReverseComputeInlineOp](state, block=block) if loop is INLINE else None
    block = _require_movable(block, loop)
    read = set(reads_of(block))
    producers = [b for b in child_blocks(loop) if read & set(writes_of(b))]
    gap = _gap(loop, block, index)
    analyzer = Analyzer()
    demands = _demands(analyzer, block, producers, loop, reads=True)
    sides = finishing_region(analyzer, block, demands, fixed_inside(loop), last=not _goes_down(demands, loop))
    return move_block(state, analyzer, block, sides, gap, preserve_unit_loops)


def _require_movable(block: BlockOp | FuncOp, loop: ForOp) -> BlockOp:
    """The block, if it is one that can be moved into the loop."""
    if isinstance(block, FuncOp):
        raise ScheduleError("the root block cannot be moved into a loop")
    scope = scope_of(block)
    if scope_of(loop) is not scope:
        raise ScheduleError(
            f"block {block_name(block)} and loop {loop_name(loop)} are not in the same scope: one is inside of a block "
            "that the other is outside of",
            {block: "", loop: ""},
        )
    if loop.is_ancestor(block):
        raise ScheduleError(f"block {block_name(block)} is in loop {loop_name(loop)} already", {block: "", loop: ""})
    around = [op for op in ancestors(block) if scope.is_ancestor(op) and op is not scope]
    branch = next((op for op in around if not isinstance(op, ForOp) and not op.is_ancestor(loop)), None)
    if branch is not None:
        raise ScheduleError(
            f"block {block_name(block)} is inside of a {branch.name.partition('.')[2]}, which would be lost",
            [branch, block],
        )
    return block


# Where


def _gap(loop: ForOp, block: BlockOp, index: int) -> Gap:
    """The place of a block among the statements of a loop: behind what it depends on, in front of what depends on it.
    The one or the other there is, as the block is either behind the whole loop or in front of it."""
    inside = [op for op in statements(loop.body.block)]
    if index not in (_LAST, _FIRST) and not 0 <= index <= len(inside):
        raise ScheduleError(
            f"index {index}: expected -1, -2 or a position from 0 to {len(inside)} in loop {loop_name(loop)}", [loop]
        )
    positions = {op: n for n, op in enumerate(inside)}
    others = [positions[child_towards(loop, other)] for other in child_blocks(loop) if _conflict(block, other)]
    least, most = 0, len(inside)
    if comes_before(loop, block):
        least = max((n + 1 for n in others), default=least)
    else:
        most = min(others, default=most)
    if index >= 0 and not least <= index <= most:
        raise ScheduleError(
            f"index {index}: block {block_name(block)} can stand at positions {least} to {most} in loop "
            f"{loop_name(loop)}, {'behind' if least else 'in front of'} what shares buffers with it",
            {loop: "", block: ""},
        )
    position = most if index == _LAST else least if index == _FIRST else index
    return Gap(loop, loop.body.block, inside[position] if position < len(inside) else None)


def _conflict(a: BlockOp, b: BlockOp) -> bool:
    """Whether one of two blocks writes what the other reads or writes."""
    a_writes, b_writes = set(writes_of(a)), set(writes_of(b))
    return bool(a_writes & b_writes or a_writes & set(reads_of(b)) or b_writes & set(reads_of(a)))


# What is needed


def _demands(
    analyzer: Analyzer, block: BlockOp, others: Sequence[BlockOp], loop: ForOp, *, reads: bool
) -> list[Demand]:
    """What other blocks write of each buffer that the block reads (`reads`), or read of each that it writes, in one
    iteration of the loop."""
    found: list[Demand] = []
    for access in block.accesses:
        if access.is_write is reads:
            continue
        buffer = root_buffer(access.buffer)
        boxes = [
            access_box(analyzer, other, loop)
            for there in others
            for other in there.accesses
            if other.is_write is reads and root_buffer(other.buffer) is buffer
        ]
        if boxes:
            found.append(Demand(written_box(analyzer, access), _region(analyzer, access, boxes, _fixed(loop, buffer))))
    return found


def _region(analyzer: Analyzer, access: AccessOp, boxes: Sequence[Box], is_fixed: IsFixed) -> list[Side]:
    region = required_region(analyzer, boxes, is_fixed, shape_sides(analyzer, buffer_shape(access.buffer)))
    assert not isinstance(region, str)  # a dimension of which nothing is known is all of the buffer
    return region


def _goes_down(demands: Sequence[Demand], loop: ForOp) -> bool:
    """Whether each iteration of a loop is about elements in front of those of the iteration before."""
    places = [side.low.terms.get(loop.variable, 0) for demand in demands for side in demand.box]
    return min(places, default=0) < 0 and max(places, default=0) <= 0


def _fixed(loop: ForOp, buffer: SSAValue) -> IsFixed:
    """What stands still during one iteration of the loop: not the threads that share a buffer on a chip."""
    scope = memory_scope_of(buffer.type) if isinstance(buffer.type, MemRefType) else "global"
    threads = _SHARING.get(scope.partition(".")[0], ())
    around = [*loops_around(loop), loop]
    return fixed_inside(
        loop, [o.variable for o in around if o.thread is not None and o.thread.data.startswith(threads)]
    )


_SHARING = {"shared": ("threadIdx", "vthread"), "warp": ("threadIdx.x",)}
"""The threads that see the same memory of a scope. All see global memory, but what each needs is computed by itself, as
there is no waiting for others."""
