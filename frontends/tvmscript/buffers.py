"""Buffers: declarations, attributes, and views of the memory behind a pointer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, NoneAttr, StringAttr, TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.diagnostics import Span, did_you_mean
from ...core.dtypes import DType, dtype_of, numpy_dtype, type_of
from ...core.xdsl_compat import hint
from ...dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    BufferDataOp,
    BufferOp,
    DeclBufferOp,
    HandleType,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
    constant_value,
    memory_space,
    row_major_strides,
)
from . import syntax
from .arithmetic import binary
from .context import Context
from .dispatch import evaluate
from .reader import read_expression
from .values import (
    Box,
    Buffer,
    BufferSpec,
    Element,
    Memory,
    Method,
    TypeAnnotation,
    Value,
    ValueFrame,
    Variable,
    describe,
)
from .vocabulary import call_reader, word

_DEFAULT_ALIGNMENTS = (-1, 0, 64)  # TVM aligns its own allocations to 64 bytes


# ---- arguments of declarations


def read_spec(
    context: Context,
    span: Span,
    shape: Value,
    dtype: Value = "float32",
    data: Value = None,
    strides: Value = None,
    elem_offset: Value = None,
    scope: Value = "global",
    align: Value = -1,
    offset_factor: Value = 0,
    buffer_type: Value = "default",
    axis_separators: Value = None,
    name: Value = None,
    layout: Value = None,
) -> BufferSpec:
    """The specification of a buffer from the arguments shared by all declarations."""
    if buffer_type not in ("default", "") or axis_separators or layout not in (None, "default"):
        raise span.error("buffer_type, axis_separators and layout are not supported")
    element = context.type(dtype, span)
    if isinstance(element, HandleType):
        raise span.error("buffers of handles are not supported")
    alignment = context.integer(align, span, "the alignment")
    factor = context.integer(offset_factor, span, "offset_factor")
    extents = read_shape(context, shape, span)
    steps = None if strides is None else read_shape(context, strides, span, "strides") or None
    offset = _offset(context, elem_offset, factor, name, span)
    return BufferSpec(
        shape=extents,
        element=element,
        data=None if data is None else context.pointer(data, span),
        strides=steps or _compact_strides(context, extents, offset, span),
        offset=offset,
        scope=context.string(scope, span, "the scope"),
        alignment=None if alignment in _DEFAULT_ALIGNMENTS else alignment,
        offset_factor=None if factor in (0, 1) else factor,
    )


def _compact_strides(
    context: Context, shape: tuple[Mixed, ...], offset: Mixed | None, span: Span
) -> tuple[Mixed, ...] | None:
    """The strides of a compact buffer that its type does not imply: with an offset and symbolic extents; else None."""
    if offset is None or offset == 0 or all(isinstance(extent, int) for extent in shape[1:]):
        return None
    compact: list[Mixed] = [1]
    for extent in reversed(shape[1:]):
        compact.insert(0, _product(context, compact[0], extent, span))
    return tuple(compact)


def _product(context: Context, lhs: Mixed, rhs: Mixed, span: Span) -> Mixed:
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs * rhs
    return rhs if lhs == 1 else context.locate(span).mul(lhs, rhs)


def _offset(context: Context, value: Value, factor: int, name: Value, span: Span) -> Mixed | None:
    """The element offset; given only an offset_factor, a new variable bound to the argument's offset."""
    if value is not None:
        return dimension(context, value, span)
    if factor == 0:
        return None
    variable = "elem_offset" if name is None else f"{name}_elem_offset"
    return context.variable(Variable(type_of(DType("int", 32)), span, variable))


def read_shape(context: Context, value: Value, span: Span, what: str = "shape") -> tuple[Mixed, ...]:
    """A tuple of extents; a single number is a tuple of one."""
    if isinstance(value, list | tuple):
        return tuple(dimension(context, item, span, what) for item in cast("list[Value]", value))
    if isinstance(value, dict | type(None)) or callable(value):
        raise span.error(f"expected a {what}, got {describe(value)}")
    return (dimension(context, value, span, what),)


def dimension(context: Context, value: Value, span: Span, what: str = "shape") -> Mixed:
    """An extent from a number, an expression, or a string that holds one ("n", "n * 2")."""
    if isinstance(value, str):
        value = _from_string(context, value, span)
    extent = context.mixed(value, span)
    if what == "shape" and isinstance(extent, int) and extent < 0:
        raise span.error(f"extent {extent} of a shape, expected 0 or more")
    return extent


def _from_string(context: Context, text: str, span: Span) -> Value:
    node = read_expression(text, span)
    for name in _names(node):
        if context.scope.find(name.id) is None:
            variable = Variable(type_of(DType("int", 32)), span, name.id)
            context.root_scope.names[name.id] = variable
    return evaluate(context, node)


def _names(node: syntax.Node) -> list[syntax.Name]:
    names = [node] if isinstance(node, syntax.Name) else []
    for child in node.children():
        names += _names(child)
    return names


@word("Buffer", "buffer_decl")
def _buffer(
    context: Context, span: Span, shape: Value, dtype: Value = "float32", data: Value = None, strides: Value = None,
    elem_offset: Value = None, scope: Value = "global", align: Value = -1, offset_factor: Value = 0,
    buffer_type: Value = "default", axis_separators: Value = None, layout: Value = None,
) -> Value:  # fmt: skip
    return read_spec(
        context, span, shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type,
        axis_separators, layout=layout,
    )  # fmt: skip


# ---- declarations


def _register(context: Context, op: BufferOp, scope: str) -> Buffer:
    """The record of a declared buffer, to be renamed after the first variable assigned from the record."""
    element = dtype_of(op.type.element_type)
    buffer = Buffer(
        op.buffer, op.buffer_name.data, element, op.mixed_shape, op.mixed_strides, op.mixed_offset, scope
    )  # fmt: skip
    context.buffers[op.buffer] = buffer

    def rename(name: str) -> None:
        op.buffer_name = StringAttr(name)
        buffer.name = name
        hint(op.buffer, name)

    context.namers[op.buffer] = rename
    return buffer


def _layout(spec: BufferSpec) -> dict[str, Any]:
    return {
        "strides": spec.strides,
        "offset": 0 if spec.offset is None else spec.offset,
        "space": memory_space(spec.scope),
        "alignment": spec.alignment,
        "offset_factor": spec.offset_factor,
    }


def declare(context: Context, span: Span, spec: BufferSpec, name: str = "buffer") -> Buffer:
    """Declares a buffer over the memory of `spec.data`."""
    if spec.data is None:
        raise span.error("T.Buffer in a body needs data=, the memory it looks at")
    op = DeclBufferOp(name, spec.data, spec.element, spec.shape, **_layout(spec))
    return _register(context, context.locate(span).insert(op), spec.scope)


def match_param(context: Context, span: Span, source: SSAValue, spec: BufferSpec, name: str = "buffer") -> Buffer:
    """Declares a buffer over a parameter of the function."""
    if source in context.matched:
        raise span.error(f"this parameter is already the buffer {context.matched[source].name!r}")
    op = MatchBufferOp(name, source, spec.element, spec.shape, **_layout(spec))
    context.matched[source] = buffer = _register(context, context.locate(span).insert(op), spec.scope)
    return buffer


@word("match_buffer")
def _match_buffer(
    context: Context, span: Span, param: Value, shape: Value = None, dtype: Value = None, data: Value = None,
    strides: Value = None, elem_offset: Value = None, scope: Value = "global", align: Value = -1,
    offset_factor: Value = 0, buffer_type: Value = "default", axis_separators: Value = None, layout: Value = None,
) -> Value:  # fmt: skip
    if isinstance(param, Element | Buffer):
        return _match_region(context, span, param, shape, dtype, strides, elem_offset, align, offset_factor)
    if shape is None:
        raise span.error("T.match_buffer: missing argument 'shape'")
    source = _parameter(context, param, span)
    spec = read_spec(
        context, span, shape, "float32" if dtype is None else dtype, data, strides, elem_offset, scope, align,
        offset_factor, buffer_type, axis_separators, layout=layout,
    )  # fmt: skip
    return match_param(context, span, source, spec)


def _parameter(context: Context, value: Value, span: Span) -> SSAValue:
    if isinstance(value, SSAValue) and value in context.block.args:
        if not isinstance(value.type, HandleType):
            raise span.error(f"expected a parameter of type T.handle, got one of type {dtype_of(value.type)}")
        if context.builder.point.block is not context.block:
            raise span.error("T.match_buffer of a parameter belongs at the top of the function")
        return value
    raise span.error(f"expected a parameter of the function or a part of a buffer, got {describe(value)}")


def region_of(context: Context, value: Element | Buffer, span: Span) -> list[tuple[Mixed, Mixed]]:
    """The (minimum, extent) of each dimension of a buffer region."""
    if isinstance(value, Buffer):
        return [(0, extent) for extent in value.shape]
    context.check_rank(value)
    return [_interval(context, index, value.span) for index in value.indices]


def _interval(context: Context, index: Any, span: Span) -> tuple[Mixed, Mixed]:
    if not isinstance(index, Box):
        return context.mixed(index, span), 1
    if index.step != 1:
        raise span.error("a region has no steps")
    return context.mixed(index.low, span), context.mixed(index.extent, span)


def _match_region(
    context: Context, span: Span, source: Element | Buffer, shape: Value, dtype: Value, strides: Value,
    elem_offset: Value, align: Value, factor: Value,
) -> Buffer:  # fmt: skip
    buffer = source if isinstance(source, Buffer) else source.buffer
    region = region_of(context, source, span)
    extents = tuple(extent for _, extent in region) if shape is None else shape
    element = buffer.dtype if dtype is None else dtype
    spec = read_spec(context, span, extents, element, None, strides, elem_offset, "global", align, factor)
    if dtype is not None and dtype_of(spec.element) != buffer.dtype:
        raise span.error(f"buffer {buffer.name!r} holds {buffer.dtype}, got {dtype_of(spec.element)}")
    _check_region_shape(spec.shape, [extent for _, extent in region], span)
    try:
        op = MatchRegionOp(
            "buffer", buffer.value, region, spec.shape, strides=spec.strides, offset=spec.offset or 0,
            alignment=spec.alignment, offset_factor=spec.offset_factor,
        )  # fmt: skip
    except ValueError as error:
        raise span.error(str(error)) from None
    return _register(context, context.locate(span).insert(op), buffer.scope)


def _check_region_shape(shape: Sequence[Mixed], extents: Sequence[Mixed], span: Span) -> None:
    """Checks that the shape equals the extents of the region; leading extents of 1 may be omitted."""
    missing = len(extents) - len(shape)
    if missing < 0 or any(extent != 1 for extent in extents[:missing]):
        raise span.error(f"a region of {len(extents)} dimensions does not match a shape of {len(shape)}")
    for i, (have, want) in enumerate(zip(extents[missing:], shape, strict=True)):
        if isinstance(have, int) and isinstance(want, int) and have != want:
            raise span.error(f"extent {i} of the region is {have}, that of the shape {want}")


@word("alloc_buffer")
def _alloc_buffer(context: Context, span: Span, *args: Value, **keywords: Value) -> Value:
    """`T.alloc_buffer`: up to v0.23 a buffer of the enclosing block; from v0.24 on the former `T.allocate`."""
    if context.module.today:
        return call_reader(_allocate_today, "T.alloc_buffer", context, span, args, keywords)
    return call_reader(_alloc_block_buffer, "T.alloc_buffer", context, span, args, keywords)


def _allocate_today(
    context: Context, span: Span, shape: Value, dtype: Value = "float32", scope: Value = "global",
    annotations: Value = None,
) -> Value:  # fmt: skip
    return _allocate(context, span, shape, dtype, scope, annotations=annotations)


@word("alloc_local")
def _alloc_local(
    context: Context, span: Span, shape: Value, dtype: Value = "float32", annotations: Value = None
) -> Value:
    return _allocate(context, span, shape, dtype, "local", annotations=annotations)


@word("alloc_shared")
def _alloc_shared(
    context: Context, span: Span, shape: Value, dtype: Value = "float32", annotations: Value = None
) -> Value:
    return _allocate(context, span, shape, dtype, "shared", annotations=annotations)


@word("sblock_alloc_buffer")
def _alloc_block_buffer(
    context: Context, span: Span, shape: Value, dtype: Value = "float32", data: Value = None, strides: Value = None,
    elem_offset: Value = None, scope: Value = "global", align: Value = -1, offset_factor: Value = 0,
    buffer_type: Value = "default", axis_separators: Value = None, layout: Value = None,
) -> Value:  # fmt: skip
    if data is not None:
        raise span.error("T.alloc_buffer allocates its own memory, got data")
    if elem_offset is None and offset_factor in (0, 1):
        elem_offset = 0  # a new allocation starts at offset 0
    spec = read_spec(
        context, span, shape, dtype, None, strides, elem_offset, scope, align, offset_factor, buffer_type,
        axis_separators, layout=layout,
    )  # fmt: skip
    op = AllocBufferOp("buffer", spec.element, spec.shape, **_layout(spec))
    with context.builder.at(_owner_point(context)):
        return _register(context, context.locate(span).insert(op), spec.scope)


def _owner_point(context: Context) -> InsertPoint:
    """The insertion point for an allocation: in the innermost block, before the loops that enclose the declaration."""
    owner = context.blocks[-1].body if context.blocks else context.block
    block = context.builder.point.block
    if block is owner:
        return context.builder.point
    while (op := block.parent_op()) is not None and (parent := op.parent) is not None:
        if parent is owner:
            return InsertPoint.before(op)
        block = parent
    return context.builder.point


@word("decl_buffer")
def _decl_buffer(
    context: Context, span: Span, shape: Value, dtype: Value = "float32", data: Value = None, strides: Value = None,
    elem_offset: Value = None, scope: Value = "global", align: Value = -1, offset_factor: Value = 0,
    buffer_type: Value = "default", axis_separators: Value = None, layout: Value = None,
) -> Value:  # fmt: skip
    spec = read_spec(
        context, span, shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type,
        axis_separators, layout=layout,
    )  # fmt: skip

    def write(name: str) -> Buffer:
        if spec.data is not None:
            return declare(context, span, spec, name)
        allocated = AllocateOp(name, spec.shape, HandleType(spec.element, spec.scope))
        pointer = context.locate(span).insert(allocated).pointer
        return declare(context, span, replace(spec, data=pointer), name)

    return ValueFrame(span, write)


@word("allocate")
def _allocate(
    context: Context, span: Span, extents: Value, dtype: Value, scope: Value = "global", condition: Value = None,
    annotations: Value = None,
) -> Value:  # fmt: skip
    shape = read_shape(context, extents, span)
    element = type_of(context.dtype(dtype, span))
    memory_scope = context.string(scope, span, "the scope")
    guard = None if condition is None or condition is True else context.condition(condition, span)
    notes = None if annotations is None else context.attributes(annotations, span)

    def write(name: str) -> SSAValue:
        op = AllocateOp(name, shape, HandleType(element, memory_scope), condition=guard, annotations=notes)
        pointer = context.locate(span).insert(op).pointer
        context.memories[pointer] = Memory(dtype_of(element), shape, memory_scope, cast(Block, op.parent))
        return pointer

    return ValueFrame(span, write)


@word("allocate_const")
def _allocate_const(
    context: Context, span: Span, data: Value, dtype: Value, extents: Value, annotations: Value = None
) -> Value:
    shape = read_shape(context, extents, span)
    type = context.dtype(dtype, span)
    if not all(isinstance(extent, int) for extent in shape):
        raise span.error("T.allocate_const needs a known shape")
    numbers = _numbers(data, type, cast("tuple[int, ...]", shape), span)
    tensor: Any = TensorType(cast(Any, type_of(type)), cast("tuple[int, ...]", shape))
    value = DenseIntOrFPElementsAttr.from_list(tensor, numbers)
    notes = None if annotations is None else context.attributes(annotations, span)

    def write(name: str) -> SSAValue:
        op = AllocateConstOp(name, value, HandleType(type_of(type)), notes)
        pointer = context.locate(span).insert(op).pointer
        context.memories[pointer] = Memory(type, shape, "global", cast(Block, op.parent))
        return pointer

    return ValueFrame(span, write)


def _numbers(data: Value, dtype: DType, shape: tuple[int, ...], span: Span) -> list[Any]:
    try:
        array = np.array(data).reshape(-1)
    except ValueError as error:
        raise span.error(f"T.allocate_const: {error}") from None
    if array.dtype.kind not in "biuf":
        raise span.error("T.allocate_const needs a list of numbers")
    if array.size != prod(shape):
        raise span.error(f"T.allocate_const: {array.size} numbers for {prod(shape)} elements")
    with np.errstate(all="ignore"):
        return array.astype(numpy_dtype(dtype)).tolist()


@word("preflattened_buffer")
def _preflattened_buffer(
    context: Context, span: Span, postflattened: Value, shape: Value, dtype: Value = "float32", data: Value = None,
    strides: Value = None, elem_offset: Value = None, scope: Value = "global", align: Value = -1,
    offset_factor: Value = 0, buffer_type: Value = "default", axis_separators: Value = None,
) -> Value:  # fmt: skip
    """v0.9-0.10: declares the argument with this shape; the body accesses it through an earlier flat buffer."""
    flat = context.buffer(postflattened, span)
    spec = read_spec(context, span, shape, dtype, None, strides, elem_offset, scope, align)
    if list(spec.shape) == flat.shape and dtype_of(spec.element) == flat.dtype and spec.strides is None:
        return None
    old = flat.value.owner
    if not isinstance(old, MatchBufferOp):
        raise span.error("T.preflattened_buffer needs a buffer that is a parameter")
    layout = _layout(replace(spec, scope=flat.scope))
    with context.builder.at(InsertPoint.before(old)):
        builder = context.locate(span)
        whole = builder.insert(MatchBufferOp(flat.name, old.source, spec.element, spec.shape, **layout)).buffer
        pointer = builder.insert(BufferDataOp(whole)).pointer
        view = DeclBufferOp(flat.name, pointer, type_of(flat.dtype), flat.shape, space=memory_space(flat.scope))
        builder.insert(view)
    flat.value.replace_all_uses_with(view.buffer)
    del context.buffers[flat.value]
    old.detach()
    old.erase()
    flat.value = view.buffer
    context.buffers[view.buffer] = flat
    return None


def replace_param(context: Context, index: int, type: Any) -> BlockArgument:
    """Inserts a new parameter before parameter `index`, with the same name; the caller removes the old parameter."""
    new = context.block.insert_arg(type, index)
    hint(new, context.param_names[index])
    return new


# ---- attributes


def data_of(context: Context, buffer: Buffer, span: Span) -> SSAValue:
    return context.locate(span).insert(BufferDataOp(buffer.value)).pointer


def attribute(context: Context, buffer: Buffer, name: str, span: Span) -> Value:
    match name:
        case "data":
            return data_of(context, buffer, span)
        case "shape":
            return list(buffer.shape)
        case "strides":
            return [] if buffer.strides is None else list(buffer.strides)
        case "elem_offset":
            return buffer.offset
        case "dtype":
            return buffer.dtype.name
        case "name":
            return buffer.name
        case "ndim":
            return len(buffer.shape)
        case "scope":
            return lambda: buffer.scope
        case "access_ptr" | "vload" | "vstore" | "view":
            return Method(partial(_METHODS[name], context, span, buffer))
        case _:
            known = [
                "data",
                "shape",
                "strides",
                "elem_offset",
                "dtype",
                "name",
                "scope",
                "access_ptr",
                "vload",
                "vstore",
            ]
            raise span.error(f"buffer {buffer.name!r} has no attribute {name!r}{did_you_mean(name, known)}")


def _access_ptr(
    context: Context, span: Span, buffer: Buffer, access_mask: Value, ptr_type: Value = None, content_lanes: Value = 1,
    offset: Value = 0, extent: Value = None,
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
    data = data_of(context, buffer, span)
    return _pointer(context, span, data, start, extent, _mask(context, access_mask, span), cast(HandleType, data.type))


def _mask(context: Context, mask: Value, span: Span) -> int:
    if isinstance(mask, str):
        if not mask or set(mask) - {"r", "w"}:
            raise span.error(f"access {mask!r}, expected 'r', 'w' or 'rw'")
        return ("r" in mask) + 2 * ("w" in mask)
    number = context.integer(mask, span, "the kind of access")
    if number not in (1, 2, 3):
        raise span.error(f"access {number}, expected 1 (read), 2 (write) or 3 (both)")
    return number


def _pointer(
    context: Context, span: Span, data: SSAValue, offset: Value, extent: Value, access: int, type: HandleType
) -> SSAValue:
    builder = context.locate(span)
    start, length = builder.value(context.index(offset, span)), builder.value(context.index(extent, span))
    return builder.insert(AccessPtrOp(data, start, length, access, type)).pointer


@word("tvm_access_ptr")
def _tvm_access_ptr(
    context: Context, span: Span, ptype: Value, data: Value, offset: Value, extent: Value, rw_mask: Value
) -> Value:
    source = context.pointer(data, span)
    if not isinstance(ptype, TypeAnnotation):
        ptype = TypeAnnotation(context.type(ptype, span))
    type = HandleType(ptype.type, cast(HandleType, source.type).scope.data)
    return _pointer(context, span, source, offset, extent, _mask(context, rw_mask, span), type)


def _vload(
    context: Context, span: Span, buffer: Buffer, begin: Value, dtype: Value = None, predicate: Value = None
) -> Value:
    element = _vector_element(context, span, buffer, begin, dtype)
    return context.load(element, _predicate(context, predicate, span))


def _vstore(context: Context, span: Span, buffer: Buffer, begin: Value, value: Value, predicate: Value = None) -> Value:
    operand = context.number(value, span, buffer.dtype)
    element = _vector_element(context, span, buffer, begin, buffer.dtype.with_lanes(dtype_of(operand.type).lanes))
    context.store(element, operand, span, _predicate(context, predicate, span))


def _vector_element(context: Context, span: Span, buffer: Buffer, begin: Value, dtype: Value) -> Element:
    """The `lanes` elements from `begin` on along the last dimension; a vector as last index selects the elements
    itself.
    """
    starts = [context.operand(i, span) for i in (begin if isinstance(begin, list | tuple) else [begin])]
    type = buffer.dtype if dtype is None else context.dtype(dtype, span)
    if type.scalar != buffer.dtype.scalar or not starts:
        raise span.error(f"buffer {buffer.name!r} holds {buffer.dtype}, got {type}")
    is_vector = isinstance(starts[-1], SSAValue) and dtype_of(starts[-1].type).lanes != 1
    last = starts[-1] if type.lanes == 1 or is_vector else Box(starts[-1], type.lanes)
    return Element(buffer, (*starts[:-1], last), span)


def _view_of(context: Context, span: Span, buffer: Buffer, *shape: Value) -> Value:
    """`A.view(64)` of v0.24: the first elements in another shape, in which one extent may be -1 and is inferred."""
    if buffer.strides is not None or any(isinstance(extent, str) for extent in shape):
        raise span.error("a view of another type, or of a buffer with strides, is not supported")
    extents = [context.mixed(extent, span) for extent in shape]
    total = _known_product(buffer.shape, span) if all(isinstance(x, int) for x in (*buffer.shape, *extents)) else None
    if -1 in extents:
        rest = _known_product([x for x in extents if x != -1], span)
        if total is None or extents.count(-1) > 1 or rest == 0 or total % rest:
            raise span.error("the open extent of this view cannot be computed")
        extents[extents.index(-1)] = total // rest
    if total is not None and _known_product(extents, span) > total:
        raise span.error(f"a view of {_known_product(extents, span)} elements of a buffer of {total}")
    spec = BufferSpec(tuple(extents), type_of(buffer.dtype), data_of(context, buffer, span), scope=buffer.scope)
    return ValueFrame(span, lambda name: declare(context, span, spec, name))


_METHODS: dict[str, Any] = {"access_ptr": _access_ptr, "vload": _vload, "vstore": _vstore, "view": _view_of}
_ATTRIBUTES = ("data", "shape", "strides", "elem_offset", "dtype", "name", "scope", *_METHODS)


@word("address_of")
def _address_of(context: Context, span: Span, buffer_load: Value) -> Value:
    if isinstance(buffer_load, Buffer):
        return data_of(context, buffer_load, span)
    if not isinstance(buffer_load, Element):
        raise span.error(f"expected an element of a buffer, got {describe(buffer_load)}")
    indices = context.vector_indices(buffer_load)
    if any(dtype_of(index.type).lanes != 1 for index in indices):
        indices = [*indices[:-1], cast(Operation, indices[-1].owner).operands[0]]  # the base of a ramp
    return context.locate(span).insert(AddressOfOp(buffer_load.buffer.value, indices)).pointer


# ---- memory behind a pointer, as used from v0.8 to v0.11


def buffer_of_pointer(context: Context, pointer: SSAValue, span: Span) -> Buffer:
    """The buffer of `p[i]` in v0.9-0.11: a pointer from `T.allocate` is indexed like a buffer of its shape."""
    memory = context.memories.get(pointer)
    if memory is None:
        raise span.error("this pointer has no shape; T.decl_buffer(shape, dtype, data=...) makes a buffer of it")
    return _view(context, pointer, memory.element, memory.shape, pointer, span, memory.scope)


def _view(
    context: Context, key: SSAValue, element: DType, shape: Sequence[Mixed], source: SSAValue, span: Span, scope: str
) -> Buffer:
    """A buffer over the memory of `source` (a pointer or a buffer), declared once, right after it."""
    view = context.views.get((key, element))
    if view is not None and view.shape == list(shape):
        return view
    with context.builder.at(_point_after(context, source)):
        builder = context.locate(span)
        pointer = source if isinstance(source.type, HandleType) else builder.insert(BufferDataOp(source)).pointer
        name = _name_of(context, source)
        op = builder.insert(DeclBufferOp(name, pointer, type_of(element), shape, space=memory_space(scope)))
    buffer = _register(context, op, scope)
    del context.namers[op.buffer]
    context.views[key, element] = buffer
    return buffer


def _point_after(context: Context, value: SSAValue) -> InsertPoint:
    if isinstance(value.owner, Operation):
        return InsertPoint.after(value.owner)
    if context.symbols:
        return InsertPoint.after(context.symbols[-1][0])
    return InsertPoint.at_start(value.owner)


def _name_of(context: Context, value: SSAValue) -> str:
    match value.owner:
        case AllocateOp(var_name=name) | AllocateConstOp(var_name=name):
            return name.data
        case _:
            return context.buffers[value].name if value in context.buffers else "buffer"


def _flat(context: Context, pointer: SSAValue, dtype: DType, span: Span) -> Buffer:
    """The memory behind a pointer as a one-dimensional buffer of scalars of `dtype`."""
    element = dtype.scalar
    if isinstance(pointer.owner, BufferDataOp):
        buffer = context.buffers.get(pointer.owner.buffer)
        if buffer is not None and len(buffer.shape) == 1 and buffer.strides is None and buffer.dtype == element:
            return buffer
        if buffer is not None:
            size = _span_of_buffer(context, buffer, element, span)
            return _view(context, buffer.value, element, [size], buffer.value, span, buffer.scope)
    memory = context.memories.get(pointer)
    if memory is None:
        raise span.error("T.load and T.store through a pointer to memory of unknown size are not supported")
    size = _rescale(_known_product(memory.shape, span), memory.element, element, span)
    return _view(context, pointer, element, [size], pointer, span, memory.scope)


def _span_of_buffer(context: Context, buffer: Buffer, element: DType, span: Span) -> Mixed:
    """The number of elements that a buffer spans, gaps included, in units of `element`."""
    if buffer.strides is None and buffer.offset == 0 and len(buffer.shape) == 1 and buffer.dtype == element:
        return buffer.shape[0]
    extents = [_known_product([extent], span) for extent in buffer.shape]
    strides = [_known_product([s], span) for s in buffer.strides] if buffer.strides else row_major_strides(extents)
    offset = _known_product([buffer.offset], span)
    last = sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
    return _rescale(0 if 0 in extents else offset + last + 1, buffer.dtype, element, span)


def _known_product(extents: Sequence[Mixed], span: Span) -> int:
    if not all(isinstance(extent, int) for extent in extents):
        raise span.error("this needs a buffer of known size")
    return prod(cast("Sequence[int]", extents))


def _rescale(count: int, have: DType, want: DType, span: Span) -> int:
    return count * have.bytes * have.lanes // want.bytes


@word("load")
def _load(context: Context, span: Span, dtype: Value, var: Value, index: Value, predicate: Value = True) -> Value:
    type = context.dtype(dtype, span)
    buffer = _flat(context, context.pointer(var, span), type, span)
    position = _vector_index(context, index, type, span)
    return context.locate(span).load(buffer.value, [position], _predicate(context, predicate, span))


@word("store")
def _store(context: Context, span: Span, var: Value, index: Value, value: Value, predicate: Value = True) -> Value:
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
    context.locate(span).store(operand, buffer.value, [position], _predicate(context, predicate, span))


def _pointee(pointer: SSAValue, span: Span) -> DType:
    element = cast(HandleType, pointer.type).element
    try:
        return dtype_of(element)
    except ValueError:
        raise span.error("expected a pointer to a known type") from None


def _vector_index(context: Context, index: Value, dtype: DType, span: Span) -> SSAValue:
    position = context.number(index, span)
    if dtype_of(position.type).lanes != dtype.lanes or not dtype_of(position.type).is_int:
        raise span.error(f"an index of type {dtype_of(position.type)} for a value of type {dtype}")
    return position


def _predicate(context: Context, value: Value, span: Span) -> SSAValue | None:
    """The predicate of an access; None if it is constantly true in all lanes."""
    if value is True or value is None:
        return None
    condition = context.condition(value, span)
    return None if constant_value(condition) == 1 else condition


@word("buffer_store")
def _buffer_store(
    context: Context, span: Span, buffer: Value, value: Value, indices: Value, predicate: Value = None
) -> Value:
    target = context.buffer(buffer, span)
    subscripts = tuple(context.index(i, span) for i in (indices if isinstance(indices, list | tuple) else [indices]))
    if predicate is not None:
        raise span.error("T.buffer_store with a predicate is not supported")
    context.store(Element(target, subscripts, span), value, span)


# ---- array arguments of packed functions


@word("tvm_stack_make_shape")
def _make_shape(context: Context, span: Span, *extents: Value) -> Value:
    return read_shape(context, list(extents), span)


@word("tvm_stack_make_array")
def _make_array(
    context: Context, span: Span, data: Value, shape: Value, strides: Value, ndim: Value, dtype: Value, offset: Value
) -> Value:
    """An array over a pointer: the buffer itself if the array covers all of it, else a newly declared buffer."""
    pointer = context.pointer(data, span)
    extents = read_shape(context, shape, span)
    steps = read_shape(context, strides, span, "strides") if isinstance(strides, list | tuple) else None
    start = context.mixed(offset, span)
    match pointer.owner:
        case BufferDataOp(buffer=buffer) if steps is None and start == 0 and _is_whole(buffer, extents):
            return Buffer(buffer, "array", _element_of(pointer, span), list(extents))
        case _:
            element = type_of(_element_of(pointer, span))
            op = DeclBufferOp("array", pointer, element, extents, strides=steps, offset=start)
            return Buffer(context.locate(span).insert(op).buffer, "array", _element_of(pointer, span), list(extents))


def _is_whole(buffer: SSAValue, extents: tuple[Mixed, ...]) -> bool:
    type = buffer.type
    return isinstance(type, MemRefType) and type.get_shape() == extents


def _element_of(pointer: SSAValue, span: Span) -> DType:
    assert isinstance(pointer.type, HandleType)
    if isinstance(pointer.type.element, NoneAttr):
        raise span.error("T.tvm_stack_make_array: expected a pointer that tells what it points to")
    return dtype_of(pointer.type.element)
