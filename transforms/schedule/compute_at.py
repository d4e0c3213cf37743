"""Blocks moved into loops of those who read them, or whom they read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.errors import ScheduleError
from ...dialects.schedule import ComputeAtOp, ComputeInlineOp, ReverseComputeAtOp, ReverseComputeInlineOp
from ...dialects.tir import AccessOp, BlockOp, ForOp, FuncOp, TirBuilder, comparison_name
from ...dialects.tir import scope_of as memory_scope_of
from ..analysis.access_regions import buffer_shape
from ..analysis.index import Analyzer, Lin, export
from ..analysis.regions import (
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
from ..analysis.scopes import (
    ancestors,
    block_name,
    buffer_name,
    child_blocks,
    child_towards,
    loops_around,
    reads_of,
    root_buffer,
    scope_of,
    statements,
    writes_of,
)
from ..analysis.tree import erase_if_dead
from .handles import BlockLike, LoopRV
from .nest import (
    builder_before,
    conjuncts,
    erase_empty_around,
    make_loop,
    number,
    set_predicate,
    simplify_blocks,
    with_expressions,
)
from .recorder import Recorder
from .state import INLINE, PRIMITIVES, Place, State, applies

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
        What several iterations need is computed several times. Legal if every reader, and whoever looks at the buffer
        later, still sees what it saw; so all of an output must still be written. ScheduleError with two instances that
        conflict if not. A loop drawn by `sample_compute_location` may stand for no place (then the block is inlined)
        or for where it is (then nothing happens).
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
    consumers = [b for b in child_blocks(loop) if written & {*reads_of(b), *writes_of(b)}]
    if not consumers:
        raise ScheduleError(
            f"no block in loop {_name(loop)} reads what block {block_name(block)} writes", {loop: "", block: ""}
        )
    producers = [b for b in child_blocks(loop) if set(writes_of(b)) & set(reads_of(block))]
    place = _place(loop, block, index, behind=producers, ahead=consumers)
    analyzer = Analyzer()
    is_fixed = _fixed(loop, written)
    sides = axes_region(analyzer, block, list(_needed(analyzer, block, consumers, loop, is_fixed)), is_fixed)
    return _move(state, analyzer, block, loop, sides, place, preserve_unit_loops)


@applies(ReverseComputeAtOp)
def reverse_compute_at(
    state: State, block: BlockOp | FuncOp, loop: ForOp | Place, preserve_unit_loops: bool, index: int
) -> None:
    if isinstance(loop, Place):
        return PRIMITIVES[ReverseComputeInlineOp](state, block=block) if loop is INLINE else None
    block = _require_movable(block, loop)
    read = set(reads_of(block))
    producers = [b for b in child_blocks(loop) if read & set(writes_of(b))]
    mine = set(writes_of(block))
    consumers = [b for b in child_blocks(loop) if b not in producers and mine & {*reads_of(b), *writes_of(b)}]
    place = _place(loop, block, index, behind=producers, ahead=consumers)
    analyzer = Analyzer()
    is_fixed = _fixed(loop, read)
    sides = finishing_region(analyzer, block, list(_provided(analyzer, block, producers, loop, is_fixed)), is_fixed)
    return _move(state, analyzer, block, loop, sides, place, preserve_unit_loops)


def _name(loop: ForOp) -> str:
    return loop.loop_var.data


def _require_movable(block: BlockOp | FuncOp, loop: ForOp) -> BlockOp:
    """The block, if it is one that can be moved into the loop."""
    if isinstance(block, FuncOp):
        raise ScheduleError("the root block cannot be moved into a loop")
    scope = scope_of(block)
    if scope_of(loop) is not scope:
        raise ScheduleError(
            f"block {block_name(block)} and loop {_name(loop)} are not in the same scope: one is inside of a block "
            "that the other is outside of",
            {block: "", loop: ""},
        )
    if loop.is_ancestor(block):
        raise ScheduleError(f"block {block_name(block)} is in loop {_name(loop)} already", {block: "", loop: ""})
    around = [op for op in ancestors(block) if scope.is_ancestor(op) and op is not scope]
    branch = next((op for op in around if not isinstance(op, ForOp) and not op.is_ancestor(loop)), None)
    if branch is not None:
        raise ScheduleError(
            f"block {block_name(block)} is inside of a {branch.name.partition('.')[2]}, which would be lost",
            [branch, block],
        )
    return block


# Where


@dataclass(frozen=True)
class _Spot:
    """In front of a statement of a loop's body, or behind all."""

    loop: ForOp
    before: Operation | None


def _place(
    loop: ForOp, block: BlockOp, index: int, *, behind: Collection[BlockOp], ahead: Collection[BlockOp]
) -> _Spot:
    """The place of a block among the statements of a loop: behind those that hold its producers, in front of those that
    hold its consumers."""
    inside = [op for op in statements(loop.body.block)]
    positions = {op: n for n, op in enumerate(inside)}
    least = max((positions[child_towards(loop, b)] + 1 for b in behind), default=0)
    most = min((positions[child_towards(loop, b)] for b in ahead), default=len(inside))
    if index not in (_LAST, _FIRST) and not 0 <= index <= len(inside):
        raise ScheduleError(
            f"index {index}: expected -1, -2 or a position from 0 to {len(inside)} in loop {_name(loop)}", [loop]
        )
    if least > most or (index >= 0 and not least <= index <= most):
        before, after = ("producers", "consumers") if least > most else (f"position {least}", f"{most}")
        what = (
            f"in loop {_name(loop)} a producer of block {block_name(block)} stands behind a consumer"
            if least > most
            else f"index {index}: block {block_name(block)} can stand from {before} to {after} in loop {_name(loop)}"
        )
        raise ScheduleError(what, {loop: "", **{b: "producer" for b in behind}, **{b: "consumer" for b in ahead}})
    position = most if index == _LAST else least if index == _FIRST else index
    return _Spot(loop, inside[position] if position < len(inside) else None)


# What is needed


_STORAGE_RANKS = {"global": 0, "shared": 1, "warp": 2}
_LOCAL_RANK = 3


def _fixed(loop: ForOp, buffers: Collection[SSAValue]) -> IsFixed:
    """What stands still during one iteration of the loop: not the threads that share one of the buffers."""
    rank = min((_storage_rank(buffer) for buffer in buffers), default=_LOCAL_RANK)
    around = [*loops_around(loop), loop]
    threads = [outer.variable for outer in around if outer.thread is not None and _thread_rank(outer.thread) >= rank]
    return fixed_inside(loop, threads)


def _storage_rank(buffer: SSAValue) -> int:
    scope = memory_scope_of(buffer.type) if isinstance(buffer.type, MemRefType) else "global"
    return _STORAGE_RANKS.get(scope.partition(".")[0], _LOCAL_RANK)


def _thread_rank(thread: StringAttr) -> int:
    return 0 if thread.data.startswith("blockIdx") else 1


def _needed(
    analyzer: Analyzer, block: BlockOp, consumers: Sequence[BlockOp], loop: ForOp, is_fixed: IsFixed
) -> Iterator[Demand]:
    """What the consumers read of each buffer that the block writes, in one iteration of the loop."""
    yield from _demands(
        analyzer, block, consumers, loop, is_fixed, mine=lambda a: a.is_write, theirs=lambda a: not a.is_write
    )


def _provided(
    analyzer: Analyzer, block: BlockOp, producers: Sequence[BlockOp], loop: ForOp, is_fixed: IsFixed
) -> Iterator[Demand]:
    """What the producers write of each buffer that the block reads, in one iteration of the loop."""
    yield from _demands(
        analyzer, block, producers, loop, is_fixed, mine=lambda a: not a.is_write, theirs=lambda a: a.is_write
    )


def _demands(
    analyzer: Analyzer,
    block: BlockOp,
    others: Sequence[BlockOp],
    loop: ForOp,
    is_fixed: IsFixed,
    *,
    mine: Callable[[AccessOp], bool],
    theirs: Callable[[AccessOp], bool],
) -> Iterator[Demand]:
    for access in block.accesses:
        if not mine(access):
            continue
        buffer = root_buffer(access.buffer)
        boxes = [
            access_box(analyzer, other, loop)
            for there in others
            for other in there.accesses
            if theirs(other) and root_buffer(other.buffer) is buffer
        ]
        if boxes:
            yield Demand(written_box(analyzer, access), _region(analyzer, access, boxes, is_fixed))


def _region(analyzer: Analyzer, access: AccessOp, boxes: Sequence[Box], is_fixed: IsFixed) -> list[Side]:
    region = required_region(analyzer, boxes, is_fixed, shape_sides(analyzer, buffer_shape(access.buffer)))
    if isinstance(region, str):
        raise ScheduleError(f"buffer {buffer_name(access.buffer)}: {region}", [access])
    return region


# The move


def _move(
    state: State,
    analyzer: Analyzer,
    block: BlockOp,
    loop: ForOp,
    sides: Sequence[Side],
    spot: _Spot,
    preserve_unit_loops: bool,
) -> None:
    conditions = _predicate_on_axes(analyzer, block, loop)
    with state.changing([block], among=[loop]):
        _rebuild(analyzer, block, sides, spot, conditions, preserve_unit_loops)


@dataclass(frozen=True)
class _Condition:
    """A conjunct of a block's predicate: `factor * axis + rest <op> 0` for one axis; or an old value, if there is no
    axis in it."""

    name: str
    axis: int
    factor: int
    rest: Lin


def _predicate_on_axes(analyzer: Analyzer, block: BlockOp, loop: ForOp) -> list[_Condition]:
    """What a block's predicate says of its axes, but that they lie in their domains. ScheduleError where it says
    something of the loops around the block."""
    if block.predicate is None:
        return []
    found: list[_Condition] = []
    for condition in conjuncts(block.predicate):
        known = _on_axes(analyzer, block, condition)
        if known is None:
            raise ScheduleError(
                f"not supported yet: the predicate of block {block_name(block)} says something of the loops around it "
                "that cannot be said of its axes",
                [block],
            )
        found.append(known)
    return found


def _on_axes(analyzer: Analyzer, block: BlockOp, condition: SSAValue) -> _Condition | None:
    op = condition.owner
    if not isinstance(op, arith.CmpiOp) or (name := comparison_name(op)) is None:
        return None
    difference = analyzer.exact(op.lhs) - analyzer.exact(op.rhs)
    for n, binding in enumerate(block.bindings):
        lin = analyzer.exact(binding)
        for factor in (1, -1):
            rest = difference - lin * factor
            if lin.terms and all(not _is_loop_variable(leaf, block) for leaf in rest.leaves()):
                return _Condition(name, n, factor, rest)
    return None


def _is_loop_variable(value: SSAValue, block: BlockOp) -> bool:
    return any(value is loop.variable for loop in loops_around(block))


def _rebuild(
    analyzer: Analyzer,
    block: BlockOp,
    sides: Sequence[Side],
    spot: _Spot,
    conditions: Sequence[_Condition],
    preserve_unit_loops: bool,
) -> None:
    """Move a block to a spot, with loops around it in which each axis takes the values of its side."""
    old = block.parent_op()
    ops, values = with_expressions(block), [*block.operands]
    for op in ops:
        op.detach()
    loops, indices = _loops_for(analyzer, block, sides, spot, preserve_unit_loops)
    body = loops[-1].body.block if loops else spot.loop.body.block
    if loops:
        for op in ops:
            body.add_op(op)
    else:
        _insert(ops, spot)
    builder = builder_before(block)
    for n, (variable, index) in enumerate(zip(block.variables, indices, strict=True)):
        block.operands[n] = export(analyzer, index, builder, variable.type)
    set_predicate(block, list(_conditions(analyzer, block, indices, conditions)))
    for value in values:
        erase_if_dead(value)
    erase_empty_around(old)
    simplify_blocks([loops[0] if loops else block])


def _insert(ops: Sequence[Operation], spot: _Spot) -> None:
    body = spot.loop.body.block
    first = None if spot.before is None else with_expressions(spot.before)[0]
    for op in ops:
        if first is None:
            body.add_op(op)
        else:
            body.insert_op_before(op, first)


def _loops_for(
    analyzer: Analyzer, block: BlockOp, sides: Sequence[Side], spot: _Spot, preserve_unit_loops: bool
) -> tuple[list[ForOp], list[Lin]]:
    """New loops at a spot, and the values of the axes in them."""
    loops: list[ForOp] = []
    indices: list[Lin] = []
    builder = _builder_at(spot)
    for variable, side in zip(block.variables, sides, strict=True):
        if analyzer.constant(side.extent) == 1 and not preserve_unit_loops:
            indices.append(side.low)
            continue
        extent = number(analyzer, side.extent, builder, variable.type)
        new = builder.insert(make_loop(f"ax{len(loops)}", 0, extent, variable.type))
        builder = TirBuilder(new.body.block)
        loops.append(new)
        indices.append(side.low + Lin.of(new.variable))
    return loops, indices


def _builder_at(spot: _Spot) -> TirBuilder:
    if spot.before is None:
        return TirBuilder(spot.loop.body.block)
    return TirBuilder(InsertPoint.before(with_expressions(spot.before)[0]))


def _conditions(
    analyzer: Analyzer, block: BlockOp, indices: Sequence[Lin], conditions: Sequence[_Condition]
) -> Iterator[SSAValue]:
    """That each axis lies in its domain, and what was said of axes before."""
    builder = builder_before(block)
    seen: set[tuple[str, Lin]] = set()
    for axis, variable, index in zip(block.axes, block.variables, indices, strict=True):
        low = analyzer.exact(axis.low)
        for name, bound in (("ge", low), ("lt", low + analyzer.exact(axis.extent))):
            seen.add((name, index - bound))
            if not analyzer.is_provably(name, index, bound):
                yield _compare(analyzer, builder, name, index, bound, variable.type)
    for condition in conditions:
        left = indices[condition.axis] * condition.factor
        type = block.variables[condition.axis].type
        if (condition.name, left + condition.rest) not in seen:
            yield _compare(analyzer, builder, condition.name, left, -condition.rest, type)


def _compare(analyzer: Analyzer, builder: TirBuilder, name: str, lhs: Lin, rhs: Lin, type: Attribute) -> SSAValue:
    a, b = (export(analyzer, side, builder, type) for side in (lhs, rhs))
    return builder.binary(name, a, b)
