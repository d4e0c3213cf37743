"""Buffers in place of pointers to allocated memory and of views of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.threads.axes import thread_axis_of
from ...core.walking import find_ops
from ...dialects.tir import (
    AccessOp,
    AllocateOp,
    AllocBufferOp,
    BufferDataOp,
    DeclBufferOp,
    FuncOp,
    LoadOp,
    StoreOp,
    TirBuilder,
    memory_space,
)
from ...dialects.tir.operands import redirect_access


def replace_pointers(function: FuncOp) -> None:
    """Replaces pointers to allocated memory by allocated buffers, and views by the buffers that they view, in place, if
    the function has kernels, whose threads may need copies of the buffers.

    This is possible where buffers of the element type of the memory, with static shapes and without strides, view it
    from its first element, and are only loaded and stored; elsewhere pointers and views stay.
    """
    if all(thread_axis_of(op) is None for op in function.walk()):
        return
    for alloc in list(find_ops(function, AllocateOp)):
        _allocate_buffer(alloc)
    for alloc in list(find_ops(function, AllocBufferOp)):
        _replace_views(alloc)


def _allocate_buffer(alloc: AllocateOp) -> None:
    """Replaces a pointer by the data pointer of a buffer, if buffers view it that can be replaced as well."""
    extents, type = alloc.mixed_extents, alloc.pointer.type
    views = [use.operation for use in alloc.pointer.uses]
    sizes = [n for n in extents if isinstance(n, int)]
    if alloc.condition is not None or len(sizes) < len(extents):
        return
    declared = [view for view in views if isinstance(view, DeclBufferOp)]
    if not views or not all(_is_plain_view(view, type.element, prod(sizes)) for view in views):
        return
    shapes = {view.buffer.type.get_shape() for view in declared}
    shape = shapes.pop() if len(shapes) == 1 else (prod(sizes),)
    name = declared[0].buffer_name.data if len(views) == 1 else alloc.var_name.data
    builder = TirBuilder(InsertPoint.before(alloc), alloc.location)
    new = builder.insert(AllocBufferOp(name, type.element, shape, space=memory_space(type.scope.data or "global")))
    new.memory = alloc.memory
    alloc.pointer.replace_all_uses_with(builder.insert(BufferDataOp(new.buffer)).pointer)
    alloc.detach()
    alloc.erase()


def _is_plain_view(op: Operation, element: Attribute, size: int) -> bool:
    """Whether an op views at most `size` elements of a type as a buffer of static shape without strides."""
    if not isinstance(op, DeclBufferOp) or op.type.element_type != element or op.mixed_strides is not None:
        return False
    shape = op.mixed_shape
    return all(isinstance(n, int) for n in shape) and prod(op.type.get_shape()) <= size


def _replace_views(alloc: AllocBufferOp) -> None:
    pointers = [use.operation for use in alloc.buffer.uses if isinstance(use.operation, BufferDataOp)]
    views = [use.operation for pointer in pointers for use in pointer.pointer.uses]
    if not views or not all(isinstance(n, int) for n in alloc.mixed_shape) or alloc.mixed_strides is not None:
        return
    size = prod(alloc.type.get_shape())
    if not all(_is_plain_view(view, alloc.type.element_type, size) for view in views):
        return
    buffers = [view.buffer for view in views if isinstance(view, DeclBufferOp)]
    if any(buffer.type.get_shape() != alloc.type.get_shape() for buffer in buffers):
        uses = [use.operation for buffer in (alloc.buffer, *buffers) for use in buffer.uses]
        if alloc.attributes or not all(op in pointers or _is_scalar(op) for op in uses):
            return
        _flatten(alloc, buffers, size)
    else:
        for buffer in buffers:
            buffer.replace_all_uses_with(alloc.buffer)
    for op in (*views, *pointers):
        op.detach()
        op.erase()
    if not list(alloc.buffer.uses):
        alloc.detach()
        alloc.erase()


def _is_scalar(op: Operation) -> bool:
    """Whether an op accesses single elements of a buffer, or declares an access."""
    if isinstance(op, LoadOp | StoreOp):
        return op.predicate is None and not any(isinstance(index.type, VectorType) for index in op.indices)
    return isinstance(op, AccessOp)


def _flatten(alloc: AllocBufferOp, views: Sequence[SSAValue], size: int) -> None:
    """Replaces a buffer and its views by a buffer of one dimension, as which all of them are loaded and stored."""
    new = alloc.copy_with_shape([size], alloc.type.memory_space)
    new.memory = alloc.memory
    TirBuilder(InsertPoint.before(alloc), alloc.location).insert(new)
    for buffer in (alloc.buffer, *views):
        for op in [use.operation for use in buffer.uses if not isinstance(use.operation, BufferDataOp)]:
            builder = TirBuilder(InsertPoint.before(op), op.location)
            if isinstance(op, LoadOp | StoreOp):
                redirect_access(op, new.buffer, [_position(builder, buffer, op.indices)])
            else:
                op.detach()
                op.erase()


def _position(builder: TirBuilder, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """The index of an element of a compact buffer among its elements in row-major order."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    if not indices:
        return builder.const(0, "int32")
    position = indices[0]
    for index, extent in zip(indices[1:], type.get_shape()[1:], strict=True):
        position = builder.add(builder.mul(position, extent), index)
    return position
