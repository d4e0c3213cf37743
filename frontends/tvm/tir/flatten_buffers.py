"""The pass that gives buffers one dimension for each axis of physical memory: `tvm.tir.transform.FlattenBuffer`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ....analysis.index import Analyzer, Lin, export
from ....analysis.names import buffer_name
from ....analysis.regions.access_regions import buffer_shape
from ....core.dtypes import dtype_of
from ....core.walking import find_ops
from ....dialects.tir import (
    AccessOp,
    AllocateOp,
    AllocBufferOp,
    BufferDataOp,
    DeclBufferOp,
    FuncOp,
    LoadOp,
    MatchBufferOp,
    Mixed,
    RampOp,
    StoreOp,
    SymbolOp,
    TirBuilder,
    dimension_groups,
    separators_of,
)
from ....dialects.tir.base import memref_type, split_mixed
from ....dialects.tir.buffers import row_major_strides
from ....dialects.tir.operands import redirect_access, set_operands
from ....dialects.tir.tree import erase_if_dead, erase_statement, is_expression_op
from ....schedule.rewriting.copies import type_of_sums

_LEADING = (SymbolOp, MatchBufferOp, DeclBufferOp, BufferDataOp)
"""The declarations at the start of a function."""


class FlattenBuffersPass(ModulePass):
    """Replaces compact buffers by buffers of one dimension, or of one for each group of dimensions between axis
    separators.

    Memory of the function has these dimensions; a parameter keeps its shape, and is accessed by a buffer of the new
    shape on its memory. A buffer with strides, and one that is used otherwise than by accesses and addresses, stays.
    """

    name = "tvm-flatten-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in list(find_ops(op, FuncOp)):
            _flatten(func)


def _flatten(func: FuncOp) -> None:
    declared = [op.buffer for op in func.walk() if isinstance(op, AllocBufferOp | DeclBufferOp | MatchBufferOp)]
    parameters = [each for each in func.body.block.args if isinstance(each.type, MemRefType)]
    for memory in list(find_ops(func, AllocateOp)):
        _flatten_memory(memory)
    for buffer in [each for each in (*parameters, *declared) if _is_flattened(each)]:
        shape, groups = buffer_shape(buffer), _groups(buffer)
        flat = _flat_buffer(func, buffer, shape, groups)
        for op in [use.operation for use in buffer.uses]:
            if isinstance(op, LoadOp | StoreOp | AccessOp) and op.parent is not None:  # else it was an unused index
                _redirect(op, flat, shape, groups)
        if isinstance(buffer.owner, AllocBufferOp | DeclBufferOp):
            buffer.replace_all_uses_with(flat)
            erase_statement(buffer.owner)


def _groups(buffer: SSAValue) -> list[range]:
    """The groups of the dimensions of a buffer."""
    return dimension_groups(separators_of(buffer), memref_type(buffer).get_num_dims())


def _flatten_memory(op: AllocateOp) -> None:
    """Allocates the same number of elements in one dimension, or in one for each group of the dimensions of a buffer
    that is all of the memory."""
    views = [use.operation for use in op.pointer.uses if isinstance(use.operation, DeclBufferOp)]
    whole = [view.buffer for view in views if view.mixed_shape == op.mixed_extents]
    groups = _groups(whole[0]) if whole else [range(len(op.mixed_extents))]
    if all(len(group) == 1 for group in groups):
        return
    sizes = _sizes(TirBuilder(InsertPoint.before(op), op.location), op.mixed_extents, groups)
    op.static_extents, dynamic = split_mixed(sizes)
    set_operands(op, [dynamic, [] if op.condition is None else [op.condition]])


def _is_flattened(buffer: SSAValue) -> bool:
    type = memref_type(buffer)
    accesses = [use.operation for use in buffer.uses if isinstance(use.operation, LoadOp | StoreOp)]
    return (
        any(len(group) != 1 for group in _groups(buffer))
        and isinstance(type.layout, NoneAttr)
        and bool(accesses)
        and all(isinstance(use.operation, LoadOp | StoreOp | AccessOp | BufferDataOp) for use in buffer.uses)
        and all(_has_places(op, buffer) for op in (use.operation for use in buffer.uses))
    )


def _has_places(op: object, buffer: SSAValue) -> bool:
    """Whether the indices of an access are numbers, the last perhaps those of adjacent elements, and the extents of a
    region are known where shapes are."""
    match op:
        case LoadOp() | StoreOp():
            *outer, last = op.indices or [None]
            lanes = [dtype_of(index.type).lanes for index in outer if index is not None]
            is_ramp = last is None or dtype_of(last.type).lanes == 1 or isinstance(last.owner, RampOp)
            return op.predicate is None and is_ramp and all(count == 1 for count in lanes)
        case AccessOp():
            sizes = [size for _, size in op.region]
            is_static = all(isinstance(extent, int) for extent in (*buffer_shape(buffer), *sizes))
            return is_static or all(size == 1 for size in sizes)
        case _:
            return True


def _flat_buffer(func: FuncOp, buffer: SSAValue, shape: Sequence[Mixed], groups: Sequence[range]) -> SSAValue:
    """The buffer of one dimension for each group of dimensions, on the memory of a buffer."""
    owner, type, name = buffer.owner, memref_type(buffer), buffer_name(buffer)
    is_declared = isinstance(owner, AllocBufferOp | DeclBufferOp)
    place = InsertPoint.before(owner) if is_declared else _after_declarations(func)
    builder = TirBuilder(place, (owner if is_declared else func).location)
    match owner:
        case AllocBufferOp():
            new = owner.copy_with_shape(_sizes(builder, shape, groups), type.memory_space)
            new.separators = range(1, len(groups))
            return builder.insert(new).buffer
        case DeclBufferOp():
            data = owner.data
        case _:
            data, name = builder.insert(BufferDataOp(buffer)).pointer, f"{name}_1"
    sizes, separators = _sizes(builder, shape, groups), range(1, len(groups))
    view = DeclBufferOp(name, data, type.element_type, sizes, space=type.memory_space, axis_separators=separators)
    return builder.insert(view).buffer


def _after_declarations(func: FuncOp) -> InsertPoint:
    """The place after the declarations at the start of a function."""
    last: Operation | None = None
    for op in func.body.block.ops:
        if isinstance(op, _LEADING):
            last = op
        elif not is_expression_op(op):
            break
    return InsertPoint.at_start(func.body.block) if last is None else InsertPoint.after(last)


def _sizes(builder: TirBuilder, shape: Sequence[Mixed], groups: Sequence[range]) -> list[Mixed]:
    """The number of elements of each group of dimensions."""
    return [_product(builder, [shape[n] for n in group]) for group in groups]


def _product(builder: TirBuilder, shape: Sequence[Mixed]) -> Mixed:
    if all(isinstance(extent, int) for extent in shape):
        return prod(extent for extent in shape if isinstance(extent, int))
    size: SSAValue = builder.value(shape[0])
    for extent in shape[1:]:
        size = builder.binary("mul", size, extent)
    return size


def _redirect(op: LoadOp | StoreOp | AccessOp, flat: SSAValue, shape: Sequence[Mixed], groups: Sequence[range]) -> None:
    builder = TirBuilder(InsertPoint.before(op), op.location)
    if isinstance(op, AccessOp):
        box = [_interval(builder, [op.region[n] for n in group], [shape[n] for n in group]) for group in groups]
        builder.insert(AccessOp(op.kind.data, flat, box))
        erase_statement(op)
        return
    old = list(op.indices)
    places = [_place(builder, [old[n] for n in group], [shape[n] for n in group]) for group in groups]
    redirect_access(op, flat, [builder.value(place) for place in places])
    for index in old:
        erase_if_dead(index)


def _interval(builder: TirBuilder, region: Sequence[tuple[Mixed, Mixed]], shape: Sequence[Mixed]) -> tuple[Mixed, int]:
    """The interval of positions that contains a region of a group of dimensions."""
    sizes = [size for _, size in region if isinstance(size, int)]
    span = 1
    if any(size != 1 for size in sizes):  # then all extents are known (`_has_places`)
        span += sum((size - 1) * stride for size, stride in zip(sizes, row_major_strides(shape), strict=True))
    return _position(builder, [low for low, _ in region], shape), span


def _place(builder: TirBuilder, indices: Sequence[SSAValue], shape: Sequence[Mixed]) -> Mixed:
    """The position of an element in a group of dimensions, or those of adjacent elements if the last index is a
    ramp."""
    last = indices[-1] if indices else None
    if last is None or not isinstance(last.owner, RampOp) or dtype_of(last.type).lanes == 1:
        return _position(builder, indices, shape)
    base = builder.value(_position(builder, [*indices[:-1], last.owner.base], shape))
    return builder.ramp(base, last.owner.stride, dtype_of(last.type).lanes)


def _position(builder: TirBuilder, indices: Sequence[Mixed], shape: Sequence[Mixed]) -> Mixed:
    """The position of an element of a group of dimensions in row-major order."""
    if not indices:
        return 0
    analyzer = Analyzer(through_lets=False)
    if all(isinstance(extent, int) for extent in shape[1:]):
        total = Lin()
        for index, stride in zip(indices, row_major_strides(shape), strict=True):
            total = total + analyzer.exact(index) * stride
        type: Attribute = next((each.type for each in indices if isinstance(each, SSAValue)), i32)
        return export(analyzer, total, builder, type_of_sums(analyzer, [total], type))
    position: SSAValue = builder.value(indices[0])
    for index, extent in zip(indices[1:], shape[1:], strict=True):
        position = builder.binary("add", builder.binary("mul", position, extent), index)
    return position
