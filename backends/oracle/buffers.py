"""Handlers for ops that create buffers and pointers, or access their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...core.dtypes import DType, dtype_of, numpy_dtype
from ...core.errors import UnsupportedError
from ...dialects.tir import (
    DYNAMIC,
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    BufferDataOp,
    BufferOp,
    DeclBufferOp,
    FreePointerOp,
    LetOp,
    LoadOp,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
    StoreOp,
    SymbolOp,
)
from .accesses import PythonBuffer, add_text, as_tuple, compact_row_major, element_address, multiply_text
from .aliases import private_loops
from .context import unsupported
from .expressions import SUM, TERNARY, PythonExpr, call_text, infix, number_text

if TYPE_CHECKING:
    from .functions import FunctionCompiler

_INT64 = DType("int", 64)


def _exprs(f: FunctionCompiler, numbers: Sequence[Mixed]) -> list[PythonExpr]:
    """Sizes as texts that may be repeated."""
    return [
        number_text(n, _INT64) if isinstance(n, int) else f.writer.as_simple(f.writer.value(n), "n") for n in numbers
    ]


def _layout(f: FunctionCompiler, op: BufferOp) -> tuple[list[PythonExpr], list[PythonExpr]]:
    """Shape and strides of a declared buffer."""
    shape = _exprs(f, op.mixed_shape)
    strides = compact_row_major(shape) if op.mixed_strides is None else _exprs(f, op.mixed_strides)
    return shape, [f.writer.as_simple(s, "stride") for s in strides]


def _element(type: MemRefType[Attribute]) -> DType:
    dtype = dtype_of(type.element_type)
    if dtype.lanes != 1:
        raise UnsupportedError(f"the oracle has no buffers of vectors, got {type}")
    return dtype


# Parameters


def bind_buffer_parameter(f: FunctionCompiler, value: SSAValue, name: str, view: str) -> None:
    """Binds a buffer parameter, given the text of its view."""
    type = value.type
    assert isinstance(type, MemRefType)
    strides = None if isinstance(type.layout, NoneAttr) else type.get_strides()
    if DYNAMIC in type.get_shape() or (strides is not None and None in strides):
        raise unsupported(f.func, f"parameter {name} of type {type}, expected a static shape and layout")
    shape = _exprs(f, type.get_shape())
    layout = None if strides is None else _exprs(f, [s for s in strides if s is not None])
    if f.name in f.context.called:
        f.writer.line(f"{view} = {_match_call(view, name, type, shape, layout).text}")
    _bind_buffer(f, value, name, view, type, shape, layout, list(type.get_shape()))


def _match_buffer(f: FunctionCompiler, op: MatchBufferOp) -> None:
    shape = _exprs(f, op.mixed_shape)
    strides = None if op.mixed_strides is None else _exprs(f, op.mixed_strides)
    name = op.buffer_name.data
    view = f.writer.fresh_name(f"{name}_view")
    f.writer.line(f"{view} = {_match_call(f.handles[op.source], name, op.type, shape, strides).text}")
    _bind_buffer(f, op.buffer, name, view, op.type, shape, strides, op.mixed_shape)


def _match_call(
    passed: str,
    name: str,
    type: MemRefType[Attribute],
    shape: Sequence[PythonExpr],
    strides: Sequence[PythonExpr] | None,
) -> PythonExpr:
    layout = "None" if strides is None else as_tuple(strides)
    return call_text("match_buffer", passed, repr(name), repr(_element(type).name), as_tuple(shape), layout)


def _bind_buffer(
    f: FunctionCompiler,
    value: SSAValue,
    name: str,
    view: str,
    type: MemRefType[Attribute],
    shape: Sequence[PythonExpr],
    strides: Sequence[PythonExpr] | None,
    extents: Sequence[Mixed],
) -> None:
    """Binds names to the memory, offset and strides of a buffer argument."""
    memory = f.writer.fresh_name(f"{name}_memory")
    f.writer.line(f"{memory} = {view}.memory")
    offset = PythonExpr("0")
    if f.name in f.context.called:
        offset = PythonExpr(f.writer.fresh_name(f"{name}_offset"))
        f.writer.line(f"{offset.text} = {view}.offset")
    fresh = f.name in f.context.called or not f.context.uninitialized.isdisjoint({name, *_parameter_names(f, value)})
    layout = list(strides) if strides is not None else compact_row_major(shape)
    layout = [f.writer.as_simple(s, "stride") for s in layout]
    buffer = PythonBuffer(name, _element(type), "", memory, shape, layout, offset, extents)
    f.buffers[value] = _with_records(f, value, buffer, fresh)


def _parameter_names(f: FunctionCompiler, value: SSAValue) -> list[str]:
    """The names of the parameter that a buffer matches."""
    source = value.owner.source if isinstance(value.owner, MatchBufferOp) else value
    return [name for name, param in f.func.params if param is source]


def _with_records(f: FunctionCompiler, value: SSAValue, buffer: PythonBuffer, fresh: bool) -> PythonBuffer:
    """`buffer` with names for its elements and the records of its memory. fresh: elements may be uninitialized."""
    w, name = f.writer, buffer.name
    data = w.fresh_name(name)
    w.line(f"{data} = {buffer.memory}.elements({buffer.dtype.name!r})")
    written = writers = None
    if f.context.check and fresh:
        written = w.fresh_name(f"{name}_written")
        w.line(f"{written} = {buffer.memory}.written")
    if value in f.raced:
        writers = w.fresh_name(f"{name}_writers")
        w.line(f"{writers} = {buffer.memory}.track()")
    entries = buffer.itemsize // f.context.unit_of(buffer.dtype)
    return replace(buffer, data=data, written=written, writers=writers, entries=entries)


# Allocations


def _alloc_buffer(f: FunctionCompiler, op: AllocBufferOp) -> None:
    shape, strides = _layout(f, op)
    offset = _exprs(f, [op.mixed_offset])[0]
    count = _product(shape) if op.mixed_strides is None else _span(shape, strides)
    numbers = sorted(f.loops[loop] for loop in private_loops(op) if loop in f.loops)
    memory = _allocate(f, op.buffer_name.data, _element(op.type), add_text(count, offset), numbers)
    buffer = PythonBuffer(op.buffer_name.data, _element(op.type), "", memory, shape, strides, offset, op.mixed_shape)
    f.buffers[op.buffer] = _with_records(f, op.buffer, buffer, fresh=True)


def _product(extents: Sequence[PythonExpr]) -> PythonExpr:
    result = PythonExpr("1")
    for extent in extents:
        result = multiply_text(result, extent)
    return result


def _span(shape: Sequence[PythonExpr], strides: Sequence[PythonExpr]) -> PythonExpr:
    """The number of elements from the first to the last of a strided buffer, inclusive."""
    result = PythonExpr("1")
    for extent, stride in zip(shape, strides, strict=True):
        result = add_text(result, multiply_text(infix(extent, "-", PythonExpr("1"), SUM), stride))
    return result


def _allocate(f: FunctionCompiler, name: str, dtype: DType, count: PythonExpr, private: Sequence[int] = ()) -> str:
    memory = f.writer.fresh_name(f"{name}_memory")
    args = [repr(name), repr(dtype.name), count.text, str(f.context.unit_of(dtype))]
    if private:
        args.append(f"frozenset({list(private)})")
    f.writer.line(f"{memory} = {call_text('allocate', *args).text}")
    return memory


def _allocate_memory(f: FunctionCompiler, op: AllocateOp) -> None:
    dtype = dtype_of(op.pointer.type.element)
    count = multiply_text(_product(_exprs(f, op.mixed_extents)), PythonExpr(str(dtype.lanes)))
    if op.condition is not None:
        count = PythonExpr(f"{count.text} if {f.writer.value(op.condition).parenthesized(TERNARY + 1)} else 0", TERNARY)
    memory = _allocate(f, op.var_name.data, dtype.scalar, count)
    f.writer.set(op.pointer, call_text("Pointer", memory))


def _allocate_const(f: FunctionCompiler, op: AllocateConstOp) -> None:
    dtype = dtype_of(op.value.get_element_type())
    key = f.writer.fresh_name(f"{op.var_name.data}_values")
    key = f"{f.context.names[f.name]}_{key}"
    f.constants[key] = array_of_allocate_const(op)
    memory = f.writer.fresh_name(f"{op.var_name.data}_memory")
    f.writer.line(f"{memory} = constant({op.var_name.data!r}, {key}, {f.context.unit_of(dtype)})")
    f.writer.set(op.pointer, call_text("Pointer", memory))


def array_of_allocate_const(op: AllocateConstOp) -> Any:
    """The elements of a constant."""
    dtype = dtype_of(op.value.get_element_type())
    shape = op.value.get_shape()
    values = list(op.value.get_values())
    if len(values) == 1:
        values = values * prod(shape)
    return np.array(values).astype(numpy_dtype(dtype)).reshape(shape)


# Views


def _decl_buffer(f: FunctionCompiler, op: DeclBufferOp) -> None:
    shape, strides = _layout(f, op)
    offset, name, dtype = _exprs(f, [op.mixed_offset])[0], op.buffer_name.data, _element(op.type)
    w = f.writer
    root = _root(op.data)
    if isinstance(root.owner, AllocateOp | AllocateConstOp):
        memory = w.value(root).text.removeprefix("Pointer(").removesuffix(")")
    else:
        pointer = w.fresh_name(f"{name}_pointer")
        size = multiply_text(add_text(_span(shape, strides), offset), PythonExpr(str(numpy_dtype(dtype).itemsize)))
        w.line(f"{pointer} = {call_text('memory_behind', w.value(op.data), repr(name), size).text}")
        memory = w.fresh_name(f"{name}_memory")
        w.line(f"{memory} = {pointer}.memory")
        offset = w.as_simple(add_text(PythonExpr(f"{pointer}.element({dtype.name!r})"), offset), f"{name}_offset")
    is_constant = isinstance(root.owner, AllocateConstOp)
    buffer = PythonBuffer(name, dtype, "", memory, shape, strides, offset, op.mixed_shape, constant=is_constant)
    buffer = _with_records(f, op.buffer, buffer, fresh=not is_constant)
    if f.context.check and not _is_within_memory(op, root):
        length = w.fresh_name(f"{name}_length")
        w.line(f"{length} = len({buffer.data})")
        buffer = replace(buffer, length=length)
    f.buffers[op.buffer] = buffer


def _root(pointer: SSAValue) -> SSAValue:
    """The pointer that `let` bindings refer to."""
    while isinstance(pointer.owner, LetOp):
        pointer = pointer.owner.value
    return pointer


def _is_within_memory(op: DeclBufferOp, root: SSAValue) -> bool:
    """Whether a declared buffer is known to lie inside its memory."""
    if not isinstance(root.owner, AllocateOp) or root.owner.condition is not None:
        return False
    have, want = _static_count(root.owner.mixed_extents), _static_count(op.mixed_shape)
    if op.mixed_strides is not None or op.mixed_offset != 0 or have is None or want is None:
        return False
    return want * _size(op.type.element_type) <= have * _size(root.owner.pointer.type.element)


def _static_count(extents: Sequence[Mixed]) -> int | None:
    """The number of elements of a static shape; None for a dynamic shape."""
    numbers = [n for n in extents if isinstance(n, int)]
    return prod(numbers) if len(numbers) == len(extents) else None


def _size(element: Attribute) -> int:
    """Bytes of an element; the lanes of a vector are consecutive."""
    dtype = dtype_of(element)
    return numpy_dtype(dtype).itemsize * dtype.lanes


def _match_region(f: FunctionCompiler, op: MatchRegionOp) -> None:
    source = f.buffers[op.source]
    lows = [low for low, _ in op.region]
    low_exprs = _exprs(f, lows)
    offset = f.writer.as_simple(element_address(source, low_exprs), f"{op.buffer_name.data}_offset")
    missing = len(lows) - op.type.get_num_dims()
    extents = _exprs(f, [extent for _, extent in op.region[missing:]])
    strides = list(source.strides[missing:])
    _bind(f, op.mixed_shape, extents)
    if op.mixed_strides is not None:
        _bind(f, op.mixed_strides, strides)
    _bind(f, [op.mixed_offset], [offset])
    shape = _exprs(f, op.mixed_shape)
    differ = [f"{a.text} != {b.text}" for a, b in zip(shape, extents, strict=True) if a.text != b.text]
    if differ and f.context.check:
        with f.writer.block(f"if {' or '.join(differ)}:"):
            f.writer.line(f"fault({f'{op.buffer_name.data} has another shape than the region that it matches'!r})")
    f.buffers[op.buffer] = replace(
        source,
        name=op.buffer_name.data,
        shape=shape,
        strides=strides,
        offset=offset,
        extents=op.mixed_shape,
        source=source,
        mins=lows,
        min_exprs=low_exprs,
    )


def _bind(f: FunctionCompiler, numbers: Sequence[Mixed], exprs: Sequence[PythonExpr]) -> None:
    """Binds symbols that are not bound yet."""
    for number, expr in zip(numbers, exprs, strict=True):
        if isinstance(number, SSAValue) and isinstance(number.owner, SymbolOp) and not f.writer.has_text(number):
            f.writer.set(number, expr)


# Pointers


def _buffer_data(f: FunctionCompiler, op: BufferDataOp) -> None:
    """A pointer to element 0, minus the declared offset."""
    buffer = f.buffers[op.buffer]
    declared = op.buffer.owner.mixed_offset if isinstance(op.buffer.owner, BufferOp) else _static_offset(op.buffer)
    base = _exprs(f, [declared])[0]
    elements = PythonExpr("0") if base.text == buffer.offset.text else infix(buffer.offset, "-", base, SUM)
    _point(f, op.pointer, buffer, elements)


def _static_offset(buffer: SSAValue) -> int:
    assert isinstance(buffer.type, MemRefType)
    return buffer.type.get_offset() or 0


def _address_of(f: FunctionCompiler, op: AddressOfOp) -> None:
    buffer = f.buffers[op.buffer]
    _point(f, op.pointer, buffer, element_address(buffer, [f.writer.value(i) for i in op.indices]))


def _point(f: FunctionCompiler, pointer: SSAValue, buffer: PythonBuffer, elements: PythonExpr) -> None:
    size = PythonExpr(str(buffer.itemsize))
    byte = multiply_text(elements, size)
    f.writer.set(pointer, call_text("Pointer", buffer.memory, *([] if byte.text == "0" else [byte])))


def _access_ptr(f: FunctionCompiler, op: AccessPtrOp) -> None:
    dtype = dtype_of(op.pointer.type.element)
    offset = f.writer.value(op.offset)
    size = multiply_text(add_text(offset, f.writer.value(op.extent)), PythonExpr(str(_size(op.pointer.type.element))))
    data = call_text("memory_behind", f.writer.value(op.data), repr("access_ptr"), size)
    step = multiply_text(offset, PythonExpr(str(dtype.lanes)))
    f.writer.bind(op.pointer, PythonExpr(f"{data.text}.moved({step.text}, {dtype.scalar.name!r})"))


# Elements


def _load(f: FunctionCompiler, op: LoadOp) -> None:
    f.accesses.load(op, f.buffers[op.buffer])


def _store(f: FunctionCompiler, op: StoreOp) -> None:
    f.accesses.store(op, f.buffers[op.buffer])


def _free_pointer(_f: FunctionCompiler, op: FreePointerOp) -> None:
    raise unsupported(op, f"nothing provides the memory of {op.var_name.data}")


HANDLERS: dict[type[Operation], Callable[[FunctionCompiler, Any], None]] = {
    MatchBufferOp: _match_buffer,
    AllocBufferOp: _alloc_buffer,
    AllocateOp: _allocate_memory,
    AllocateConstOp: _allocate_const,
    DeclBufferOp: _decl_buffer,
    FreePointerOp: _free_pointer,
    MatchRegionOp: _match_region,
    BufferDataOp: _buffer_data,
    AddressOfOp: _address_of,
    AccessPtrOp: _access_ptr,
    LoadOp: _load,
    StoreOp: _store,
}
