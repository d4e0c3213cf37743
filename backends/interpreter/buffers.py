"""Implementations of ops of `tir` that create buffers and pointers, or access their elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from math import prod
from typing import Any

from xdsl.dialects.builtin import VectorType
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Operation, SSAValue

from ...core.dtypes import dtype_of, numpy_dtype
from ...dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    BufferDataOp,
    BufferOp,
    DeclBufferOp,
    FuncOp,
    LoadOp,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
    StoreOp,
    SymbolOp,
    element_limit,
)
from ...dialects.tir.base import memref_type
from ..oracle.buffers import array_of_allocate_const
from ..oracle.checks import check_elements, match_buffer, memory_behind, pointer
from ..oracle.memory import Fault, Pointer, allocate, compact_strides, constant
from .elements import UNIT, InterpreterBuffer, element_dtype, load_element, store_element
from .regions import evaluate_all_mixed, evaluate_mixed


@register_impls
class BufferFunctions(InterpreterFunctions):
    """Buffers are views of memory that records writes; pointers are positions in a memory."""

    @impl(MatchBufferOp)
    def run_match_buffer(self, interpreter: Interpreter, op: MatchBufferOp, args: PythonValues) -> PythonValues:
        name = op.buffer_name.data
        passed: Any = pointer(args[0]) if isinstance(args[0], int) else args[0]
        limit = element_limit(op)
        if limit is not None:
            check_elements(passed, name, limit)
        strides = None if op.mixed_strides is None else evaluate_all_mixed(interpreter, op.mixed_strides)
        shape = evaluate_all_mixed(interpreter, op.mixed_shape)
        view = match_buffer(passed, name, element_dtype(op, op.type), shape, strides)
        return (InterpreterBuffer.of(view, name),)

    @impl(AllocBufferOp)
    def run_alloc_buffer(self, interpreter: Interpreter, op: AllocBufferOp, args: PythonValues) -> PythonValues:
        shape, strides, offset = _layout(interpreter, op)
        dtype = element_dtype(op, op.type)
        memory = allocate(op.buffer_name.data, dtype, _span(shape, strides) + offset, UNIT)
        return (InterpreterBuffer(memory, dtype, shape, strides, offset, op.buffer_name.data),)

    @impl(AllocateOp)
    def run_allocate(self, interpreter: Interpreter, op: AllocateOp, args: PythonValues) -> PythonValues:
        dtype = dtype_of(op.pointer.type.element)
        count = prod(evaluate_all_mixed(interpreter, op.mixed_extents)) * dtype.lanes
        if op.condition is not None and not evaluate_mixed(interpreter, op.condition):
            count = 0
        return (Pointer(allocate(op.var_name.data, dtype.scalar.name, count, UNIT)),)

    @impl(AllocateConstOp)
    def run_allocate_const(self, interpreter: Interpreter, op: AllocateConstOp, args: PythonValues) -> PythonValues:
        return (Pointer(constant(op.var_name.data, array_of_allocate_const(op), UNIT)),)

    @impl(DeclBufferOp)
    def run_decl_buffer(self, interpreter: Interpreter, op: DeclBufferOp, args: PythonValues) -> PythonValues:
        shape, strides, offset = _layout(interpreter, op)
        dtype = element_dtype(op, op.type)
        size = (_span(shape, strides) + offset) * numpy_dtype(dtype).itemsize
        data = memory_behind(pointer(args[0]), op.buffer_name.data, size)
        offset += data.element(dtype)
        return (InterpreterBuffer(data.memory, dtype, shape, strides, offset, op.buffer_name.data),)

    @impl(MatchRegionOp)
    def run_match_region(self, interpreter: Interpreter, op: MatchRegionOp, args: PythonValues) -> PythonValues:
        source: InterpreterBuffer = args[0]
        mins = evaluate_all_mixed(interpreter, [low for low, _ in op.region])
        missing = len(mins) - op.type.get_num_dims()
        extents = evaluate_all_mixed(interpreter, [extent for _, extent in op.region[missing:]])
        strides = source.strides[missing:]
        offset = source.offset + sum(low * s for low, s in zip(mins, source.strides, strict=True))
        values = [*extents, *(strides if op.mixed_strides is not None else []), offset]
        for symbol, value in zip(declared_layout(op), values, strict=True):
            if isinstance(symbol, SSAValue) and isinstance(symbol.owner, SymbolOp) and _is_bound_by(symbol, op):
                interpreter.set_values([(symbol, value)])
        shape = evaluate_all_mixed(interpreter, op.mixed_shape)
        if shape != extents:
            raise Fault(f"{op.buffer_name.data} has another shape than the region that it matches")
        name = op.buffer_name.data
        return (InterpreterBuffer(source.memory, source.dtype, shape, strides, offset, name, source, mins),)

    # Pointers

    @impl(BufferDataOp)
    def run_buffer_data(self, interpreter: Interpreter, op: BufferDataOp, args: PythonValues) -> PythonValues:
        buffer: InterpreterBuffer = args[0]
        declared: Mixed = memref_type(op.buffer).get_offset() or 0
        if isinstance(op.buffer.owner, BufferOp):
            declared = op.buffer.owner.mixed_offset
        return (_pointer(buffer, buffer.offset - evaluate_mixed(interpreter, declared)),)

    @impl(AddressOfOp)
    def run_address_of(self, interpreter: Interpreter, op: AddressOfOp, args: PythonValues) -> PythonValues:
        buffer, *index = args
        return (_pointer(buffer, buffer.offset + sum(i * s for i, s in zip(index, buffer.strides, strict=True))),)

    @impl(AccessPtrOp)
    def run_access_ptr(self, interpreter: Interpreter, op: AccessPtrOp, args: PythonValues) -> PythonValues:
        data, offset, extent = args
        dtype = dtype_of(op.pointer.type.element)
        size = (offset + extent) * numpy_dtype(dtype).itemsize * dtype.lanes
        base = memory_behind(pointer(data), "access_ptr", size)
        return (base.moved(offset * dtype.lanes, dtype.scalar.name),)

    # Elements

    @impl(LoadOp)
    def run_load(self, interpreter: Interpreter, op: LoadOp, args: PythonValues) -> PythonValues:
        buffer: InterpreterBuffer = args[0]
        if not isinstance(op.result.type, VectorType):
            return (load_element(buffer, evaluate_all_mixed(interpreter, list(op.indices))),)
        dtype = dtype_of(op.result.type)
        zero = 0.0 if dtype.is_float else False if dtype.is_bool else 0
        return ([load_element(buffer, index) if on else zero for index, on in _lanes(interpreter, op)],)

    @impl(StoreOp)
    def run_store(self, interpreter: Interpreter, op: StoreOp, args: PythonValues) -> PythonValues:
        value, buffer = args[:2]
        if not isinstance(op.value.type, VectorType):
            store_element(buffer, evaluate_all_mixed(interpreter, list(op.indices)), value)
            return ()
        for (index, on), lane in zip(_lanes(interpreter, op), value, strict=True):
            if on:
                store_element(buffer, index, lane)
        return ()


def declared_layout(op: BufferOp) -> list[Mixed]:
    """The shape, strides and offset that an op declares for its buffer."""
    return [*op.mixed_shape, *(op.mixed_strides or []), op.mixed_offset]


def _is_bound_by(symbol: SSAValue, op: MatchRegionOp) -> bool:
    """Whether a matched region is the first declaration of a symbol; parameters come before all regions."""
    users = [use.operation for use in symbol.uses]
    if any(isinstance(user, MatchBufferOp) and symbol in declared_layout(user) for user in users):
        return False
    boxes = [user for user in users if isinstance(user, MatchRegionOp) and symbol in declared_layout(user)]
    return boxes == [op] or op is next(inner for inner in _function_of(op).walk() if inner in boxes)


def _function_of(op: Operation) -> Operation:
    while not isinstance(op, FuncOp) and (parent := op.parent_op()) is not None:
        op = parent
    return op


def _layout(interpreter: Interpreter, op: BufferOp) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Shape, strides and offset of a declared buffer."""
    shape = evaluate_all_mixed(interpreter, op.mixed_shape)
    strides = compact_strides(shape) if op.mixed_strides is None else evaluate_all_mixed(interpreter, op.mixed_strides)
    return shape, strides, evaluate_mixed(interpreter, op.mixed_offset)


def _span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The number of elements from the first to the last of a strided buffer, inclusive; 0 for an empty buffer."""
    return sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1 if prod(shape) > 0 else 0


def _pointer(buffer: InterpreterBuffer, element: int) -> Pointer:
    return Pointer(buffer.memory, element * numpy_dtype(buffer.dtype).itemsize)


def _lanes(interpreter: Interpreter, op: LoadOp | StoreOp) -> list[tuple[tuple[int, ...], bool]]:
    """The index of each lane of an access, and whether the lane is active."""
    values = interpreter.get_values(op.indices)
    (count,) = {len(value) for index, value in zip(op.indices, values, strict=True) if _is_vector(index)}
    pairs = zip(op.indices, values, strict=True)
    sides = [value if _is_vector(index) else repeat(value, count) for index, value in pairs]
    on = repeat(True, count) if op.predicate is None else interpreter.get_values([op.predicate])[0]
    return list(zip(zip(*sides, strict=True), on, strict=True))


def _is_vector(value: SSAValue) -> bool:
    return isinstance(value.type, VectorType)
