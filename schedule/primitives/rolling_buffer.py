"""The primitive `rolling_buffer`: a buffer whose memory is used in turn along a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.index import Analyzer, DivAtom, Lin, export
from ...analysis.names import block_name, buffer_name, loop_name
from ...analysis.regions import (
    AccessBox,
    IndexRange,
    access_box,
    bindings,
    fixed_inside,
    required_region,
    shape_sides,
    touched_box,
)
from ...analysis.regions.access_regions import buffer_shape
from ...analysis.scopes import (
    BlockScope,
    ancestors,
    depends_on,
    enclosing_scope,
    loops_around,
    lowest_common_ancestor,
    root_buffer,
)
from ...core.dtypes import dtype_of
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from ...dialects.schedule import RollingBufferOp
from ...dialects.tir import AccessOp, AllocBufferOp, BlockOp, ForOp, FuncOp, LoadOp, StoreOp, TirBuilder
from ..handles import BlockLike
from ..rewriting.caching import require_one_name
from ..rewriting.copies import (
    BufferLike,
    Redirection,
    access_at,
    accesses_of,
    allocate_copy,
    find_accesses,
    redirect,
    require_block,
)
from ..rewriting.elementwise import blocks_using, erase_buffer, require_allocation
from ..rewriting.nest import add_predicate, erase_accesses, renew_accesses, set_axes, simplify_blocks
from ..rewriting.reindexing import find_element
from ..state import State, applies
from .arguments import BufferArguments


class RollingBufferPrimitives(BufferArguments):
    """The primitive that uses the memory of a buffer in turn."""

    def rolling_buffer(self, block: BlockLike, write_buffer_index: BufferLike) -> None:
        """Keep only the elements of a buffer that later iterations of a loop read, in memory that is used in turn, and
        compute each of them once.

            B = T.alloc_buffer((10,))                   B = T.alloc_buffer((6,))
            for i_0 in range(2):                        for i_0 in range(2):
                for ax0 in range(6):                        for ax0 in range(6):
                    with T.block("B"):                          with T.block("B"):
                        vi = T.axis.spatial(                        vi = T.axis.opaque(10, i_0 * 4 + ax0)
                            10, i_0 * 4 + ax0)                      T.where(i_0 < 1 or 2 <= ax0)
                        B[vi] = A[vi] * 2.0       ->                B[vi % 6] = A[vi] * 2.0
                for i_1 in range(4):                        for i_1 in range(4):
                    with T.block("C"):                          with T.block("C"):
                        vi = ...                                    vi = T.axis.opaque(8, i_0 * 4 + i_1)
                        C[vi] = B[vi] + B[vi + 2]                   C[vi] = B[vi % 6] + B[(vi + 2) % 6]

        block: a block that writes one element of an allocated buffer in each instance, in a loop that also contains all
        readers: usually after `compute_at`.  write_buffer_index: the index of the buffer among the buffers that the
        block writes, or its name.
        The elements that one iteration of this loop writes must start, in one dimension, at a multiple of a loop
        variable, or a quotient of one, and overlap with those of the next iteration. The outermost such loop rolls: the
        buffer shrinks to the elements of one iteration in that dimension, indices are taken modulo their number, and
        the axes in them become opaque. In each dimension with an overlap, the block does not compute again what an
        earlier iteration has computed.
        Legal if every reader still reads the same values. ScheduleError with two conflicting instances if not, or if no
        dimension overlaps.
        """
        handle = self._block(block)
        index = self._buffer_index(handle, "write", write_buffer_index)
        self.record(RollingBufferOp, block=handle, write_buffer_index=index)


@dataclass(frozen=True)
class _Overlap:
    """A dimension of the region that one iteration writes, which starts where `loop` determines, and overlaps with the
    region of the next iteration of the loop by `count` elements."""

    dimension: int
    loop: ForOp
    low: Lin
    extent: int
    count: int


@applies(RollingBufferOp)
def rolling_buffer(state: State, block: BlockOp | FuncOp, write_buffer_index: int) -> None:
    buffer = access_at(block, "write", write_buffer_index).buffer
    block = require_block(block)
    allocation = require_allocation(block, buffer)
    scope = BlockScope(enclosing_scope(block))
    require_one_name(scope, buffer)
    readers = _readers(scope, block, buffer)
    common = _common_loop(scope, block, buffer, readers)
    analyzer = Analyzer(through_lets=False)
    element = find_element(analyzer, block, buffer, reads=False)
    overlaps = _overlaps(analyzer, block, buffer, common)
    rolling = min(overlaps, key=lambda overlap: len(list(ancestors(overlap.loop))))
    _require_outside(allocation, rolling.loop)
    found = [find_accesses(b, buffer, moves=True) for b in (block, *readers)]
    for other in readers:
        _require_elements(other, buffer)
    around, parts = rolling.loop.parent_op(), [block, *readers]
    assert around is not None
    in_turn = _runs_once(allocation, scope.op, rolling.loop) and all(
        _stays_inside(analyzer, part, buffer, common, rolling) for part in parts
    )
    with state.changing(parts, among=[around]) as change:
        _write_predicate(analyzer, block, element.indices, overlaps)
        if not in_turn:
            new = _relocate(analyzer, scope.op, buffer, parts, found, rolling)
            change.counterparts[buffer] = new
            change.relocated.append(new)
    if in_turn:
        with state.changing(parts, check=False):
            _relocate(analyzer, scope.op, buffer, parts, found, rolling)


def _readers(scope: BlockScope, block: BlockOp, buffer: SSAValue) -> list[BlockOp]:
    """The blocks that read a buffer. ScheduleError unless `block` alone writes it."""
    writers = scope.writers.get(root_buffer(buffer), [])
    other = next((writer for writer in writers if writer is not block), None)
    if other is not None:
        raise ScheduleError(
            f"blocks {block_name(block)} and {block_name(other)} write buffer {buffer_name(buffer)}, expected one "
            "writer",
            [block, other],
        )
    return [reader for reader in scope.readers.get(root_buffer(buffer), ()) if reader is not block]


def _common_loop(scope: BlockScope, block: BlockOp, buffer: SSAValue, readers: Sequence[BlockOp]) -> ForOp:
    """The innermost loop around a block and the readers of its buffer. ScheduleError if there is none, or the buffer is
    used elsewhere."""
    common = lowest_common_ancestor([block, *readers])
    if not isinstance(common, ForOp):
        raise ScheduleError(
            f"no loop is around block {block_name(block)} and all readers of buffer {buffer_name(buffer)}: expected "
            "the block to be computed in a loop of its readers",
            [block, *readers],
        )
    inside = (block, *readers)
    for use in buffer.uses:
        if not any(each.is_ancestor(use.operation) for each in inside) and not isinstance(
            use.operation.parent_op(), FuncOp
        ):
            outer = next((o for o in ancestors(use.operation) if isinstance(o, BlockOp)), None)
            if outer is None or not outer.is_ancestor(block):
                raise ScheduleError(
                    f"buffer {buffer_name(buffer)} is used outside of blocks {', '.join(map(block_name, inside))}",
                    [block],
                )
    return common


def _require_elements(block: BlockOp, buffer: SSAValue) -> None:
    """Raise ScheduleError unless a block only loads and stores single elements of a buffer."""
    for use in buffer.uses:
        op = use.operation
        if block.is_ancestor(op) and isinstance(op, LoadOp | StoreOp) and op.predicate is not None:
            raise ScheduleError(
                f"block {block_name(block)} accesses vectors of buffer {buffer_name(buffer)}, expected single elements",
                [block],
            )


def _require_outside(allocation: AllocBufferOp, loop: ForOp) -> None:
    if loop.is_ancestor(allocation):
        raise ScheduleError(
            f"buffer {allocation.buffer_name.data} is allocated in the loop along which it would roll", [loop]
        )


# Overlaps


def _overlaps(analyzer: Analyzer, block: BlockOp, buffer: SSAValue, common: ForOp) -> list[_Overlap]:
    """The dimensions in which iterations overlap. ScheduleError if there is none."""
    accesses = accesses_of(block, "write", buffer)
    boxes = [AccessBox(access_box(analyzer, access, common).sides) for access in accesses]  # without the predicate
    region = required_region(analyzer, boxes, fixed_inside(common), shape_sides(analyzer, buffer_shape(buffer)))
    assert not isinstance(region, str), "a shape is given, so there is a region"
    loops = [*loops_around(common), common]
    found = [_overlap(analyzer, n, side, loops) for n, side in enumerate(region)]
    overlaps = [overlap for overlap in found if overlap is not None]
    if not overlaps:
        raise ScheduleError(
            f"the elements of buffer {buffer_name(buffer)} that an iteration of loop {loop_name(common)} writes "
            "overlap with those of the next one in no dimension, as far as is known: expected a region that starts at "
            "a multiple of a loop variable, and is longer than the step",
            [block],
        )
    return overlaps


def _overlap(analyzer: Analyzer, dimension: int, side: IndexRange, loops: Sequence[ForOp]) -> _Overlap | None:
    extent = analyzer.constant(side.extent)
    step = _step(analyzer, side.low)
    if extent is None or step is None:
        return None
    variable, stride = step
    loop = next((loop for loop in loops if loop.variable is variable), None)
    if loop is None or loop.mixed_bounds[2] != 1 or stride >= extent:
        return None
    return _Overlap(dimension, loop, side.low, extent, extent - stride)


def _step(analyzer: Analyzer, low: Lin) -> tuple[SSAValue, int] | None:
    """The variable in a sum `v * k`, or `v * k // d`, and the largest step of the sum from each value of v to the next;
    None for any other sum."""
    if len(low.terms) != 1:
        return None
    atom, factor = next(iter(low.terms.items()))
    if isinstance(atom, SSAValue):
        return (atom, factor) if factor > 0 else None
    divisor = analyzer.constant(atom.divisor) if isinstance(atom, DivAtom) else None
    if not isinstance(atom, DivAtom) or divisor is None or divisor <= 0 or factor != 1:
        return None
    inner = _step(analyzer, atom.dividend)
    return None if inner is None else (inner[0], -(-inner[1] // divisor))


# Memory in turn
#
# If the rolling loop runs once, and each of its iterations accesses elements of its region alone, then memory in turn
# keeps the flow of values, and only the predicate has to be checked. Let an iteration r read an element x that an
# earlier iteration s has written last, and another element y take its place in an iteration t in between. The starts of
# the regions ascend, so x, which is at or after the start of the region of r and before the end of that of s, is in the
# region of t, as y is. A region is as long as the memory, so that no two of its elements share a place.


def _runs_once(allocation: AllocBufferOp, scope: FuncOp | BlockOp, loop: ForOp) -> bool:
    """Whether a loop runs once for each allocation of a buffer."""
    return enclosing_scope(allocation) is scope and all(
        isinstance(each.mixed_bounds[1], int) and each.mixed_bounds[1] <= 1 for each in loops_around(loop)
    )


def _stays_inside(analyzer: Analyzer, block: BlockOp, buffer: SSAValue, common: ForOp, rolling: _Overlap) -> bool:
    """Whether a block provably accesses elements of the region of the same iteration alone, in the rolling
    dimension."""
    boxes: list[AccessBox] = []
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, AccessOp) or not block.is_ancestor(op):
            continue
        box = touched_box(analyzer, op, common) if isinstance(op, LoadOp | StoreOp) else None
        if box is None:
            return False
        for around in ancestors(op):
            if isinstance(around, BlockOp) and common.is_ancestor(around):
                box = box.substitute_values(analyzer, bindings(analyzer, around))
        boxes.append(AccessBox(box.sides))  # without the predicate
    region = required_region(analyzer, boxes, fixed_inside(common), shape_sides(analyzer, buffer_shape(buffer)))
    assert not isinstance(region, str), "a shape is given, so there is a region"
    side = region[rolling.dimension]
    end = rolling.low + rolling.extent
    return analyzer.is_provably("ge", side.low, rolling.low) and analyzer.is_provably("lt", side.high, end)


# Changes


def _relocate(
    analyzer: Analyzer,
    scope: FuncOp | BlockOp,
    buffer: SSAValue,
    parts: Sequence[BlockOp],
    found: Sequence[Redirection],
    rolling: _Overlap,
) -> SSAValue:
    """Replace a buffer by the smaller one, which is returned."""
    new = _allocate(analyzer, scope, buffer, rolling)
    _make_opaque(parts, buffer, rolling.dimension)
    _roll(buffer, new, found, rolling)
    return new


def _allocate(analyzer: Analyzer, scope: FuncOp | BlockOp, buffer: SSAValue, rolling: _Overlap) -> SSAValue:
    """Allocate the smaller buffer."""
    shape = [analyzer.exact(extent) for extent in buffer_shape(buffer)]
    shape[rolling.dimension] = Lin(rolling.extent)
    space = cast("MemRefType[Attribute]", buffer.type).memory_space
    return allocate_copy(analyzer, scope, buffer_name(buffer), buffer, shape, space)


def _write_predicate(analyzer: Analyzer, block: BlockOp, indices: Sequence[Lin], overlaps: Sequence[_Overlap]) -> None:
    """Restrict a block to the elements that no earlier iteration of the overlapping loops has computed."""
    bound = bindings(analyzer, block)
    for overlap in overlaps:
        start = analyzer.exact(overlap.loop.mixed_bounds[0])
        first: dict[SSAValue, Lin] = {overlap.loop.variable: start}
        index = analyzer.substitute(analyzer.substitute(indices[overlap.dimension], bound), first)
        offset = index - analyzer.substitute(overlap.low, first)
        add_predicate(block, partial(_is_first_or_new, analyzer, overlap, start, offset))


def _is_first_or_new(analyzer: Analyzer, overlap: _Overlap, start: Lin, offset: Lin, builder: TirBuilder) -> SSAValue:
    """The condition that an element, at an offset from the start of the region, is in the first region or after the
    previous one."""
    type = overlap.loop.variable.type
    is_first = builder.binary("lt", overlap.loop.variable, export(analyzer, start + 1, builder, type))
    is_new = builder.binary("le", builder.const(overlap.count, dtype_of(type)), export(analyzer, offset, builder, type))
    return builder.binary("or", is_first, is_new)


def _make_opaque(blocks: Sequence[BlockOp], buffer: SSAValue, dimension: int) -> None:
    """Make the spatial axes opaque that the blocks use in the indices of a dimension of a buffer: each of their values
    depends on earlier ones."""
    for block in blocks:
        indices = [
            op.indices[dimension] for op in find_ops(block, LoadOp, StoreOp) if op.buffer is buffer and op.indices
        ]
        axes = [
            replace(axis, kind="opaque") if axis.kind == "spatial" and depends_on(indices, variable) else axis
            for axis, variable in zip(block.axes, block.variables, strict=True)
        ]
        set_axes(block, axes)


def _roll(buffer: SSAValue, new: SSAValue, found: Sequence[Redirection], rolling: _Overlap) -> None:
    """Redirect all accesses to the smaller buffer, and erase the old one."""
    touched = blocks_using([buffer])
    erase_accesses(touched)
    analyzer = Analyzer(through_lets=False)

    def change(indices: Sequence[Lin]) -> list[Lin]:
        rolled = list(indices)
        rolled[rolling.dimension] = analyzer.floormod(rolled[rolling.dimension], Lin(rolling.extent))
        return rolled

    for accesses in found:
        kept: list[tuple[Operation, Sequence[Lin] | None]] = [
            (op, indices) for op, indices in accesses.ops if isinstance(op, LoadOp | StoreOp)
        ]
        redirect(Redirection(buffer, kept), new, change)
    renew_accesses(touched)
    name = buffer_name(buffer)
    erase_buffer(buffer)
    owner = new.owner
    assert isinstance(owner, AllocBufferOp)
    owner.buffer_name = StringAttr(name)
    set_name_hint(new, name)
    simplify_blocks(touched)
