"""The memory of a pointer, as buffers: indexed pointers, `T.load` and `T.store`, arrays of packed functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.diagnostics import Span
from ...core.dtypes import DType, dtype_of, mlir_type
from ...dialects.tir import (
    AllocateConstOp,
    AllocateOp,
    BufferDataOp,
    DeclBufferOp,
    HandleType,
    Mixed,
    constant_value,
    memory_space,
    row_major_strides,
)
from .buffer_arguments import read_shape
from .buffers import register
from .context import ElaborationContext
from .values import BufferValue, Element, Value
from .vocabulary import word


def buffer_of_pointer(context: ElaborationContext, pointer: SSAValue, span: Span) -> BufferValue:
    """The buffer of `p[i]` in v0.9-0.11: a pointer from `T.allocate` is indexed like a buffer of its shape."""
    memory = context.memories.get(pointer)
    if memory is None:
        raise span.error("this pointer has no shape; T.decl_buffer(shape, dtype, data=...) makes a buffer of it")
    return _view(context, pointer, memory.element, memory.shape, pointer, span, memory.scope)


def _view(
    context: ElaborationContext,
    key: SSAValue,
    element: DType,
    shape: Sequence[Mixed],
    source: SSAValue,
    span: Span,
    scope: str,
) -> BufferValue:
    """A buffer over the memory of `source` (a pointer or a buffer), declared once, right after it."""
    view = context.views.get((key, element))
    if view is not None and view.shape == list(shape):
        return view
    with context.builder.at(_point_after(context, source)):
        builder = context.locate(span)
        pointer = source if isinstance(source.type, HandleType) else builder.insert(BufferDataOp(source)).pointer
        name = _name_of(context, source)
        op = builder.insert(DeclBufferOp(name, pointer, mlir_type(element), shape, space=memory_space(scope)))
    buffer = register(context, op, scope)
    del context.namers[op.buffer]
    context.views[key, element] = buffer
    return buffer


def _point_after(context: ElaborationContext, value: SSAValue) -> InsertPoint:
    if isinstance(value.owner, Operation):
        return InsertPoint.after(value.owner)
    if context.symbols:
        return InsertPoint.after(context.symbols[-1][0])
    return InsertPoint.at_start(value.owner)


def _name_of(context: ElaborationContext, value: SSAValue) -> str:
    match value.owner:
        case AllocateOp(var_name=name) | AllocateConstOp(var_name=name):
            return name.data
        case _:
            return context.buffers[value].name if value in context.buffers else "buffer"


def _flat(context: ElaborationContext, pointer: SSAValue, dtype: DType, span: Span) -> BufferValue:
    """The memory of a pointer as a one-dimensional buffer of scalars of `dtype`."""
    element = dtype.scalar
    if isinstance(pointer.owner, BufferDataOp):
        buffer = context.buffers.get(pointer.owner.buffer)
        if buffer is not None and len(buffer.shape) == 1 and buffer.strides is None and buffer.dtype == element:
            return buffer
        if buffer is not None:
            size = _span_of_buffer(buffer, element, span)
            return _view(context, buffer.value, element, [size], buffer.value, span, buffer.scope)
    memory = context.memories.get(pointer)
    if memory is None:
        raise span.error("T.load and T.store through a pointer to memory of unknown size are not supported")
    size = _rescale(known_product(memory.shape, span), memory.element, element)
    return _view(context, pointer, element, [size], pointer, span, memory.scope)


def _span_of_buffer(buffer: BufferValue, element: DType, span: Span) -> Mixed:
    """The number of elements that a buffer spans, gaps included, in units of `element`."""
    if buffer.strides is None and buffer.offset == 0 and len(buffer.shape) == 1 and buffer.dtype == element:
        return buffer.shape[0]
    extents = [known_product([extent], span) for extent in buffer.shape]
    strides = [known_product([s], span) for s in buffer.strides] if buffer.strides else row_major_strides(extents)
    offset = known_product([buffer.offset], span)
    last = sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
    return _rescale(0 if 0 in extents else offset + last + 1, buffer.dtype, element)


def known_product(extents: Sequence[Mixed], span: Span) -> int:
    """The product of extents. A diagnostic unless all of them are known."""
    if not all(isinstance(extent, int) for extent in extents):
        raise span.error("this needs a buffer of known size")
    return prod(cast("Sequence[int]", extents))


def _rescale(count: int, have: DType, want: DType) -> int:
    return count * have.bytes * have.lanes // want.bytes


# ---- accesses


@word("load")
def _load(
    context: ElaborationContext, span: Span, dtype: Value, var: Value, index: Value, predicate: Value = True
) -> Value:
    type = context.dtype(dtype, span)
    buffer = _flat(context, context.pointer(var, span), type, span)
    position = _vector_index(context, index, type, span)
    return context.locate(span).load(buffer.value, [position], predicate_of(context, predicate, span))


@word("store")
def _store(
    context: ElaborationContext, span: Span, var: Value, index: Value, value: Value, predicate: Value = True
) -> Value:
    pointer = context.pointer(var, span)
    position = context.number(index, span)
    if not dtype_of(position.type).is_int:
        raise span.error(f"expected an integer index, got {dtype_of(position.type)}")
    lanes = dtype_of(position.type).lanes
    operand = context.operand(value, span)
    element = dtype_of(operand.type).scalar if isinstance(operand, SSAValue) else _pointee(pointer, span)
    buffer = _flat(context, pointer, element, span)
    if isinstance(operand, SSAValue) and dtype_of(operand.type).lanes not in (1, lanes):
        raise span.error(f"a value of {dtype_of(operand.type).lanes} lanes at an index of {lanes}")
    context.locate(span).store(operand, buffer.value, [position], predicate_of(context, predicate, span))


def _pointee(pointer: SSAValue, span: Span) -> DType:
    element = cast(HandleType, pointer.type).element
    try:
        return dtype_of(element)
    except ValueError:
        raise span.error("expected a pointer to a known type") from None


def _vector_index(context: ElaborationContext, index: Value, dtype: DType, span: Span) -> SSAValue:
    position = context.number(index, span)
    if dtype_of(position.type).lanes != dtype.lanes or not dtype_of(position.type).is_int:
        raise span.error(f"an index of type {dtype_of(position.type)} for a value of type {dtype}")
    return position


def predicate_of(context: ElaborationContext, value: Value, span: Span) -> SSAValue | None:
    """The predicate of an access; None if it is constantly true in all lanes."""
    if value is True or value is None:
        return None
    condition = context.condition(value, span)
    return None if constant_value(condition) == 1 else condition


@word("buffer_store")
def _buffer_store(
    context: ElaborationContext, span: Span, buffer: Value, value: Value, indices: Value, predicate: Value = None
) -> Value:
    target = context.buffer(buffer, span)
    subscripts = tuple(context.index(i, span) for i in (indices if isinstance(indices, list | tuple) else [indices]))
    if predicate is not None:
        raise span.error("T.buffer_store with a predicate is not supported")
    context.store(Element(target, subscripts, span), value, span)


# ---- array arguments of packed functions


@word("tvm_stack_make_shape")
def _make_shape(context: ElaborationContext, span: Span, *extents: Value) -> Value:
    return read_shape(context, list(extents), span)


@word("tvm_stack_make_array")
def _make_array(
    context: ElaborationContext,
    span: Span,
    data: Value,
    shape: Value,
    strides: Value,
    ndim: Value,
    arr_dtype: Value,
    elem_offset: Value,
) -> Value:
    """An array over a pointer: the buffer itself if the array covers all of it, else a newly declared buffer."""
    pointer = context.pointer(data, span)
    extents = read_shape(context, shape, span)
    steps = read_shape(context, strides, span, "strides") if isinstance(strides, list | tuple) else None
    start = context.int_or_value(elem_offset, span)
    match pointer.owner:
        case BufferDataOp(buffer=buffer) if steps is None and start == 0 and _is_whole(buffer, extents):
            return BufferValue(buffer, "array", _element_of(pointer, span), list(extents))
        case _:
            element = mlir_type(_element_of(pointer, span))
            op = DeclBufferOp("array", pointer, element, extents, strides=steps, offset=start)
            return BufferValue(
                context.locate(span).insert(op).buffer, "array", _element_of(pointer, span), list(extents)
            )


def _is_whole(buffer: SSAValue, extents: tuple[Mixed, ...]) -> bool:
    type = buffer.type
    return isinstance(type, MemRefType) and type.get_shape() == extents


def _element_of(pointer: SSAValue, span: Span) -> DType:
    assert isinstance(pointer.type, HandleType)
    if isinstance(pointer.type.element, NoneAttr):
        raise span.error("T.tvm_stack_make_array: expected a pointer that tells what it points to")
    return dtype_of(pointer.type.element)
