"""The primitives `compute_at` and `reverse_compute_at`: blocks moved into loops of their consumers or producers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ...analysis.index import Analyzer
from ...analysis.names import block_name, loop_name
from ...analysis.regions import (
    AccessBox,
    BoxDemand,
    IndexRange,
    IsFixed,
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
    depends_on,
    enclosing_scope,
    loops_around,
    precedes_in_text,
    reads_of,
    root_buffer,
    statements,
    writes_of,
)
from ...core.errors import ScheduleError
from ...dialects.schedule import ComputeAtOp, ComputeInlineOp, ReverseComputeAtOp, ReverseComputeInlineOp
from ...dialects.tir import AccessOp, BlockOp, ForOp, FuncOp
from ...dialects.tir import scope_of as memory_scope_of
from ..handles import BlockLike, LoopRV
from ..recorder import Recorder
from ..rewriting.caching import threads_sharing
from ..rewriting.gaps import Gap
from ..rewriting.moving import move_block
from ..state import INLINE, PRIMITIVES, ComputeLocation, State, applies

_LAST, _FIRST = -1, -2
"""Values of `index`: the last and the first possible position among the statements of the loop."""


class ComputeAtPrimitives(Recorder):
    """Primitives that move a block into a loop, with new loops around it over the instances required there."""

    def compute_at(self, block: BlockLike, loop: LoopRV, preserve_unit_loops: bool = False, index: int = _LAST) -> None:
        """Move a producer into a loop of its consumers, where it computes the elements that one iteration reads.

            for i in range(64):                       for i_0 in range(8):
                with T.block("B"):                        for ax0 in range(8):
                    vi = T.axis.spatial(64, i)                with T.block("B"):
                    B[vi] = A[vi] + 1.0                           vi = T.axis.spatial(64, i_0 * 8 + ax0)
            for i_0, i_1 in T.grid(8, 8):      ->                 B[vi] = A[vi] + 1.0
                with T.block("C"):                        for i_1 in range(8):
                    vi = ...(64, i_0 * 8 + i_1)               with T.block("C"):
                    C[vi] = B[vi] * 2.0                           ...

        loop: a loop in the same scope as the block that does not enclose it and contains at least one block that reads
        its results.  preserve_unit_loops: build a loop of one iteration too for an axis of which one value is required.
        index: the index of the statement in the loop to insert before; -1 as late as possible, -2 as early.
        Elements that several iterations require are computed several times. In memory that threads share ("shared":
        threadIdx, vthread; "warp": threadIdx.x) each thread computes the elements for all of them. Legal if every
        reader, and every later use of the buffer, still reads the same values; so all of an output must still be
        written. ScheduleError with two conflicting instances if not. A loop drawn by `sample_compute_location` may
        denote no location (then the block is inlined) or the current one (then nothing happens).
        """
        block = self._block(block)
        self.record(ComputeAtOp, block=block, loop=loop, preserve_unit_loops=preserve_unit_loops, index=index)

    def reverse_compute_at(
        self, block: BlockLike, loop: LoopRV, preserve_unit_loops: bool = False, index: int = _LAST
    ) -> None:
        """Move a consumer into a loop of its producers, where it processes the elements that one iteration completes.

            for i_0, i_1 in T.grid(8, 8):             for i_0 in range(8):
                with T.block("B"):                        for i_1 in range(8):
                    vi = ...(64, i_0 * 8 + i_1)               with T.block("B"):
                    B[vi] = A[vi] + 1.0        ->                 ...
            for i in range(64):                           for ax0 in range(8):
                with T.block("C"):                            with T.block("C"):
                    vi = T.axis.spatial(64, i)                    vi = T.axis.spatial(64, i_0 * 8 + ax0)
                    C[vi] = B[vi] * 2.0                           C[vi] = B[vi] * 2.0

        loop: a loop in the same scope as the block that does not enclose it. If no block in it writes a buffer that the
        block reads, each iteration does all of the block's work.  preserve_unit_loops, index: as for `compute_at`.
        Legal if every reader still reads the same values. ScheduleError with two conflicting instances if not.
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
    state: State, block: BlockOp | FuncOp, loop: ForOp | ComputeLocation, preserve_unit_loops: bool, index: int
) -> None:
    if isinstance(loop, ComputeLocation):
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
    sides = _keep_common_axes(analyzer, block, loop, axes_region(analyzer, block, demands, fixed_inside(loop)))
    return move_block(state, analyzer, block, sides, gap, preserve_unit_loops)


@applies(ReverseComputeAtOp)
def reverse_compute_at(
    state: State, block: BlockOp | FuncOp, loop: ForOp | ComputeLocation, preserve_unit_loops: bool, index: int
) -> None:
    if isinstance(loop, ComputeLocation):
        return PRIMITIVES[ReverseComputeInlineOp](state, block=block) if loop is INLINE else None
    block = _require_movable(block, loop)
    read = set(reads_of(block))
    producers = [b for b in child_blocks(loop) if read & set(writes_of(b))]
    gap = _gap(loop, block, index)
    analyzer = Analyzer()
    demands = _demands(analyzer, block, producers, loop, reads=True)
    finished = finishing_region(analyzer, block, demands, fixed_inside(loop), last=not _goes_down(demands, loop))
    sides = _keep_common_axes(analyzer, block, loop, finished)
    return move_block(state, analyzer, block, sides, gap, preserve_unit_loops)


def _require_movable(block: BlockOp | FuncOp, loop: ForOp) -> BlockOp:
    """Raise ScheduleError unless a block can be moved into the loop; returns the block."""
    if isinstance(block, FuncOp):
        raise ScheduleError("the root block cannot be moved into a loop")
    scope = enclosing_scope(block)
    if enclosing_scope(loop) is not scope:
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


# Position


def _gap(loop: ForOp, block: BlockOp, index: int) -> Gap:
    """The gap for a block among the statements of a loop: after its dependences or before its dependents.
    Only one of these constrains the gap, as the block either follows or precedes the whole loop."""
    inside = [op for op in statements(loop.body.block)]
    if index not in (_LAST, _FIRST) and not 0 <= index <= len(inside):
        raise ScheduleError(
            f"index {index}: expected -1, -2 or a position from 0 to {len(inside)} in loop {loop_name(loop)}", [loop]
        )
    positions = {op: n for n, op in enumerate(inside)}
    others = [positions[child_towards(loop, other)] for other in child_blocks(loop) if _conflict(block, other)]
    least, most = 0, len(inside)
    if precedes_in_text(loop, block):
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


# Demands


def _demands(
    analyzer: Analyzer, block: BlockOp, others: Sequence[BlockOp], loop: ForOp, *, reads: bool
) -> list[BoxDemand]:
    """The elements that other blocks write of each buffer that the block reads (`reads`), or read of each buffer that
    it writes, in one iteration of the loop."""
    result: list[BoxDemand] = []
    for access in block.accesses:
        if access.is_write is reads:
            continue
        buffer = root_buffer(access.buffer)
        boxes = [
            access_box(analyzer, other, loop)
            for other_block in others
            for other in other_block.accesses
            if other.is_write is reads and root_buffer(other.buffer) is buffer
        ]
        if boxes:
            result.append(
                BoxDemand(written_box(analyzer, access), _region(analyzer, access, boxes, _fixed_during(loop, buffer)))
            )
    return result


def _keep_common_axes(analyzer: Analyzer, block: BlockOp, loop: ForOp, sides: Sequence[IndexRange]) -> list[IndexRange]:
    """The ranges of the axes of a block in a loop, where an axis of a scan bound to the variables of loops around both
    keeps its value: an iteration of these loops has no instance with another one."""
    around = loops_around(block)
    common = [each.variable for each in around if each.is_ancestor(loop)]
    own = [each.variable for each in around if not each.is_ancestor(loop)]
    kept: list[IndexRange] = []
    for axis, side, binding in zip(block.axes, sides, block.bindings, strict=True):
        is_common = axis.kind == "scan" and any(depends_on([binding], variable) for variable in common)
        if is_common and not any(depends_on([binding], variable) for variable in own):
            side = IndexRange.of(analyzer, binding, 1)
        kept.append(side)
    return kept


def _region(analyzer: Analyzer, access: AccessOp, boxes: Sequence[AccessBox], is_fixed: IsFixed) -> list[IndexRange]:
    region = required_region(analyzer, boxes, is_fixed, shape_sides(analyzer, buffer_shape(access.buffer)))
    assert not isinstance(region, str)  # a dimension without known bounds spans the whole buffer
    return region


def _goes_down(demands: Sequence[BoxDemand], loop: ForOp) -> bool:
    """Whether the demanded elements move to lower indices from each iteration of a loop to the next."""
    coefficients = [side.low.terms.get(loop.variable, 0) for demand in demands for side in demand.box]
    return min(coefficients, default=0) < 0 and max(coefficients, default=0) <= 0


def _fixed_during(loop: ForOp, buffer: SSAValue) -> IsFixed:
    """The predicate of values that are constant during one iteration of the loop: not the threads that share the memory
    of `buffer`."""
    scope = memory_scope_of(buffer.type) if isinstance(buffer.type, MemRefType) else "global"
    return fixed_inside(loop, threads_sharing(loop, scope))
