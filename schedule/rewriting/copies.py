"""Copies of buffers between blocks, as several primitives insert them: buffer, position, copying block, redirection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerType, MemRefType, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.dependence import reads_its_writes
from ...analysis.index import Analyzer, Lin, export
from ...analysis.names import block_name, buffer_name
from ...analysis.scopes import reads_of, root_buffer
from ...core.errors import ScheduleError
from ...dialects.text import expression_text
from ...dialects.tir import (
    AccessOp,
    AllocBufferOp,
    Axis,
    BlockOp,
    BufferDataOp,
    ForOp,
    FuncOp,
    LoadOp,
    MatchRegionOp,
    Mixed,
    StoreOp,
    TirBuilder,
    separators_of,
)
from ...dialects.tir.base import split_mixed
from ...dialects.tir.copying import copy_expression
from ...dialects.tir.operands import redirect_access, set_operands
from ...dialects.tir.tree import captured_operands, erase_if_dead, is_pure_expression
from .gaps import Gap, scope_start
from .nest import export_mixed, make_loop, simplify_blocks

BufferLike = int | str
"""A buffer of a block: its index among the buffers that the block reads or writes, or its name."""


# The buffer


def side_accesses(block: BlockOp, side: str) -> list[AccessOp]:
    """The declared reads (side "read") or writes ("write") of a block, in order."""
    return [access for access in block.accesses if access.is_write == (side == "write")]


def accesses_of(block: BlockOp, side: str, buffer: SSAValue) -> list[AccessOp]:
    """The declared reads or writes of a buffer by a block, as of `side_accesses`."""
    return [access for access in side_accesses(block, side) if access.buffer is buffer]


def buffer_index(block: BlockOp | FuncOp, side: str, buffer: BufferLike) -> int:
    """The index of a buffer among the buffers that a block reads (side "read") or writes ("write").

    ScheduleError, with the buffers of the block, if there is no such buffer.
    """
    block = require_block(block)
    names = [buffer_name(access.buffer) for access in side_accesses(block, side)]
    doing = {"read": "reads", "write": "writes"}[side]
    known = ", ".join(f"{n}: {name}" for n, name in enumerate(names)) or "none"
    if isinstance(buffer, str):
        if buffer not in names:
            raise ScheduleError(f"block {block_name(block)} {doing} no buffer {buffer!r} (it {doing} {known})", [block])
        return names.index(buffer)
    if not 0 <= buffer < len(names):
        raise ScheduleError(
            f"block {block_name(block)} {doing} {len(names)} buffers, there is no number {buffer} (it {doing} {known})",
            [block],
        )
    return buffer


def access_at(block: BlockOp | FuncOp, side: str, index: int) -> AccessOp:
    """The declared access of a block to its buffer at `index`. ScheduleError if there is none."""
    block = require_block(block)
    return side_accesses(block, side)[buffer_index(block, side, index)]


def require_block(block: BlockOp | FuncOp) -> BlockOp:
    """Raise ScheduleError for the body of a function, which has no accesses; returns the block."""
    if isinstance(block, FuncOp):
        raise ScheduleError("expected a block, got the body of the function")
    return block


def index_type(block: BlockOp) -> Attribute:
    """The type of the indices of a block: that of its first axis, or of an index in its body; i32 without any."""
    for variable in block.variables:
        return variable.type
    for op in block.walk():
        if isinstance(op, LoadOp | StoreOp) and op.indices and isinstance(op.indices[0].type, IntegerType):
            return op.indices[0].type
    return i32


# The copying block


@dataclass(frozen=True)
class CopyAxis:
    """An axis of a copying block and its loop: the loop has `count` iterations; the axis has the value `start` plus the
    loop variable, and the domain `[low, low + extent)`."""

    low: Lin
    extent: Lin
    start: Lin
    count: Lin


def allocate_copy(
    analyzer: Analyzer, scope: FuncOp | BlockOp, name: str, like: SSAValue, shape: Sequence[Lin], space: Attribute
) -> SSAValue:
    """Declare a new compact buffer, after the other declarations of a scope, with the element type of `like`, and with
    its axis separators if it has as many dimensions."""
    gap = scope_start(scope)
    scratch = Block()
    builder = TirBuilder(scratch, scope.location)
    extents = [_own_sum(analyzer, extent, gap, builder) for extent in shape]
    dims = [export_mixed(analyzer, extent, builder, sum_type(extent)) for extent in extents]
    type = cast("MemRefType[Attribute]", like.type)
    separators = separators_of(like) if len(dims) == type.get_num_dims() else ()
    op = builder.insert(AllocBufferOp(name, type.element_type, dims, space=space, axis_separators=separators))
    gap.insert_all(scratch)
    return op.buffer


def _own_sum(analyzer: Analyzer, lin: Lin, gap: Gap, builder: TirBuilder) -> Lin:
    """A sum with copies of the expressions in it, which may be computed elsewhere. ScheduleError if a value in it is
    not known at a gap."""
    copies: dict[SSAValue, Lin] = {}
    for leaf in lin.leaves():
        sources = _sources(leaf)
        if not all(map(gap.is_fixed, sources)):
            raise ScheduleError(f"{expression_text(leaf)} is not known where the copy is allocated or filled")
        if leaf not in sources:
            copies[leaf] = Lin.of(copy_expression(leaf, builder, {source: source for source in sources}))
    return analyzer.substitute(lin, copies) if copies else lin


def _sources(value: SSAValue) -> list[SSAValue]:
    """The values from which pure expressions compute a value."""
    op = value.owner
    if isinstance(op, Block) or not is_pure_expression(op):
        return [value]
    return [source for operand in captured_operands(op) for source in _sources(operand)]


def sum_type(lin: Lin) -> Attribute:
    """The type of the values in a sum; i32 for a constant."""
    return next((leaf.type for leaf in lin.leaves()), i32)


def type_of_sums(analyzer: Analyzer, sums: Sequence[Lin], type: Attribute) -> Attribute:
    """The type to compute some sums in: `type`, or i64 if a sum with a value of that type may not fit `type`."""
    wide = (lin for lin in sums if any(leaf.type == i64 for leaf in lin.leaves()))
    return type if all(analyzer.fits(lin, type) for lin in wide) else i64


Indices = Callable[[Sequence[Lin]], Sequence[Lin]]
"""The indices of an element, computed from the values of a copying block's axes."""


def copy_block(
    analyzer: Analyzer,
    gap: Gap,
    name: str,
    axes: Sequence[CopyAxis],
    source: tuple[SSAValue, Indices],
    target: tuple[SSAValue, Indices],
    type: Attribute,
    *,
    unit_loops: bool = True,
) -> BlockOp:
    """Insert a nest of loops `ax0, ax1, ...` around a block with axes `v0, v1, ...` that copies elements of `source` to
    elements of `target` into a gap; returns the block.

    type: the type of the loop variables and axes.  unit_loops: build loops of one iteration, too.
    """
    scratch = Block()
    builder = TirBuilder(scratch, gap.outer.location)
    variables: list[Lin] = []

    def emit(lin: Lin) -> Mixed:
        return export_mixed(analyzer, _own_sum(analyzer, lin, gap, builder), builder, type)

    for axis in axes:
        if analyzer.constant(axis.count) == 1 and not unit_loops:
            variables.append(Lin())
            continue
        number = sum(1 for variable in variables if variable.terms)
        loop = builder.insert(make_loop(f"ax{number}", 0, emit(axis.count), type))
        variables.append(Lin.of(loop.variable))
        builder.point = InsertPoint.at_end(loop.body.block)
    bound = [
        Axis(
            f"v{n}",
            "spatial",
            emit(axis.low),
            emit(axis.extent),
            export(analyzer, _own_sum(analyzer, axis.start, gap, builder) + variable, builder, type),
        )
        for n, (axis, variable) in enumerate(zip(axes, variables, strict=True))
    ]
    block = builder.insert(BlockOp(name, bound))
    _fill(analyzer, block, source, target, type)
    outermost = [op for op in scratch.ops if isinstance(op, ForOp | BlockOp)]
    gap.insert_all(scratch)
    simplify_blocks(outermost)
    return block


def _fill(
    analyzer: Analyzer,
    block: BlockOp,
    source: tuple[SSAValue, Indices],
    target: tuple[SSAValue, Indices],
    type: Attribute,
) -> None:
    builder = TirBuilder(block.body.block, block.location)
    values = [Lin.of(variable) for variable in block.variables]
    ends: list[Sequence[Lin]] = []
    for kind, (buffer, indices) in (("reads", source), ("writes", target)):
        ends.append(indices(values))
        region: list[tuple[Mixed, Mixed]] = [
            (export(analyzer, index, builder, type) if index.terms else export_mixed(analyzer, index, builder, type), 1)
            for index in ends[-1]
        ]
        builder.insert(AccessOp(kind, buffer, region))
    (read, write) = ([export(analyzer, index, builder, type) for index in indices] for indices in ends)
    builder.store(builder.load(source[0], read), target[0], write)


# Redirection


@dataclass(frozen=True)
class Redirection:
    """The accesses of a block to a buffer, to be redirected to another one: each op with its indices as sums."""

    buffer: SSAValue
    ops: Sequence[tuple[Operation, Sequence[Lin] | None]]


def find_accesses(
    block: BlockOp,
    buffer: SSAValue,
    *,
    loads: bool = True,
    stores: bool = True,
    moves: bool = False,
    pointers: bool = False,
) -> Redirection:
    """The accesses of a block to a buffer: its loads, its stores, or both.

    moves: whether the indices will change, and must therefore be known.  pointers: whether the other buffer has the
    layout and the scope of the buffer, so that pointers to its elements may be redirected.
    ScheduleError if the block uses the buffer otherwise or accesses its memory by another name, or if only its reads or
    only its writes would be redirected although it reads elements that it has written.
    """
    if loads != stores and reads_its_writes(block, root_buffer(buffer)):
        raise ScheduleError(
            f"block {block_name(block)} reads elements of buffer {buffer_name(buffer)} that it has written itself, and "
            f"only its {'reads' if loads else 'writes'} would go to the copy",
            [block],
        )
    analyzer = Analyzer(through_lets=False)
    accesses: list[tuple[Operation, Sequence[Lin] | None]] = []
    for op in dict.fromkeys(use.operation for use in buffer.uses):
        if not block.is_ancestor(op):
            continue
        is_pointer = pointers and loads and stores and isinstance(op, BufferDataOp)
        if not is_pointer and not _is_wanted(op, block, buffer, loads=loads, stores=stores):
            continue
        accesses.append((op, _indices(analyzer, op, buffer) if moves else None))
    return Redirection(buffer, accesses)


def reads_results(block: BlockOp, buffer: SSAValue) -> bool:
    """Whether the reads of a buffer that a block writes are reads of its own results, as far as is known: the block
    reads an element after it has written it, or declares no read."""
    root = root_buffer(buffer)
    return root not in reads_of(block) or reads_its_writes(block, root)


def _is_wanted(op: Operation, block: BlockOp, buffer: SSAValue, *, loads: bool, stores: bool) -> bool:
    match op:
        case LoadOp():
            return loads
        case StoreOp():
            return stores
        case AccessOp():
            return stores if op.is_write else loads
        case MatchRegionOp():
            if loads and stores:
                return True
            raise ScheduleError(
                f"block {block_name(block)} looks at a part of buffer {buffer_name(buffer)} as "
                f"{buffer_name(op.buffer)}, and only its {'reads' if loads else 'writes'} would go to the copy, which "
                "is not supported yet",
                {block: ""},
            )
        case _:
            raise ScheduleError(
                f"block {block_name(block)} uses buffer {buffer_name(buffer)} otherwise than to load, to store and to "
                f"look at parts of it ({op.name.partition('.')[2]}), which is not supported yet",
                [block],
            )


def _indices(analyzer: Analyzer, op: Operation, buffer: SSAValue) -> list[Lin]:
    mins: Sequence[Mixed]
    match op:
        case LoadOp() | StoreOp():
            mins = list(op.indices)
        case AccessOp() | MatchRegionOp():
            mins = [low for low, _ in op.region]
        case _:
            raise ValueError(op.name)
    for low in mins:
        if isinstance(low, SSAValue) and not isinstance(low.type, IntegerType):
            raise ScheduleError(
                f"buffer {buffer_name(buffer)} is accessed by vectors of elements, whose index cannot be changed",
                [op.parent_op() or op],
            )
    return [analyzer.exact(low) for low in mins]


def redirect(found: Redirection, buffer: SSAValue, change: Indices | None = None) -> None:
    """Redirect accesses to another buffer; `change` computes the new indices from the old ones; None for the same."""
    analyzer = Analyzer(through_lets=False)
    for op, indices in found.ops:
        position = list(op.operands).index(found.buffer)
        op.operands[position] = buffer
        if change is not None and indices is not None:
            set_indices(analyzer, op, list(change(indices)))
        if isinstance(op, MatchRegionOp):
            _follow_space(op, cast("MemRefType[Attribute]", buffer.type).memory_space)


def set_indices(analyzer: Analyzer, op: Operation, indices: Sequence[Lin]) -> None:
    """Replace the indices of a load, store, access or view by new ones, one for each dimension of its buffer.

    A box keeps its extents; the box of an access becomes a point if the number of dimensions changes."""
    builder = TirBuilder(InsertPoint.before(op), op.location)
    match op:
        case LoadOp() | StoreOp():
            type = op.indices[0].type if op.indices else i32
            old = list(op.indices)
            new = [export(analyzer, index, builder, type_of_sums(analyzer, [index], type)) for index in indices]
            redirect_access(op, op.buffer, new)
        case AccessOp() | MatchRegionOp():
            old = list(op.mins)
            if isinstance(op, AccessOp) and len(indices) != len(op.region):
                old += op.extents
                op.static_extents, _ = split_mixed([1] * len(indices))
                set_operands(op, [[op.buffer], op.mins, []])
            _set_mins(op, [export_mixed(analyzer, index, builder, sum_type(index)) for index in indices])
        case _:
            raise ValueError(op.name)
    for value in old:
        erase_if_dead(value)


def _set_mins(op: AccessOp | MatchRegionOp, lows: Sequence[Mixed]) -> None:
    op.static_mins, mins = split_mixed(lows)
    layout = [op.dims, op.strides, op.offset] if isinstance(op, MatchRegionOp) else []
    source = op.buffer if isinstance(op, AccessOp) else op.source
    set_operands(op, [[source], mins, op.extents, *layout])


def _follow_space(op: MatchRegionOp, space: Attribute) -> None:
    """Move a view, and views of it, to the memory scope of its source."""
    old = op.type
    if old.memory_space == space:
        return
    view = Rewriter.replace_value_with_new_type(op.buffer, MemRefType(old.element_type, old.shape, old.layout, space))
    for use in list(view.uses):
        if isinstance(use.operation, MatchRegionOp):
            _follow_space(use.operation, space)
