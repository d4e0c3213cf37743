"""Declarations of buffers: over parameters, regions, and memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.threads.memories import FRAGMENT
from ...core.diagnostics import Span
from ...core.dtypes import dtype_of, mlir_type
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import (
    AllocateOp,
    BufferDataOp,
    BufferOp,
    DeclBufferOp,
    FreePointerOp,
    HandleType,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
    memory_space,
)
from .buffer_arguments import BufferArguments, MatchArguments, compact_strides, read_spec, takes
from .context import ElaborationContext
from .values import BufferSpec, BufferValue, Element, SliceIndex, Value, ValueFrame, describe_value
from .vocabulary import word


@word("Buffer", "buffer", "buffer_decl")
@takes(BufferArguments)
def _buffer(context: ElaborationContext, span: Span, arguments: BufferArguments) -> Value:
    return read_spec(context, span, arguments)


def register(context: ElaborationContext, op: BufferOp, scope: str) -> BufferValue:
    """The record of a declared buffer, to be renamed after the first variable assigned from the record."""
    element = dtype_of(op.type.element_type)
    buffer = BufferValue(
        op.buffer, op.buffer_name.data, element, op.mixed_shape, op.mixed_strides, op.mixed_offset, scope
    )  # fmt: skip
    context.buffers[op.buffer] = buffer

    def rename(name: str) -> None:
        op.buffer_name = StringAttr(name)
        buffer.name = name
        set_name_hint(op.buffer, name)

    context.namers[op.buffer] = rename
    return buffer


def layout_of(spec: BufferSpec) -> dict[str, Any]:
    """The arguments of buffer ops for the layout of a specification."""
    return {
        "strides": spec.strides,
        "offset": 0 if spec.offset is None else spec.offset,
        "space": memory_space(spec.scope),
        "alignment": spec.alignment,
        "offset_factor": spec.offset_factor,
        "axis_separators": spec.axis_separators,
    }


def declare_buffer(context: ElaborationContext, span: Span, spec: BufferSpec, name: str = "buffer") -> BufferValue:
    """Declares a buffer over the memory of `spec.data`, or over memory that nothing provides."""
    data = spec.data
    if data is None:
        data = context.locate(span).insert(FreePointerOp(name, HandleType(spec.element, spec.scope))).pointer
    op = DeclBufferOp(name, data, spec.element, spec.shape, **layout_of(spec))
    return register(context, context.locate(span).insert(op), spec.scope)


def match_param(
    context: ElaborationContext, span: Span, source: SSAValue, spec: BufferSpec, name: str = "buffer"
) -> BufferValue:
    """Declares a buffer over a parameter of the function."""
    if source in context.matched:
        raise span.error(f"this parameter is already the buffer {context.matched[source].name!r}")
    op = MatchBufferOp(name, source, spec.element, spec.shape, **layout_of(spec))
    context.matched[source] = buffer = register(context, context.locate(span).insert(op), spec.scope)
    return buffer


@word("match_buffer")
@takes(MatchArguments)
def _match_buffer(context: ElaborationContext, span: Span, param: Value, arguments: MatchArguments) -> Value:
    name = "buffer" if arguments.name is None else context.string(arguments.name, span, "the name")
    if isinstance(param, Element | BufferValue):
        return _match_region(context, span, param, arguments, name)
    if arguments.shape is None:
        raise span.error("T.match_buffer: missing argument 'shape'")
    source = _parameter(context, param, span)
    if arguments.dtype is None:
        arguments = replace(arguments, dtype="float32")
    return match_param(context, span, source, read_spec(context, span, arguments), name)


def _parameter(context: ElaborationContext, value: Value, span: Span) -> SSAValue:
    if isinstance(value, SSAValue) and value in context.block.args:
        if not isinstance(value.type, HandleType):
            raise span.error(f"expected a parameter of type T.handle, got one of type {dtype_of(value.type)}")
        if context.builder.point.block is not context.block:
            raise span.error("T.match_buffer of a parameter belongs at the top of the function")
        return value
    raise span.error(f"expected a parameter of the function or a part of a buffer, got {describe_value(value)}")


def region_of(context: ElaborationContext, value: Element | BufferValue) -> list[tuple[Mixed, Mixed]]:
    """The (minimum, extent) of each dimension of a buffer region."""
    if isinstance(value, BufferValue):
        return [(0, extent) for extent in value.shape]
    context.check_rank(value)
    return [_interval(context, index, value.span) for index in value.indices]


def _interval(context: ElaborationContext, index: Any, span: Span) -> tuple[Mixed, Mixed]:
    if not isinstance(index, SliceIndex):
        return context.int_or_value(index, span), 1
    if index.step != 1:
        raise span.error("a region has no steps")
    return context.int_or_value(index.low, span), context.int_or_value(index.extent, span)


def _match_region(
    context: ElaborationContext, span: Span, source: Element | BufferValue, arguments: MatchArguments, name: str
) -> BufferValue:
    buffer = source if isinstance(source, BufferValue) else source.buffer
    region = region_of(context, source)
    arguments_of_view = _arguments_of_region(context, buffer, region, arguments, span)
    spec = read_spec(context, span, arguments_of_view, len(buffer.shape))
    if arguments.dtype is not None and dtype_of(spec.element) != buffer.dtype:
        raise span.error(f"buffer {buffer.name!r} holds {buffer.dtype}, got {dtype_of(spec.element)}")
    _check_region_shape(spec.shape, [extent for _, extent in region], span)
    try:
        op = MatchRegionOp(
            name, buffer.value, region, spec.shape, strides=spec.strides, offset=spec.offset or 0,
            alignment=spec.alignment, offset_factor=spec.offset_factor, axis_separators=spec.axis_separators,
        )  # fmt: skip
    except ValueError as error:
        raise span.error(str(error)) from None
    return register(context, context.locate(span).insert(op), buffer.scope)


def _arguments_of_region(
    context: ElaborationContext,
    buffer: BufferValue,
    region: Sequence[tuple[Mixed, Mixed]],
    arguments: MatchArguments,
    span: Span,
) -> BufferArguments:
    """The arguments of a buffer over a region; the buffer of the region determines its memory.

    A declaration with an offset but without strides has those of the buffer, since its type has to state some; one of
    fragments has those of its shape, as its tiles are not in one matrix in memory.
    """
    shape = tuple(extent for _, extent in region) if arguments.shape is None else arguments.shape
    strides = arguments.strides
    if not strides and (arguments.offset_factor or arguments.elem_offset is not None):
        rank = len(cast("Sequence[Value]", shape)) if isinstance(shape, list | tuple) else 1
        omitted = len(buffer.shape) - rank
        if buffer.scope.startswith(FRAGMENT) and isinstance(shape, list | tuple):
            strides = compact_strides(context, tuple(shape), span)
        elif omitted >= 0:
            strides = _strides_of(context, buffer, span)[omitted:]
    return BufferArguments(
        shape=shape,
        dtype=buffer.dtype if arguments.dtype is None else arguments.dtype,
        strides=strides,
        elem_offset=arguments.elem_offset,
        align=arguments.align,
        offset_factor=arguments.offset_factor,
        axis_separators=arguments.axis_separators,
    )


def _strides_of(context: ElaborationContext, buffer: BufferValue, span: Span) -> tuple[Mixed, ...]:
    """The strides of a buffer in elements; those of a compact buffer may be computed from its shape."""
    shape = tuple(buffer.shape)
    return compact_strides(context, shape, span) if buffer.strides is None else tuple(buffer.strides)


def _check_region_shape(shape: Sequence[Mixed], extents: Sequence[Mixed], span: Span) -> None:
    """Checks that the shape equals the extents of the region; leading extents of 1 may be omitted."""
    missing = len(extents) - len(shape)
    if missing < 0 or any(extent != 1 for extent in extents[:missing]):
        raise span.error(f"a region of {len(extents)} dimensions does not match a shape of {len(shape)}")
    for i, (have, want) in enumerate(zip(extents[missing:], shape, strict=True)):
        if isinstance(have, int) and isinstance(want, int) and have != want:
            raise span.error(f"extent {i} of the region is {have}, that of the shape {want}")


@word("decl_buffer")
@takes(BufferArguments)
def _decl_buffer(context: ElaborationContext, span: Span, arguments: BufferArguments) -> Value:
    spec = read_spec(context, span, arguments)

    def write(name: str) -> BufferValue:
        if spec.data is not None:
            return declare_buffer(context, span, spec, name)
        allocated = AllocateOp(name, spec.shape, HandleType(spec.element, spec.scope))
        pointer = context.locate(span).insert(allocated).pointer
        return declare_buffer(context, span, replace(spec, data=pointer), name)

    return ValueFrame(span, write)


@word("realize")
def _realize(
    context: ElaborationContext, span: Span, buffer_slice: Value, storage_scope: Value = "", condition: Value = True
) -> Value:
    """The memory of a buffer without data, for the rest of the frame."""
    if not isinstance(buffer_slice, Element | BufferValue):
        raise span.error(f"expected a part of a buffer, got {describe_value(buffer_slice)}")
    buffer = buffer_slice if isinstance(buffer_slice, BufferValue) else buffer_slice.buffer
    owner = buffer.value.owner
    if not isinstance(owner, DeclBufferOp) or not (_is_free(owner) or buffer in context.realized):
        raise span.error(f"buffer {buffer.name!r} has memory already")
    if buffer.strides is not None or region_of(context, buffer_slice) != [(0, extent) for extent in buffer.shape]:
        raise span.error("T.realize of a part of a buffer, or of one with strides, is not supported")
    scope = context.string(storage_scope, span, "the scope") or "global"
    guard = None if condition is True else context.condition(condition, span)

    def write(_name: str) -> BufferValue:
        builder, element = context.locate(span), mlir_type(buffer.dtype)
        type = HandleType(element, scope)
        pointer = builder.insert(AllocateOp(f"{buffer.name}_data", buffer.shape, type, condition=guard)).pointer
        new = DeclBufferOp(
            buffer.name, pointer, element, buffer.shape, space=memory_space(scope), axis_separators=owner.separators
        )
        buffer.value = builder.insert(new).buffer
        buffer.scope = scope
        context.buffers[buffer.value] = buffer
        context.realized.append(buffer)
        return buffer

    return ValueFrame(span, write)


def _is_free(op: DeclBufferOp) -> bool:
    """Whether a buffer lies in memory that nothing provides."""
    return isinstance(op.data.owner, FreePointerOp)


@word("preflattened_buffer")
@takes(BufferArguments, without=("layout",))
def _preflattened_buffer(
    context: ElaborationContext, span: Span, postflattened: Value, arguments: BufferArguments
) -> Value:
    """v0.9-0.10: declares the argument with this shape; the body accesses it through an earlier flat buffer."""
    flat = context.buffer(postflattened, span)
    unused = {"data": None, "offset_factor": 0, "buffer_type": "default"}
    spec = read_spec(context, span, replace(arguments, **unused))
    if list(spec.shape) == flat.shape and dtype_of(spec.element) == flat.dtype and spec.strides is None:
        return None
    old = flat.value.owner
    if not isinstance(old, MatchBufferOp):
        raise span.error("T.preflattened_buffer needs a buffer that is a parameter")
    layout = layout_of(replace(spec, scope=flat.scope))
    with context.builder.at(InsertPoint.before(old)):
        builder = context.locate(span)
        whole = builder.insert(MatchBufferOp(flat.name, old.source, spec.element, spec.shape, **layout)).buffer
        pointer = builder.insert(BufferDataOp(whole)).pointer
        view = DeclBufferOp(flat.name, pointer, mlir_type(flat.dtype), flat.shape, space=memory_space(flat.scope))
        builder.insert(view)
    flat.value.replace_all_uses_with(view.buffer)
    del context.buffers[flat.value]
    old.detach()
    old.erase()
    flat.value = view.buffer
    context.buffers[view.buffer] = flat
    return None


def buffer_pointer(context: ElaborationContext, buffer: BufferValue, span: Span) -> SSAValue:
    """The pointer to the memory of a buffer."""
    return context.locate(span).insert(BufferDataOp(buffer.value)).pointer
