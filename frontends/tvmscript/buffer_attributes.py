"""Attributes and methods of buffers: `A.data`, `A.vload(...)`, and pointers into their memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

from xdsl.ir import Operation, SSAValue

from ...core.diagnostics import Span, did_you_mean
from ...core.dtypes import dtype_of, mlir_type
from ...dialects.tir import AccessPtrOp, AddressOfOp, HandleType
from .arithmetic import binary
from .buffers import buffer_pointer, declare_buffer
from .context import ElaborationContext
from .pointers import known_product, predicate_of
from .values import (
    BufferSpec,
    BufferValue,
    Element,
    Method,
    SliceIndex,
    TypeAnnotation,
    Value,
    ValueFrame,
    describe_value,
)
from .vocabulary import word

_Attribute = Callable[[ElaborationContext, BufferValue, Span], Value]


def _access_ptr(
    context: ElaborationContext, span: Span, buffer: BufferValue, access_mask: Value, ptr_type: Value = None,
    content_lanes: Value = 1, offset: Value = 0, extent: Value = None,
) -> Value:  # fmt: skip
    """`A.access_ptr("rw", offset=...)`."""
    if content_lanes != 1:
        raise span.error("access_ptr with content_lanes is not supported")
    start = binary(context, "+", buffer.offset, offset, span) if buffer.offset != 0 else offset
    if extent is None:
        size: Value = 1
        for side in buffer.shape:
            size = binary(context, "*", size, side, span)
        extent = binary(context, "-", size, offset, span) if offset != 0 else size
    data = buffer_pointer(context, buffer, span)
    return _pointer(context, span, data, start, extent, _mask(context, access_mask, span), cast(HandleType, data.type))


def _mask(context: ElaborationContext, mask: Value, span: Span) -> int:
    if isinstance(mask, str):
        if not mask or set(mask) - {"r", "w"}:
            raise span.error(f"access {mask!r}, expected 'r', 'w' or 'rw'")
        return ("r" in mask) + 2 * ("w" in mask)
    number = context.integer(mask, span, "the kind of access")
    if number not in (1, 2, 3):
        raise span.error(f"access {number}, expected 1 (read), 2 (write) or 3 (both)")
    return number


def _pointer(
    context: ElaborationContext, span: Span, data: SSAValue, offset: Value, extent: Value, access: int, type: HandleType
) -> SSAValue:
    builder = context.locate(span)
    start, length = builder.value(context.index(offset, span)), builder.value(context.index(extent, span))
    return builder.insert(AccessPtrOp(data, start, length, access, type)).pointer


@word("tvm_access_ptr")
def _tvm_access_ptr(
    context: ElaborationContext, span: Span, ptype: Value, data: Value, offset: Value, extent: Value, rw_mask: Value
) -> Value:
    source = context.pointer(data, span)
    if not isinstance(ptype, TypeAnnotation):
        ptype = TypeAnnotation(context.type(ptype, span))
    type = HandleType(ptype.type, cast(HandleType, source.type).scope.data)
    return _pointer(context, span, source, offset, extent, _mask(context, rw_mask, span), type)


@word("address_of")
def _address_of(context: ElaborationContext, span: Span, buffer_load: Value) -> Value:
    if isinstance(buffer_load, BufferValue):
        return buffer_pointer(context, buffer_load, span)
    if not isinstance(buffer_load, Element):
        raise span.error(f"expected an element of a buffer, got {describe_value(buffer_load)}")
    indices = context.vector_indices(buffer_load)
    if any(dtype_of(index.type).lanes != 1 for index in indices[:-1]):
        raise span.error("only the last index can be a vector")
    if indices and dtype_of(indices[-1].type).lanes != 1:
        indices = [*indices[:-1], cast(Operation, indices[-1].owner).operands[0]]  # the base of a ramp
    return context.locate(span).insert(AddressOfOp(buffer_load.buffer.value, indices)).pointer


def _vload(
    context: ElaborationContext,
    span: Span,
    buffer: BufferValue,
    begin: Value,
    dtype: Value = None,
    predicate: Value = None,
) -> Value:
    element = _vector_element(context, span, buffer, begin, dtype)
    return context.load(element, predicate_of(context, predicate, span))


def _vstore(
    context: ElaborationContext, span: Span, buffer: BufferValue, begin: Value, value: Value, predicate: Value = None
) -> Value:
    operand = context.number(value, span, buffer.dtype)
    element = _vector_element(context, span, buffer, begin, buffer.dtype.with_lanes(dtype_of(operand.type).lanes))
    context.store(element, operand, span, predicate_of(context, predicate, span))


def _vector_element(
    context: ElaborationContext, span: Span, buffer: BufferValue, begin: Value, dtype: Value
) -> Element:
    """The `lanes` elements from `begin` on, along the last dimension, or row after row where that is shorter; a vector
    as last index selects the elements itself.
    """
    starts = [context.operand(i, span) for i in (begin if isinstance(begin, list | tuple) else [begin])]
    type = buffer.dtype if dtype is None else context.dtype(dtype, span)
    if type.scalar != buffer.dtype.scalar or not starts:
        raise span.error(f"buffer {buffer.name!r} holds {buffer.dtype}, got {type}")
    is_vector = isinstance(starts[-1], SSAValue) and dtype_of(starts[-1].type).lanes != 1
    if type.lanes == 1 or is_vector:
        return Element(buffer, tuple(starts), span)
    if len(starts) != len(buffer.shape):
        return Element(buffer, (*starts[:-1], SliceIndex(starts[-1], type.lanes)), span)
    extents = [extent if isinstance(extent, int) else None for extent in buffer.shape]
    return Element(buffer, tuple(context.locate(span).ramp_of_rows(starts, type.lanes, extents)), span)


def _view_of(context: ElaborationContext, span: Span, buffer: BufferValue, *shape: Value) -> Value:
    """`A.view(64)` of v0.24: the first elements in another shape, in which one extent may be -1 and is inferred."""
    if buffer.strides is not None or any(isinstance(extent, str) for extent in shape):
        raise span.error("a view of another type, or of a buffer with strides, is not supported")
    extents = [context.int_or_value(extent, span) for extent in shape]
    total = known_product(buffer.shape, span) if all(isinstance(x, int) for x in (*buffer.shape, *extents)) else None
    if -1 in extents:
        rest = known_product([x for x in extents if x != -1], span)
        if total is None or extents.count(-1) > 1 or rest == 0 or total % rest:
            raise span.error("the open extent of this view cannot be computed")
        extents[extents.index(-1)] = total // rest
    if total is not None and known_product(extents, span) > total:
        raise span.error(f"a view of {known_product(extents, span)} elements of a buffer of {total}")
    spec = BufferSpec(
        tuple(extents), mlir_type(buffer.dtype), buffer_pointer(context, buffer, span), scope=buffer.scope
    )
    return ValueFrame(span, lambda name: declare_buffer(context, span, spec, name))


_ATTRIBUTES: dict[str, _Attribute] = {
    "data": buffer_pointer,
    "shape": lambda context, buffer, span: list(buffer.shape),
    "strides": lambda context, buffer, span: list(buffer.strides or ()),
    "elem_offset": lambda context, buffer, span: buffer.offset,
    "dtype": lambda context, buffer, span: buffer.dtype.name,
    "name": lambda context, buffer, span: buffer.name,
    "ndim": lambda context, buffer, span: len(buffer.shape),
    "scope": lambda context, buffer, span: lambda: buffer.scope,
}
_METHODS: dict[str, Callable[..., Value]] = {
    "access_ptr": _access_ptr,
    "vload": _vload,
    "vstore": _vstore,
    "view": _view_of,
}


def attribute(context: ElaborationContext, buffer: BufferValue, name: str, span: Span) -> Value:
    """The value of `buffer.name`."""
    if name in _ATTRIBUTES:
        return _ATTRIBUTES[name](context, buffer, span)
    if name in _METHODS:
        return Method(partial(_METHODS[name], context, span, buffer))
    raise span.error(f"buffer {buffer.name!r} has no attribute {name!r}{did_you_mean(name, (*_ATTRIBUTES, *_METHODS))}")
