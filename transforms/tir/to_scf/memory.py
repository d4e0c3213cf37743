"""Buffers, allocations and pointers as memrefs; loads and stores of elements and of vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, llvm, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    VectorType,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....analysis.names import buffer_name
from ....analysis.threads.memories import is_fragment
from ....core.diagnostics import unsupported_op_error
from ....core.dtypes import dtype_of, element_byte_size
from ....dialects.attributes import FRAGMENT_TYPE
from ....dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    BufferDataOp,
    BufferOp,
    DeclBufferOp,
    FreePointerOp,
    LoadOp,
    RampOp,
    StoreOp,
    constant_value,
    memory_space,
)
from ....dialects.tir.base import memref_type
from .casts import lane
from .expressions import emit_select
from .types import I64, lower_type
from .writer import Handlers, Index, LoweredPointer, UpstreamWriter

ALIGNMENT = 64
"""The alignment of all memory in the LLVM emitter, in bytes; a larger alignment must be explicit."""


# Layouts


def _strides(w: UpstreamWriter, shape: Sequence[Index], strides: Sequence[Index] | None) -> list[Index]:
    """The strides in elements; by default the strides of a compact row-major array."""
    if strides is not None:
        return list(strides)
    result: list[Index] = [1]
    for extent in reversed(shape[1:]):
        result.insert(0, w.mul(result[0], extent))
    return result[: len(shape)]


def _layout(w: UpstreamWriter, buffer: SSAValue) -> tuple[list[Index], list[Index], Index]:
    """The (shape, strides, offset) of a buffer, from its declaration."""
    if isinstance(op := buffer.owner, BufferOp):
        shape = [w.index_of(d) for d in op.mixed_shape]
        strides = None if op.mixed_strides is None else [w.index_of(s) for s in op.mixed_strides]
        return shape, _strides(w, shape, strides), w.index_of(op.mixed_offset)
    type = buffer.type
    assert isinstance(type, MemRefType)
    shape: list[Index] = list(type.get_shape())
    if isinstance(layout := type.layout, StridedLayoutAttr):
        known = [int(s.data) for s in layout.strides.data if not isinstance(s, NoneAttr)]
        offset = 0 if isinstance(layout.offset, NoneAttr) else layout.offset.data
        return shape, list(known), offset
    return shape, _strides(w, shape, None), 0


def view(
    w: UpstreamWriter,
    pointer: LoweredPointer,
    type: MemRefType[Attribute],
    shape: Sequence[Index],
    strides: Sequence[Index] | None = None,
    offset: Index = 0,
) -> tuple[SSAValue, LoweredPointer]:
    """The memory of a pointer as a memref with the elements and memory space of `type`, and the pointer in these
    elements.
    """
    element, space = type.element_type, type.memory_space
    base = pointer.base.type
    if not isinstance(base, MemRefType) or base.element_type != element or base.memory_space != space:
        unsized = MemRefType(element, [DYNAMIC_INDEX], NoneAttr(), space)
        pointer = LoweredPointer(w.op(UnrealizedConversionCastOp, w.pointer_value(pointer), type=unsized))
    offset = w.add(pointer.offset, offset)
    identity = strides is None and offset == 0
    steps = _strides(w, shape, strides)
    result = MemRefType(element, _statics(shape), NoneAttr() if identity else _strided_layout(steps, offset), space)
    if identity and _is_all_of(pointer.base, result, shape):
        return pointer.base, pointer
    cast = memref.ReinterpretCastOp.from_dynamic(pointer.base, [offset], shape, steps, result)
    return w.insert(cast).result, pointer


def _is_all_of(buffer: SSAValue, type: MemRefType[Attribute], shape: Sequence[Index]) -> bool:
    """Whether `buffer` already is the compact array of `type` and `shape`."""
    if buffer.type != type:
        return False
    sizes = [n for n in shape if not isinstance(n, int)]
    return not sizes or (isinstance(buffer.owner, memref.AllocOp) and sizes == list(buffer.owner.dynamic_sizes))


def _statics(numbers: Sequence[Index]) -> list[int]:
    return [n if isinstance(n, int) else DYNAMIC_INDEX for n in numbers]


def _strided_layout(strides: Sequence[Index], offset: Index) -> StridedLayoutAttr:
    return StridedLayoutAttr(
        [s if isinstance(s, int) else None for s in strides], offset if isinstance(offset, int) else None
    )


# Declarations and allocations


def allocate_memref(
    w: UpstreamWriter, type: MemRefType[Attribute], sizes: Sequence[Index], alignment: int, stack: bool
) -> SSAValue:
    """Memory for a memref of identity layout until the end of the current region, on the stack or the heap."""
    dynamic = [n for n in sizes if not isinstance(n, int)]
    if w.launched is not None:
        if dynamic:
            raise unsupported_op_error(w.function, f"a kernel allocates memory of a size that is not known: {type}")
        stack = True
    properties = {"alignment": IntegerAttr(alignment, i64)} if alignment > ALIGNMENT else {}
    if stack and not dynamic:
        op = memref.AllocaOp.build(operands=[[], []], result_types=[type], properties=properties)
        return w.on_stack(op).memref
    op = w.insert(memref.AllocOp.build(operands=[dynamic, []], result_types=[type], properties=properties))
    w.free_at_end(op.memref)
    return op.memref


def _alloc_buffer(w: UpstreamWriter, op: AllocBufferOp) -> None:
    type = lower_type(op.type)
    assert isinstance(type, MemRefType)
    stack = op.memory is not None and op.memory.data == "stack"
    alignment = _alignment(op)
    shape = [w.index_of(d) for d in op.mixed_shape]
    if isinstance(type.layout, NoneAttr):
        compact = MemRefType(type.element_type, _statics(shape), NoneAttr(), type.memory_space)
        allocated = allocate_memref(w, compact, shape, alignment, stack)
        owner = allocated.owner
        if w.launched is not None and is_fragment(op.buffer) and isinstance(owner, Operation):
            owner.attributes[FRAGMENT_TYPE] = StringAttr(_fragment_type(w, op))
        w.bind(op.buffer, allocated)
        return
    _, strides, offset = _layout(w, op.buffer)
    size = _extent(w, shape, strides, offset)
    flat = MemRefType(type.element_type, _statics([size]), NoneAttr(), type.memory_space)
    base = allocate_memref(w, flat, [size], alignment, stack)
    w.bind(op.buffer, view(w, LoweredPointer(base), type, shape, strides, offset)[0])


def _fragment_type(w: UpstreamWriter, op: AllocBufferOp) -> str:
    """The type of fragments as text: `16x16x16 row_major`."""
    if op.buffer not in w.fragment_types:
        raise unsupported_op_error(op, f"no shape of the fragments in {op.buffer_name.data}, expected a load or store")
    type = w.fragment_types[op.buffer]
    return " ".join(["x".join(map(str, type.shape)), *filter(None, [type.layout])])


def _alignment(op: BufferOp) -> int:
    """The requested alignment if it is a power of two, else 1 (TVM writes -1 for none)."""
    number = 1 if op.alignment is None else op.alignment.value.data
    return number if number > 0 and number & (number - 1) == 0 else 1


def _extent(w: UpstreamWriter, shape: Sequence[Index], strides: Sequence[Index], offset: Index) -> Index:
    """The number of elements that a strided buffer spans, offset included (an upper bound for empty buffers)."""
    total = w.add(offset, 1)
    for extent, stride in zip(shape, strides, strict=True):
        total = w.add(total, w.mul(w.add(extent, -1), stride))
    if isinstance(total, int):
        return max(total, 0)
    return w.op(arith.MaxSIOp, total, w.index(0))


def _allocate(w: UpstreamWriter, op: AllocateOp) -> None:
    element, space = lower_type(op.pointer.type.element), memory_space(op.pointer.type.scope.data)
    sizes = [w.index_of(e) for e in op.mixed_extents]
    if op.condition is not None and constant_value(op.condition) != 1:
        first = sizes[0] if sizes else 1
        sizes[:1] = [emit_select(w, w.value(op.condition), w.index(first), w.index(0))]
    stack = op.memory is not None and op.memory.data == "stack"
    type = MemRefType(element, _statics(sizes), NoneAttr(), space)
    w.pointers[op.pointer] = LoweredPointer(allocate_memref(w, type, sizes, ALIGNMENT, stack))


def _allocate_const(w: UpstreamWriter, op: AllocateConstOp) -> None:
    value = op.value
    tensor = value.type
    type = lower_type(tensor.element_type)
    shape = tensor.get_shape()
    buffer = MemRefType(type, shape, NoneAttr(), memory_space(op.pointer.type.scope.data))
    signless = DenseIntOrFPElementsAttr(TensorType(type, shape), value.data)  # pyright: ignore[reportArgumentType]
    name = w.module.fresh_symbol(f"{w.function.sym_name.data}.{op.var_name.data}")
    w.pointers[op.pointer] = LoweredPointer(constant_memory(w, name, buffer, signless))


def constant_memory(
    w: UpstreamWriter, name: str, type: MemRefType[Attribute], value: DenseIntOrFPElementsAttr
) -> SSAValue:
    """Defines a global constant array; returns its memref."""
    w.module.add_global(memref.GlobalOp.get(StringAttr(name), type, value, StringAttr("private"), UnitAttr()))
    return w.make(memref.GetGlobalOp, [], [type], {"name": SymbolRefAttr(name)}).memref


def constant_string(w: UpstreamWriter, text: str) -> SSAValue:
    """A pointer to the zero-terminated characters of a text."""
    data = [*text.encode(), 0]
    type = MemRefType(i8, [len(data)])
    value = DenseIntOrFPElementsAttr.from_list(TensorType(i8, [len(data)]), [(b + 128) % 256 - 128 for b in data])
    return w.pointer_value(
        LoweredPointer(constant_memory(w, w.module.fresh_symbol(f"{w.function.sym_name.data}.string"), type, value))
    )


def _decl_buffer(w: UpstreamWriter, op: DeclBufferOp) -> None:
    type = lower_type(op.type)
    assert isinstance(type, MemRefType)
    shape = [w.index_of(d) for d in op.mixed_shape]
    strides = None if op.mixed_strides is None else [w.index_of(s) for s in op.mixed_strides]
    buffer, w.data[op.buffer] = view(w, w.pointer(op.data), type, shape, strides, w.index_of(op.mixed_offset))
    w.bind(op.buffer, buffer)


# Pointers


def data_pointer(w: UpstreamWriter, buffer: SSAValue) -> LoweredPointer:
    """The data pointer of a buffer, relative to which the declared offset of the buffer counts."""
    return w.data.get(buffer) or LoweredPointer(w.memref(buffer))


def pointer_to_element(w: UpstreamWriter, buffer: SSAValue, indices: Sequence[Index]) -> LoweredPointer:
    """The pointer to an element of a buffer."""
    _, strides, offset = _layout(w, buffer)
    for index, stride in zip(indices, strides, strict=True):
        offset = w.add(offset, w.mul(index, stride))
    start = data_pointer(w, buffer)
    return LoweredPointer(start.base, w.add(start.offset, offset))


def _buffer_data(w: UpstreamWriter, op: BufferDataOp) -> None:
    w.pointers[op.pointer] = data_pointer(w, op.buffer)


def _address_of(w: UpstreamWriter, op: AddressOfOp) -> None:
    w.pointers[op.pointer] = pointer_to_element(w, op.buffer, [w.index_of(i) for i in op.indices])


def _access_ptr(w: UpstreamWriter, op: AccessPtrOp) -> None:
    """Lowers pointer arithmetic. The offset counts elements of the result's type."""
    base, offset = w.pointer(op.data), w.index_of(op.offset)
    is_read = base.is_read or op.is_read
    size = element_byte_size(op.pointer.type.element)
    type = base.base.type
    if isinstance(type, MemRefType) and element_byte_size(type.element_type) == size:
        w.pointers[op.pointer] = LoweredPointer(base.base, w.add(base.offset, offset), is_read)
        return
    address = w.op(llvm.PtrToIntOp, w.pointer_value(base), type=I64)
    distance = w.op(arith.IndexCastOp, w.index(w.mul(offset, size)), type=I64)
    w.pointers[op.pointer] = LoweredPointer(
        w.pointer_to(w.op(arith.AddiOp, address, distance), is_read), is_read=is_read
    )


# Elements


def _accessed_memref(w: UpstreamWriter, op: LoadOp | StoreOp) -> SSAValue:
    """The buffer of an access to single elements or lanes; a buffer of vectors has pointers only."""
    if isinstance(memref_type(op.buffer).element_type, VectorType):
        raise unsupported_op_error(op, f"the elements of {buffer_name(op.buffer)} are vectors, expected scalars")
    return w.memref(op.buffer)


def _load(w: UpstreamWriter, op: LoadOp) -> None:
    buffer = _accessed_memref(w, op)
    type = lower_type(op.result.type)
    if isinstance(type, VectorType):
        w.bind(op.result, _load_vector(w, op, buffer, type))
        return
    indices = [w.index(w.index_of(i)) for i in op.indices]
    w.bind(op.result, w.make(memref.LoadOp, [buffer, *indices], [type], {}).res)


def _store(w: UpstreamWriter, op: StoreOp) -> None:
    value, buffer = w.value(op.value), _accessed_memref(w, op)
    if isinstance(value.type, VectorType):
        _store_vector(w, op, value, buffer)
        return
    indices = [w.index(w.index_of(i)) for i in op.indices]
    w.make(memref.StoreOp, [value, buffer, *indices], [], {})


def _contiguous(w: UpstreamWriter, op: LoadOp | StoreOp, buffer: SSAValue) -> list[SSAValue] | None:
    """The indices of the first lane of a vector access if its lanes are contiguous in memory; else None."""
    if _step(op, buffer) != 1:
        return None
    return [w.index(w.index_of(i)) for i in (*op.indices[:-1], _ramp(op).base)]


def _step(op: LoadOp | StoreOp, buffer: SSAValue) -> int:
    """The constant distance in memory of the lanes of a vector access, in elements; 0 for other distances."""
    last = op.indices[-1] if op.indices else None
    if last is None or op.vector_indices != [last] or not isinstance(ramp := last.owner, RampOp):
        return 0
    type = buffer.type
    assert isinstance(type, MemRefType)
    if isinstance(layout := type.layout, StridedLayoutAttr) and layout.strides.data[-1] != IntAttr(1):
        return 0
    step = constant_value(ramp.stride)
    return step if isinstance(step, int) else 0


def _ramp(op: LoadOp | StoreOp) -> RampOp:
    """The last index of a vector access with a constant distance of its lanes."""
    ramp = op.indices[-1].owner
    assert isinstance(ramp, RampOp)
    return ramp


_FARTHEST = 4
"""The greatest distance of the lanes of a vector that is assembled from several vectors."""


def _lane_indices(w: UpstreamWriter, indices: Sequence[SSAValue], lanes: int) -> list[list[SSAValue]]:
    """The indices of each lane of a vector access."""
    sides = [_index_of_lanes(w, index, lanes) for index in indices]
    return [[w.index(side[n]) for side in sides] for n in range(lanes)]


def _index_of_lanes(w: UpstreamWriter, index: SSAValue, lanes: int) -> list[Index]:
    """One index of an access in each lane."""
    if not isinstance(type := index.type, VectorType):
        return [w.index_of(index)] * lanes
    if isinstance(ramp := index.owner, RampOp):
        base, stride = w.index_of(ramp.base), w.index_of(ramp.stride)
        return [w.add(base, w.mul(stride, n)) for n in range(lanes)]
    value = w.value(index)
    return [w.to_index(lane(w, value, n), type.element_type) for n in range(lanes)]


def _load_vector(w: UpstreamWriter, op: LoadOp, buffer: SSAValue, type: VectorType[Attribute]) -> SSAValue:
    """Loads contiguous lanes as a vector, lanes at small distances as several vectors, and others one by one: no faster
    instruction is known on processors of today."""
    indices = _contiguous(w, op, buffer)
    zero = 0.0 if dtype_of(type).is_float else 0
    if indices is not None:
        if op.predicate is None:
            return w.make(vector.LoadOp, [buffer, *indices], [type], {}).result
        mask, rest = w.value(op.predicate), w.constant(zero, type)
        return w.insert(vector.MaskedLoadOp(buffer, indices, mask, rest)).result
    step = _step(op, buffer)
    if op.predicate is None and w.launched is None and 1 < step <= min(_FARTHEST, dtype_of(type).lanes - 1):
        return _load_with_step(w, op, buffer, type, step)
    result = w.constant(zero, type)
    for n, element in enumerate(_lane_indices(w, op.indices, dtype_of(type).lanes)):
        value = _guard(w, op.predicate, n, type.element_type, lambda i=element: w.make(
            memref.LoadOp, [buffer, *i], [type.element_type], {}).res)  # fmt: skip
        result = w.insert(vector.InsertOp(value, result, [n])).result
    return result


def _load_with_step(
    w: UpstreamWriter, op: LoadOp, buffer: SSAValue, type: VectorType[Attribute], step: int
) -> SSAValue:
    """Loads lanes at distances of `step` elements as `step` vectors of contiguous elements: the elements from the first
    lane to the last lane, and no others."""
    lanes = dtype_of(type).lanes
    span = (lanes - 1) * step + 1
    starts = [min(n * lanes, span - lanes) for n in range(step)]
    outer, base = [w.index(w.index_of(i)) for i in op.indices[:-1]], w.index_of(_ramp(op).base)
    vectors = [
        w.make(vector.LoadOp, [buffer, *outer, w.index(w.add(base, start))], [type], {}).result for start in starts
    ]
    result, place = vectors[0], {n: n * step for n in range(lanes) if n * step < lanes}
    for start, loaded in zip(starts[1:], vectors[1:], strict=True):
        here = {n: lanes + n * step - start for n in range(lanes) if start <= n * step < start + lanes}
        mask = DenseArrayBase.from_list(i64, [place.get(n, here.get(n, n)) for n in range(lanes)])
        result = w.insert(vector.ShuffleOp(result, loaded, mask, result_type=type)).result
        place = {n: n for n in place.keys() | here.keys()}
    return result


def _guard(
    w: UpstreamWriter, predicate: SSAValue | None, n: int, type: Attribute, load: Callable[[], SSAValue]
) -> SSAValue:
    """The result of `load` where lane `n` of the predicate is true, else 0."""
    if predicate is None:
        return load()
    blocks: list[Block] = []
    condition = lane(w, w.value(predicate), n)
    for build in (load, lambda: w.constant(0.0 if dtype_of(type).is_float else 0, type)):
        blocks.append(Block())
        with w.inside(blocks[-1]):
            w.end(scf.YieldOp, build())
    return w.make(scf.IfOp, [condition], [type], regions=[Region(b) for b in blocks]).results[0]


def _store_vector(w: UpstreamWriter, op: StoreOp, value: SSAValue, buffer: SSAValue) -> None:
    indices = _contiguous(w, op, buffer)
    if indices is not None:
        if op.predicate is None:
            w.make(vector.StoreOp, [value, buffer, *indices], [], {})
        else:
            w.insert(vector.MaskedStoreOp(buffer, indices, w.value(op.predicate), value))
        return
    for n, element in enumerate(_lane_indices(w, op.indices, dtype_of(value.type).lanes)):
        operands = [lane(w, value, n), buffer, *element]
        if op.predicate is None:
            w.make(memref.StoreOp, operands, [], {})
            continue
        block = Block()
        condition = lane(w, w.value(op.predicate), n)
        with w.inside(block):
            w.make(memref.StoreOp, operands, [], {})
            w.end(scf.YieldOp)
        w.make(scf.IfOp, [condition], regions=[Region(block), Region()])


def _free_pointer(_w: UpstreamWriter, op: FreePointerOp) -> None:
    raise unsupported_op_error(op, f"nothing provides the memory of {op.var_name.data}")


HANDLERS: Handlers = {
    AllocBufferOp: _alloc_buffer,
    AllocateOp: _allocate,
    AllocateConstOp: _allocate_const,
    DeclBufferOp: _decl_buffer,
    FreePointerOp: _free_pointer,
    BufferDataOp: _buffer_data,
    AddressOfOp: _address_of,
    AccessPtrOp: _access_ptr,
    LoadOp: _load,
    StoreOp: _store,
}
