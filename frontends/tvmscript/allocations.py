"""Allocations: buffers of blocks, and the memory of pointers."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.diagnostics import Span
from ...core.dtypes import DType, dtype_of, mlir_type, numpy_dtype
from ...dialects.tir import AllocateConstOp, AllocateOp, AllocBufferOp, HandleType
from .buffer_arguments import BufferArguments, read_shape, read_spec, takes
from .buffers import layout_of, register
from .context import ElaborationContext
from .values import PointerAllocation, Value, ValueFrame
from .vocabulary import Reader, call_reader, word


@word("alloc_buffer")
def _alloc_buffer(context: ElaborationContext, span: Span, *args: Value, **keywords: Value) -> Value:
    """`T.alloc_buffer`: up to v0.23 a buffer of the enclosing block; from v0.24 on the former `T.allocate`."""
    if context.module.is_current_dialect:
        return call_reader(_allocate_today, "T.alloc_buffer", context, span, args, keywords)
    return call_reader(_alloc_block_buffer, "T.alloc_buffer", context, span, args, keywords)


def _allocate_today(
    context: ElaborationContext, span: Span, shape: Value, dtype: Value = "float32", scope: Value = "global",
    annotations: Value = None,
) -> Value:  # fmt: skip
    return _allocate(context, span, shape, dtype, scope, annotations=annotations)


def _allocate_in(scope: str) -> Reader:
    def read(
        context: ElaborationContext, span: Span, shape: Value, dtype: Value = "float32", annotations: Value = None
    ) -> Value:
        return _allocate(context, span, shape, dtype, scope, annotations=annotations)

    return read


word("alloc_local")(_allocate_in("local"))
word("alloc_shared")(_allocate_in("shared"))


@word("sblock_alloc_buffer")
@takes(BufferArguments)
def _alloc_block_buffer(context: ElaborationContext, span: Span, arguments: BufferArguments) -> Value:
    if arguments.data is not None:
        raise span.error("T.alloc_buffer allocates its own memory, got data")
    if arguments.elem_offset is None and arguments.offset_factor in (0, 1):
        arguments = replace(arguments, elem_offset=0)  # a new allocation starts at offset 0
    spec = read_spec(context, span, arguments)
    op = AllocBufferOp("buffer", spec.element, spec.shape, **layout_of(spec))
    with context.builder.at(_owner_point(context)):
        return register(context, context.locate(span).insert(op), spec.scope)


def _owner_point(context: ElaborationContext) -> InsertPoint:
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


# ---- memory


@word("allocate")
def _allocate(
    context: ElaborationContext, span: Span, extents: Value, dtype: Value, scope: Value = "global",
    condition: Value = None, annotations: Value = None,
) -> Value:  # fmt: skip
    shape = read_shape(context, extents, span)
    element = mlir_type(context.dtype(dtype, span))
    memory_scope = context.string(scope, span, "the scope")
    guard = None if condition is None or condition is True else context.condition(condition, span)
    notes = None if annotations is None else context.attributes(annotations, span)

    def write(name: str) -> SSAValue:
        op = AllocateOp(name, shape, HandleType(element, memory_scope), condition=guard, annotations=notes)
        pointer = context.locate(span).insert(op).pointer
        context.memories[pointer] = PointerAllocation(dtype_of(element), shape, memory_scope, cast(Block, op.parent))
        return pointer

    return ValueFrame(span, write)


@word("allocate_const")
def _allocate_const(
    context: ElaborationContext, span: Span, data: Value, dtype: Value, extents: Value, annotations: Value = None
) -> Value:
    shape = read_shape(context, extents, span)
    type = context.dtype(dtype, span)
    if not all(isinstance(extent, int) for extent in shape):
        raise span.error("T.allocate_const needs a known shape")
    numbers = _numbers(data, type, cast("tuple[int, ...]", shape), span)
    tensor: Any = TensorType(cast(Any, mlir_type(type)), cast("tuple[int, ...]", shape))
    value = DenseIntOrFPElementsAttr.from_list(tensor, numbers)
    notes = None if annotations is None else context.attributes(annotations, span)

    def write(name: str) -> SSAValue:
        op = AllocateConstOp(name, value, HandleType(mlir_type(type)), notes)
        pointer = context.locate(span).insert(op).pointer
        context.memories[pointer] = PointerAllocation(type, shape, "global", cast(Block, op.parent))
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
