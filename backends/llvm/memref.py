"""Lowering of the `memref` dialect: buffers as (pointer, offset, sizes, strides), addresses as inbounds GEPs in 64
bits.

Heap buffers are 64-byte aligned; an allocation that fails (or whose size overflows) is a failure of the function, not
of the process. Copies may overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    Float32Type,
    IntegerAttr,
    MemRefType,
    UnrealizedConversionCastOp,
)
from xdsl.dialects.llvm import IntToPtrOp, LLVMPointerType, PtrToIntOp, ZeroOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...core.dtypes import is_small_float
from ...core.identifiers import symbol_of
from ...dialects.attributes import DISJOINT, PREFETCH, WORKSPACE_MEMORY
from ..runtime.signature import OUT_OF_MEMORY, Failure
from .control import emit_loop
from .function import LlvmFunctionEmitter, Lowerings, MemRef, free, global_symbol, location_suffix, lowering_unsupported
from .prefetch import request_lines
from .small_floats import extend, truncate
from .types import (
    byte_size,
    constant_value_of_operand,
    element_size,
    is_bool,
    is_sub_byte,
    layout_of,
    llvm_memory_type,
    register_type,
)
from .workspace import allocate, hand_back_workspace, part_of_workspace, take_workspace

_ALIGNMENT = 64  # bytes: a cache line, and the widest vector


def _type(value: SSAValue) -> MemRefType:
    return cast(MemRefType, value.type)


def buffer_element_type(value: SSAValue) -> Attribute:
    """The element type of a buffer."""
    return _type(value).element_type


def linear_index(f: LlvmFunctionEmitter, buffer: MemRef, indices: Sequence[str]) -> str:
    """The linear index of an element, in elements from the pointer."""
    position = buffer.offset
    for index, stride in zip(indices, buffer.strides, strict=True):
        position = f.add(position, f.multiply(index, stride))
    return position


def address_of_element(
    f: LlvmFunctionEmitter, buffer: SSAValue, indices: Sequence[SSAValue], *, inbounds: bool = True
) -> str:
    """A pointer to an element of `buffer`. inbounds: the element exists; False where a mask may exclude it."""
    value = f.memref(buffer)
    position = linear_index(f, value, f.operands(indices))
    return element_pointer(f, value.pointer, buffer_element_type(buffer), position, inbounds=inbounds)


def element_pointer(
    f: LlvmFunctionEmitter, pointer: str, type: Attribute, position: str, *, inbounds: bool = True
) -> str:
    if constant_value_of_operand(position) == 0:
        return pointer
    kind = "getelementptr inbounds" if inbounds else "getelementptr"
    return f.emit_value(f"{kind} {llvm_memory_type(type)}, ptr {pointer}, i64 {position}")


def first_element_pointer(f: LlvmFunctionEmitter, buffer: SSAValue) -> str:
    """A pointer to the first element."""
    value = f.memref(buffer)
    return element_pointer(f, value.pointer, buffer_element_type(buffer), value.offset)


def access_suffix(op: Operation, type: Attribute) -> str:
    """The suffix of a load or store by `op` of a value of `type`: alignment, cache hint."""
    alignment = op.attributes.get("alignment")
    bytes_ = alignment.value.data if isinstance(alignment, IntegerAttr) else byte_size(type)
    hint = op.properties.get("nontemporal")
    return f", align {bytes_}" + (", !nontemporal !1" if hint is not None and bool(cast(Any, hint)) else "")


def load_value(f: LlvmFunctionEmitter, type: Attribute, pointer: str, suffix: str, hint: str | None = None) -> str:
    """Loads a value of `type`."""
    return from_memory(f, type, f.emit_value(f"load {llvm_memory_type(type)}, ptr {pointer}{suffix}", hint), hint)


def store_value(f: LlvmFunctionEmitter, type: Attribute, value: str, pointer: str, suffix: str) -> None:
    """Stores a value of `type`."""
    f.emit(f"store {llvm_memory_type(type)} {to_memory(f, type, value)}, ptr {pointer}{suffix}")


def to_memory(f: LlvmFunctionEmitter, type: Attribute, value: str) -> str:
    """A value converted to its type in memory."""
    return (
        f.emit_value(f"zext {register_type(type)} {value} to {llvm_memory_type(type)}") if is_sub_byte(type) else value
    )


def from_memory(f: LlvmFunctionEmitter, type: Attribute, value: str, hint: str | None = None) -> str:
    """A value converted from its type in memory; any byte but 0 is a true i1."""
    kind = llvm_memory_type(type)
    if is_bool(type):
        return f.emit_value(f"icmp ne {kind} {value}, {_zero(kind)}", hint)
    return f.emit_value(f"trunc {kind} {value} to {register_type(type)}", hint) if is_sub_byte(type) else value


def _zero(kind: str) -> str:
    return "zeroinitializer" if kind.startswith("<") else "0"


def _load(f: LlvmFunctionEmitter, op: memref.LoadOp) -> None:
    type, pointer = op.res.type, address_of_element(f, op.memref, op.indices)
    if PREFETCH in op.attributes:
        request_lines(f, op, pointer)
        if not op.res.first_use:
            return
    f.bind(op.res, load_value(f, type, pointer, access_suffix(op, type), op.res.name_hint))


def _store(f: LlvmFunctionEmitter, op: memref.StoreOp) -> None:
    type = op.value.type
    store_value(f, type, f.operand(op.value), address_of_element(f, op.memref, op.indices), access_suffix(op, type))


_ATOMIC = {0: "fadd", 1: "add", 3: "fmaximum", 4: "max", 5: "umax", 6: "fminimum", 7: "min", 8: "umin"}


def _atomic(f: LlvmFunctionEmitter, op: memref.AtomicRMWOp) -> None:
    kind = op.kind.value.data
    if kind not in _ATOMIC or is_sub_byte(op.value.type):
        raise lowering_unsupported(op, f"no atomic operation {kind} on {op.value.type}")
    type, value = register_type(op.value.type), f.operand(op.value)
    pointer = address_of_element(f, op.memref, op.indices)
    if is_small_float(op.value.type):
        f.bind(op.result, _compare_exchange(f, op, pointer, value))
    else:
        f.bind(op.result, f.emit_value(f"atomicrmw {_ATOMIC[kind]} ptr {pointer}, {type} {value} monotonic"))


def _compare_exchange(f: LlvmFunctionEmitter, op: memref.AtomicRMWOp, pointer: str, value: str) -> str:
    """An atomic update by compare-and-exchange, repeated until no other thread has written in between. Returns the
    previous value of the element.
    """
    type, kind = op.value.type, register_type(op.value.type)
    first = f.emit_value(f"load atomic {kind}, ptr {pointer} monotonic, align {byte_size(type)}")
    again, done = f.fresh_label("exchange"), f.fresh_label("exchanged")
    entered = f.current
    f.branch(again)
    f.start_block(again)
    (old,), phis = f.phis([type], [(entered, [first])])
    assert isinstance(old, str)
    new = _combine(f, op, old, value)
    pair = f.emit_value(f"cmpxchg ptr {pointer}, {kind} {old}, {kind} {new} monotonic monotonic")
    current, is_done = (f.emit_value(f"extractvalue {{ {kind}, i1 }} {pair}, {n}") for n in range(2))
    f.close_phis(phis, f.current, [current])
    f.branch_if(is_done, done, again)
    f.start_block(done)
    return current


def _combine(f: LlvmFunctionEmitter, op: memref.AtomicRMWOp, old: str, value: str) -> str:
    """Combines a small float with the one in memory, in f32, and rounds the result."""
    type, f32 = op.value.type, Float32Type()
    wide = [("float", extend(f, each, type, f32)) for each in (old, value)]
    name = _ATOMIC[op.kind.value.data]
    if name == "fadd":
        result = f.emit_value(f"fadd float {wide[0][1]}, {wide[1][1]}")
    else:
        result = f.emit_value(f.intrinsic(name.removeprefix("f"), "float", wide))
    return truncate(f, result, f32, type)


# allocating buffers


def _alignment(op: memref.AllocOp | memref.AllocaOp) -> int:
    return max(_ALIGNMENT, op.alignment.value.data) if op.alignment is not None else _ALIGNMENT


def bind_allocation(f: LlvmFunctionEmitter, op: Operation, buffer: SSAValue, pointer: str, sizes: list[str]) -> None:
    """Binds `buffer`, a result of `op`, to new contiguous memory at `pointer`."""
    if not layout_of(_type(buffer)).identity:
        raise lowering_unsupported(op, f"a new buffer must be contiguous, got {buffer.type}")
    f.bind(buffer, MemRef(pointer, "0", tuple(sizes), f.contiguous_strides(sizes)))


def allocation_sizes(f: LlvmFunctionEmitter, buffer: SSAValue, dynamic_sizes: Sequence[SSAValue]) -> list[str]:
    """The sizes of new memory; the operands are the dynamic sizes of its type."""
    dynamic = iter(f.operands(dynamic_sizes))
    return [next(dynamic) if extent is None else str(extent) for extent in layout_of(_type(buffer)).shape]


def _alloc(f: LlvmFunctionEmitter, op: memref.AllocOp) -> None:
    sizes, alignment = allocation_sizes(f, op.memref, op.dynamic_sizes), _alignment(op)
    failure = str(f.module.failure(out_of_memory(op, op.memref)))
    size = byte_count(f, sizes, element_size(buffer_element_type(op.memref)), alignment, failure)
    is_kept = WORKSPACE_MEMORY in op.attributes
    pointer = (take_workspace if is_kept else allocate)(f, size, alignment, op.memref.name_hint)
    f.check(f.emit_value(f"icmp ne ptr {pointer}, null"), failure)
    f.own(pointer, hand_back_workspace if is_kept else free)
    bind_allocation(f, op, op.memref, pointer, sizes)


def out_of_memory(op: Operation, buffer: SSAValue) -> Failure:
    """The failure of the allocation of a buffer by `op`."""
    extents = [extent for extent in layout_of(_type(buffer)).shape if extent is not None]
    is_known = len(extents) == len(layout_of(_type(buffer)).shape)
    size = f" of {prod(extents) * element_size(buffer_element_type(buffer))} bytes" if is_known else ""
    name = buffer.name_hint or "a buffer"
    return Failure(f"{OUT_OF_MEMORY} {name}{size}{location_suffix(op)}")


def byte_count(f: LlvmFunctionEmitter, sizes: Sequence[str], size: int, alignment: int, failure: str) -> str:
    """The number of bytes to allocate: a positive multiple of the alignment. Exits the function with the status
    `failure` on overflow."""
    dynamic = [operand for operand in sizes if constant_value_of_operand(operand) is None]
    total = str(size)
    for operand in sizes:
        if constant_value_of_operand(operand) is not None:
            total = f.multiply(total, operand)
    for operand in dynamic:
        pair = f.emit_value(
            f.intrinsic("umul.with.overflow", "{ i64, i1 }", [("i64", total), ("i64", operand)], overloads=["i64"])
        )
        total = f.emit_value(f"extractvalue {{ i64, i1 }} {pair}, 0")
        fits = f.emit_value(f"xor i1 {f.emit_value(f'extractvalue {{ i64, i1 }} {pair}, 1')}, true")
        f.check(fits, failure)
    known = constant_value_of_operand(total)
    if known is not None:
        return str(min(max(1, -(-known // alignment)) * alignment, 2**63 - alignment))
    least = f.emit_value(f.intrinsic("umax", "i64", [("i64", total), ("i64", "1")]))
    rounded = f.emit_value(f"and i64 {f.emit_value(f'add i64 {least}, {alignment - 1}')}, {-alignment}")
    wrapped = f.emit_value(f"icmp ult i64 {rounded}, {least}")
    return f.emit_value(f"select i1 {wrapped}, i64 {-alignment}, i64 {rounded}")


def release_allocation(f: LlvmFunctionEmitter, op: Operation, buffer: SSAValue) -> None:
    """Emits the release of the memory of `buffer` by `op`."""
    if not f.release(f.memref(buffer).pointer):
        raise lowering_unsupported(op, "the buffer must come from an allocation of the same function")


def _dealloc(f: LlvmFunctionEmitter, op: memref.DeallocOp) -> None:
    release_allocation(f, op, op.memref)


def _alloca(f: LlvmFunctionEmitter, op: memref.AllocaOp) -> None:
    """A buffer of static size is allocated once, in the entry block, even in a loop."""
    sizes, kind = allocation_sizes(f, op.memref, op.dynamic_sizes), llvm_memory_type(buffer_element_type(op.memref))
    count = f.product(sizes)
    if constant_value_of_operand(count) is not None:
        text = f"alloca [{count} x {kind}], align {_alignment(op)}"
        pointer = f.emit_in_entry(text, f.module.stack_name(op))
    else:
        f.use_stack()
        pointer = f.emit_value(f"alloca {kind}, i64 {count}, align {_alignment(op)}", op.memref.name_hint)
    bind_allocation(f, op, op.memref, pointer, sizes)


def _get_global(f: LlvmFunctionEmitter, op: memref.GetGlobalOp) -> None:
    sizes = [str(extent) for extent in layout_of(_type(op.memref)).shape]
    pointer = global_symbol(global_name(op.name_.string_value()))
    f.bind(op.memref, MemRef(pointer, "0", tuple(sizes), f.contiguous_strides(sizes)))


def global_name(name: str) -> str:
    """The name in LLVM IR of the `memref.global` called `name`."""
    return symbol_of("global", name)


# querying buffers


def _dim(f: LlvmFunctionEmitter, op: memref.DimOp) -> None:
    sizes, index = f.memref(op.source).sizes, f.operand(op.index)
    literal = constant_value_of_operand(index)
    if literal is not None:
        if not 0 <= literal < len(sizes):
            raise lowering_unsupported(op, f"dimension {literal} of a buffer of rank {len(sizes)}")
        f.bind(op.result, sizes[literal])
        return
    chosen = sizes[-1] if sizes else "0"
    for axis, size in enumerate(sizes[:-1]):
        is_axis = f.emit_value(f"icmp eq i64 {index}, {axis}")
        chosen = f.emit_value(f"select i1 {is_axis}, i64 {size}, i64 {chosen}")
    f.bind(op.result, chosen)


def _rank(f: LlvmFunctionEmitter, op: memref.RankOp) -> None:
    f.bind(op.rank, str(len(f.memref(op.source).sizes)))


def _extract_pointer(f: LlvmFunctionEmitter, op: memref.ExtractAlignedPointerAsIndexOp) -> None:
    f.define(op.aligned_pointer, f"ptrtoint ptr {f.memref(op.source).pointer} to i64")


def _extract_metadata(f: LlvmFunctionEmitter, op: memref.ExtractStridedMetaDataOp) -> None:
    source = f.memref(op.source)
    f.bind(op.base_buffer, MemRef(source.pointer, "0", (), ()))
    f.bind(op.offset, source.offset)
    for result, part in zip((*op.sizes, *op.strides), source.sizes + source.strides, strict=True):
        f.bind(result, part)


# views


def _prefer_static(statics: Sequence[int | None], operands: Sequence[str]) -> tuple[str, ...]:
    """`operands`, replaced by constants where the type is static."""
    return tuple(operand if static is None else str(static) for static, operand in zip(statics, operands, strict=True))


def with_static_layout(buffer: MemRef, type: MemRefType) -> MemRef:
    """`buffer` with the static sizes, strides and offset of `type`."""
    layout = layout_of(type)
    offset = buffer.offset if layout.offset is None else str(layout.offset)
    strides = buffer.strides if layout.identity else _prefer_static(layout.strides, buffer.strides)
    return MemRef(buffer.pointer, offset, _prefer_static(layout.shape, buffer.sizes), strides)


def _cast(f: LlvmFunctionEmitter, op: memref.CastOp | memref.MemorySpaceCastOp) -> None:
    if not isinstance(op.dest.type, MemRefType):
        raise lowering_unsupported(op, f"cannot cast to {op.dest.type}")
    f.bind(op.dest, with_static_layout(f.memref(op.source), op.dest.type))


def _mixed_values(f: LlvmFunctionEmitter, statics: DenseArrayBase[Any], operands: Sequence[SSAValue]) -> list[str]:
    """The values of MLIR's mixed list: static values, and operands for dynamic ones."""
    dynamic = iter(f.operands(operands))
    return [next(dynamic) if value == DYNAMIC_INDEX else str(value) for value in statics.get_values()]


def _subview(f: LlvmFunctionEmitter, op: memref.SubviewOp) -> None:
    source, type = f.memref(op.source), op.result.type
    offsets = _mixed_values(f, op.static_offsets, op.offsets)
    sizes = _mixed_values(f, op.static_sizes, op.sizes)
    strides = [
        f.multiply(a, b) for a, b in zip(_mixed_values(f, op.static_strides, op.strides), source.strides, strict=True)
    ]
    kept = _kept_dimensions(sizes, type.get_shape())
    f.bind(
        op.result,
        with_static_layout(
            MemRef(
                source.pointer,
                linear_index(f, source, offsets),
                tuple(sizes[d] for d in kept),
                tuple(strides[d] for d in kept),
            ),
            type,
        ),
    )


def _kept_dimensions(sizes: Sequence[str], shape: Sequence[int]) -> list[int]:
    """The dimensions of a subview that its result keeps: dimensions of size 1 may be dropped."""
    kept: list[int] = []
    spare = len(sizes) - len(shape)
    for axis, size in enumerate(sizes):
        wanted = shape[len(kept)] if len(kept) < len(shape) else None
        if spare and size == "1" and wanted != 1:
            spare -= 1
        elif spare and wanted is None:
            spare -= 1
        else:
            kept.append(axis)
    return kept


def _reinterpret_cast(f: LlvmFunctionEmitter, op: memref.ReinterpretCastOp) -> None:
    offset = _mixed_values(f, op.static_offsets, op.offsets)[0]
    sizes = _mixed_values(f, op.static_sizes, op.sizes)
    strides = _mixed_values(f, op.static_strides, op.strides)
    buffer = MemRef(f.memref(op.source).pointer, offset, tuple(sizes), tuple(strides))
    f.bind(op.result, with_static_layout(buffer, op.result.type))


def _view(f: LlvmFunctionEmitter, op: memref.ViewOp) -> None:
    if DISJOINT in op.attributes:
        pointer = part_of_workspace(f, first_element_pointer(f, op.source), f.operand(op.byte_shift))
    else:
        pointer = element_pointer(
            f, first_element_pointer(f, op.source), buffer_element_type(op.source), f.operand(op.byte_shift)
        )
    dynamic = iter(f.operands(op.sizes))
    shape = layout_of(op.result.type).shape
    sizes = [next(dynamic) if extent is None else str(extent) for extent in shape]
    f.bind(op.result, MemRef(pointer, "0", tuple(sizes), f.contiguous_strides(sizes)))


def _copy(f: LlvmFunctionEmitter, op: memref.CopyOp) -> None:
    source, target = f.memref(op.source), f.memref(op.destination)
    if all(layout_of(_type(value)).identity for value in op.operands):
        size = f.multiply(f.product(source.sizes), str(element_size(buffer_element_type(op.source))))
        to, from_ = first_element_pointer(f, op.destination), first_element_pointer(f, op.source)
        f.emit(
            f.intrinsic(
                "memmove",
                "void",
                [("ptr", to), ("ptr", from_), ("i64", size), ("i1", "false")],
                overloads=["ptr", "ptr", "i64"],
            )
        )
    else:
        _copy_elements(f, buffer_element_type(op.source), source, target, [])


def _copy_elements(f: LlvmFunctionEmitter, type: Attribute, source: MemRef, target: MemRef, indices: list[str]) -> None:
    """Copies elements by one loop per dimension from `len(indices)` on."""
    if len(indices) < len(source.sizes):
        emit_loop(
            f,
            "i64",
            ("0", source.sizes[len(indices)], "1"),
            [],
            [],
            lambda index, _: _copy_elements(f, type, source, target, [*indices, index]) or [],
            work=_work_of_copy(source.sizes[len(indices) + 1 :]),
        )
        return
    kind, suffix = llvm_memory_type(type), f", align {byte_size(type)}"
    from_, to = (
        element_pointer(f, buffer.pointer, type, linear_index(f, buffer, indices)) for buffer in (source, target)
    )
    f.emit(f"store {kind} {f.emit_value(f'load {kind}, ptr {from_}{suffix}')}, ptr {to}{suffix}")


def _work_of_copy(sizes: Sequence[str]) -> float:
    """The work of a copy of the elements of some dimensions, infinite for dynamic sizes."""
    extents = map(constant_value_of_operand, sizes)
    return 4 * prod(inf if extent is None else max(1, extent) for extent in extents)


# pointers


def _conversion_cast(f: LlvmFunctionEmitter, op: UnrealizedConversionCastOp) -> None:
    if len(op.operands) != 1 or len(op.results) != 1:
        raise lowering_unsupported(op, "only one value can be turned into one")
    (source,), (result,) = op.operands, op.results
    if isinstance(source.type, MemRefType) and isinstance(result.type, LLVMPointerType):
        f.bind(result, first_element_pointer(f, source))
    elif isinstance(source.type, LLVMPointerType) and isinstance(result.type, MemRefType):
        f.bind(result, _buffer_at_pointer(f, op, f.operand(source), result.type))
    elif not isinstance(source.type, MemRefType) and register_type(source.type) == register_type(result.type):
        f.bind(result, f.operand(source))
    else:
        raise lowering_unsupported(op, f"cannot turn {source.type} into {result.type}")


def _buffer_at_pointer(f: LlvmFunctionEmitter, op: Operation, pointer: str, type: MemRefType) -> MemRef:
    layout = layout_of(type)
    if not layout.identity:
        raise lowering_unsupported(op, f"a pointer can become a contiguous buffer only, got {type}")
    # The size is unknown: only a memref.reinterpret_cast, which provides sizes, may use the buffer.
    sizes = ["poison" if extent is None else str(extent) for extent in layout.shape]
    return MemRef(pointer, "0", tuple(sizes), f.contiguous_strides(sizes))


def _int_to_ptr(f: LlvmFunctionEmitter, op: IntToPtrOp) -> None:
    f.define(op.output, f"inttoptr {register_type(op.input.type)} {f.operand(op.input)} to ptr")


def _ptr_to_int(f: LlvmFunctionEmitter, op: PtrToIntOp) -> None:
    f.define(op.output, f"ptrtoint ptr {f.operand(op.input)} to {register_type(op.output.type)}")


def _null(f: LlvmFunctionEmitter, op: ZeroOp) -> None:
    kind = register_type(op.res.type)
    f.bind(op.res, "null" if kind == "ptr" else "zeroinitializer")


LOWERINGS: Lowerings = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.AtomicRMWOp: _atomic,
    memref.AllocOp: _alloc,
    memref.AllocaOp: _alloca,
    memref.DeallocOp: _dealloc,
    memref.GetGlobalOp: _get_global,
    memref.DimOp: _dim,
    memref.RankOp: _rank,
    memref.ExtractAlignedPointerAsIndexOp: _extract_pointer,
    memref.ExtractStridedMetaDataOp: _extract_metadata,
    memref.CastOp: _cast,
    memref.MemorySpaceCastOp: _cast,
    memref.SubviewOp: _subview,
    memref.ReinterpretCastOp: _reinterpret_cast,
    memref.ViewOp: _view,
    memref.CopyOp: _copy,
    UnrealizedConversionCastOp: _conversion_cast,
    IntToPtrOp: _int_to_ptr,
    PtrToIntOp: _ptr_to_int,
    ZeroOp: _null,
}
