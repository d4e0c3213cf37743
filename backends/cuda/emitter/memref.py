"""Lowering of the `memref` dialect: buffers as (pointer, offset, sizes, strides), accesses as
`pointer[offset + index * stride]`.

The linear index is `int` if the memory at the pointer is known to have fewer than 2**31 elements, else it is computed
in `long long`. Memory of a thread block is `__shared__`, memory of a thread an array in the function. Allocations in
"shared.dyn" are consecutive parts of the array `shared_dyn`, whose size the launch sets, at multiples of 16 bytes.
Sizes of allocations are static, and there is no heap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod
from typing import Any, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    MemRefType,
    NoneAttr,
    StringAttr,
    UnrealizedConversionCastOp,
)
from xdsl.dialects.llvm import IntToPtrOp, LLVMPointerType, PtrToIntOp, ZeroOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....core.dtypes import dtype_of
from ....core.errors import UnsupportedError
from ....core.sizes import align_up
from ....dialects.attributes import FRAGMENT_TYPE
from ...llvm.types import bit_width, byte_size, is_bool, layout_of
from .arith import cast_pointer, narrow
from .expression import (
    LONG,
    PRIMARY,
    UNARY,
    UNSIGNED,
    WIDTHS,
    CudaExpr,
    binary,
    index_arithmetic,
    integer_literal,
    select,
    to_unsigned,
)
from .expression import cast as cast_to
from .fragments import declare_fragments
from .function import UNKNOWN_SIZE, CudaBuffer, CudaFunctionEmitter, Lowerings, contiguous_strides, lowering_unsupported
from .types import BFLOAT, HALF, has_padding_bits, mask_bits, memory_type, scalar_type

MATRIX_ALIGNMENT = 32
"""In bytes: of a matrix in memory (CUDA C++ Programming Guide, "Warp Matrix Functions")."""

ALIGNMENT = 16
"""In bytes: the widest access, and the alignment of kernel arguments and allocations."""

SHARED_DYNAMIC = "shared_dyn"
"""The name of the array of dynamic shared memory."""


def _type(value: SSAValue) -> MemRefType:
    return cast(MemRefType, value.type)


def element(value: SSAValue) -> Attribute:
    """The element type of a buffer."""
    return _type(value).element_type


def element_index(buffer: CudaBuffer, indices: Sequence[CudaExpr]) -> CudaExpr:
    """The linear index of an element, in elements from the pointer."""
    total = buffer.offset
    for each, stride in zip(indices, buffer.strides, strict=True):
        if UNKNOWN_SIZE in (stride, total):
            raise unsupported_size()
        total = index_arithmetic("+", total, index_arithmetic("*", each, stride), flat=True)
    return total if buffer.small or total.wide is None else total.wide


def unsupported_size() -> UnsupportedError:
    """The error of an access to a buffer of unknown sizes."""
    return UnsupportedError("only memref.reinterpret_cast knows the sizes of a buffer that was a pointer")


def element_lvalue(buffer: CudaBuffer, where: CudaExpr) -> CudaExpr:
    """An element of a buffer, as an lvalue."""
    return CudaExpr(f"{buffer.pointer.parenthesized(PRIMARY)}[{where.text}]", PRIMARY, buffer.pointer.type.rstrip("*"))


def address_of(buffer: CudaBuffer, where: CudaExpr) -> CudaExpr:
    """A pointer to an element of a buffer."""
    if where.literal == 0:
        return buffer.pointer
    return CudaExpr(f"&{element_lvalue(buffer, where).text}", UNARY, buffer.pointer.type, reads=where.reads)


def value_of_element(element: CudaExpr, type: Attribute) -> CudaExpr:
    """The value in an element of memory; any byte but 0 is a true i1, of other types of less than a byte only their
    bits are read.
    """
    value = CudaExpr(element.text, PRIMARY, scalar_type(type), reads=True)
    if has_padding_bits(type):
        return mask_bits(value, (1 << bit_width(type)) - 1)
    return binary("!=", value, integer_literal(0), "bool") if is_bool(type) else value


def _load(f: CudaFunctionEmitter, op: memref.LoadOp) -> None:
    buffer = f.buffer(op.memref)
    where = element_index(buffer, f.operands(op.indices))
    f.module.use_type(scalar_type(op.res.type))
    f.define(op.res, value_of_element(element_lvalue(buffer, where), op.res.type))


def _store(f: CudaFunctionEmitter, op: memref.StoreOp) -> None:
    value, buffer = f.operand(op.value), f.buffer(op.memref)
    where = element_index(buffer, f.operands(op.indices))
    f.statement(f"{element_lvalue(buffer, where).text} = {stored_text(value)};")


def stored_text(value: CudaExpr) -> str:
    """A value as assigned to an element of memory: an `index` has 64 bits there."""
    return value.wide.text if value.wide is not None else value.text


_ATOMIC = {0: "atomicAdd", 1: "atomicAdd", 4: "atomicMax", 5: "atomicMax", 7: "atomicMin", 8: "atomicMin"}
_UNSIGNED_ATOMICS = (5, 8)
_FLOAT_ATOMICS = {3: "atomic_maximum", 6: "atomic_minimum"}


def _atomic(f: CudaFunctionEmitter, op: memref.AtomicRMWOp) -> None:
    """Emits an atomic update by a CUDA function, 64-bit sums on unsigned numbers, or by a helper function."""
    kind, type = op.kind.value.data, scalar_type(op.value.type)
    if kind not in (*_ATOMIC, *_FLOAT_ATOMICS) or type not in ("int", LONG, HALF, BFLOAT, "float", "double"):
        raise lowering_unsupported(op, f"no atomic operation {kind} on {op.value.type}")
    value, buffer = f.operand(op.value), f.buffer(op.memref)
    pointer = address_of(buffer, element_index(buffer, f.operands(op.indices)))
    if kind in _UNSIGNED_ATOMICS or (kind == 1 and type == LONG):
        value, pointer = to_unsigned(value), cast_pointer(f, pointer, UNSIGNED[WIDTHS[type]], False)
    name = f.helper(f"{_FLOAT_ATOMICS[kind]}_{dtype_of(op.value.type)}") if kind in _FLOAT_ATOMICS else _ATOMIC[kind]
    result = CudaExpr(f"{name}({pointer.text}, {value.text})", PRIMARY, pointer.type.rstrip("*"))
    if op.result.uses:
        f.define_effect(op.result, result if result.type == type else cast_to(type, result))
    else:
        f.statement(f"{result.text};")


# allocating buffers


def _alloca(f: CudaFunctionEmitter, op: memref.AllocaOp) -> None:
    if not op.memref.uses:
        return
    type = _type(op.memref)
    layout = layout_of(type)
    if not layout.identity:
        raise lowering_unsupported(op, f"a new buffer must be contiguous, got {type}")
    if None in layout.shape:
        raise lowering_unsupported(op, f"memory on the device needs a static shape, got {type}")
    count = prod(extent for extent in layout.shape if extent is not None)
    space = type.memory_space
    if FRAGMENT_TYPE in op.attributes:
        f.bind(op.memref, _static_buffer(declare_fragments(f, op, count), layout.shape, 1))
        return
    scope = "local" if isinstance(space, NoneAttr) else space.data if isinstance(space, StringAttr) else str(space)
    if scope not in _SCOPES:
        raise lowering_unsupported(op, f"no memory called {scope!r} on the device, only {', '.join(_SCOPES)}")
    pointer, alignment = _SCOPES[scope](f, op, memory_type(type.element_type), max(count, 1))
    f.bind(op.memref, _static_buffer(pointer, layout.shape, alignment))


def _alignment(op: memref.AllocaOp, size: int) -> int:
    """The alignment of an allocation: at least the width of the widest access, if the buffer is that large, and that
    of a matrix for calls."""
    required = 1 if op.alignment is None else op.alignment.value.data
    if any(isinstance(use.operation, func.CallOp) for use in op.memref.uses):
        required = max(required, MATRIX_ALIGNMENT)
    return max(required, ALIGNMENT if size >= ALIGNMENT else 1)


def declare_array(
    f: CudaFunctionEmitter, op: memref.AllocaOp, kind: str, count: int, prefix: str = ""
) -> tuple[CudaExpr, int]:
    """Declares an array of `count` elements for an allocation; returns its name and its alignment. kind: the type of
    the elements.  prefix: the words before the declaration."""
    alignment = _alignment(op, count * byte_size(element(op.memref)))
    aligned = f"__align__({alignment}) " if alignment > 1 else ""
    new = f.names.fresh(op.memref.name_hint or "buffer")
    f.line(f"{prefix}{aligned}{f.module.use_type(kind)} {new}[{count}];")
    return CudaExpr(new, PRIMARY, f"{kind}*"), max(alignment, byte_size(element(op.memref)))


def _local(f: CudaFunctionEmitter, op: memref.AllocaOp, kind: str, count: int) -> tuple[CudaExpr, int]:
    return declare_array(f, op, kind, count)


def _shared_array(f: CudaFunctionEmitter, op: memref.AllocaOp, kind: str, count: int) -> tuple[CudaExpr, int]:
    f.shared_bytes = align_up(f.shared_bytes, _alignment(op, ALIGNMENT)) + count * byte_size(element(op.memref))
    return declare_array(f, op, kind, count, "__shared__ ")


def _dynamic_shared(f: CudaFunctionEmitter, op: memref.AllocaOp, kind: str, count: int) -> tuple[CudaExpr, int]:
    if not f.is_kernel:
        raise lowering_unsupported(op, "dynamic shared memory belongs to a kernel")
    alignment = _alignment(op, ALIGNMENT)
    if not f.dynamic_shared_bytes:
        f.line(f"extern __shared__ __align__({alignment}) unsigned char {SHARED_DYNAMIC}[];")
    start = align_up(f.dynamic_shared_bytes, ALIGNMENT)
    f.dynamic_shared_bytes = start + count * byte_size(element(op.memref))
    if start == 0 and all(isinstance(use.operation, memref.ViewOp) for use in op.memref.uses):
        return CudaExpr(SHARED_DYNAMIC, PRIMARY, "unsigned char*"), alignment
    base = CudaExpr(SHARED_DYNAMIC if start == 0 else f"{SHARED_DYNAMIC} + {start}", PRIMARY, "unsigned char*")
    return f.local(cast_pointer(f, base, kind, False), op.memref.name_hint or "buffer"), ALIGNMENT


_SCOPES = {"local": _local, "shared": _shared_array, "shared.dyn": _dynamic_shared}


def _static_buffer(pointer: CudaExpr, shape: Sequence[int | None], alignment: int, const: bool = False) -> CudaBuffer:
    """The contiguous buffer of a static shape at a pointer."""
    sizes = tuple(integer_literal(extent or 0) for extent in shape)
    small = prod(extent or 0 for extent in shape) < 2**31
    return CudaBuffer(pointer, integer_literal(0), sizes, contiguous_strides(sizes), const, alignment, small=small)


def _get_global(f: CudaFunctionEmitter, op: memref.GetGlobalOp) -> None:
    array, declared, const = f.module.global_buffer(op)
    kind = memory_type(element(op.memref))
    pointer = CudaExpr(array, PRIMARY, f"{'const ' if const else ''}{declared}*")
    if declared != kind:
        pointer = f.local(cast_pointer(f, pointer, kind, const), op.memref.name_hint or array)
    f.bind(op.memref, _static_buffer(pointer, layout_of(_type(op.memref)).shape, ALIGNMENT, const))


# querying buffers


def _known_size(size: CudaExpr) -> CudaExpr:
    if size == UNKNOWN_SIZE:
        raise unsupported_size()
    return size


def _dim(f: CudaFunctionEmitter, op: memref.DimOp) -> None:
    sizes, axis = f.buffer(op.source).sizes, f.operand(op.index)
    if axis.literal is not None:
        if not 0 <= axis.literal < len(sizes):
            raise lowering_unsupported(op, f"dimension {axis.literal} of a buffer of rank {len(sizes)}")
        f.bind(op.result, _known_size(sizes[axis.literal]))
        return
    axis = f.as_repeatable(axis)
    chosen = sizes[-1] if sizes else integer_literal(0)
    for n, size in reversed(list(enumerate(sizes[:-1]))):
        chosen = select(binary("==", axis, integer_literal(n), "bool"), _known_size(size), chosen)
    f.define(op.result, chosen)


def _rank(f: CudaFunctionEmitter, op: memref.RankOp) -> None:
    f.bind(op.rank, integer_literal(len(f.buffer(op.source).sizes)))


def _extract_pointer(f: CudaFunctionEmitter, op: memref.ExtractAlignedPointerAsIndexOp) -> None:
    f.define(op.aligned_pointer, cast_to(LONG, f.buffer(op.source).pointer))


def _extract_metadata(f: CudaFunctionEmitter, op: memref.ExtractStridedMetaDataOp) -> None:
    source = f.buffer(op.source)
    f.bind(op.base_buffer, replace(source, offset=integer_literal(0), sizes=(), strides=()))
    f.bind(op.offset, source.offset)
    for result, part in zip((*op.sizes, *op.strides), source.sizes + source.strides, strict=True):
        f.bind(result, _known_size(part))


# views


def _prefer_static(statics: Sequence[int | None], parts: Sequence[CudaExpr]) -> tuple[CudaExpr, ...]:
    """`parts`, replaced by constants where the type is static."""
    return tuple(
        part if static is None else integer_literal(static) for static, part in zip(statics, parts, strict=True)
    )


def as_type(buffer: CudaBuffer, type: MemRefType) -> CudaBuffer:
    """`buffer` with the static sizes, strides and offset of `type`."""
    layout = layout_of(type)
    offset = buffer.offset if layout.offset is None else integer_literal(layout.offset)
    strides = buffer.strides if layout.identity else _prefer_static(layout.strides, buffer.strides)
    return replace(buffer, offset=offset, sizes=_prefer_static(layout.shape, buffer.sizes), strides=strides)


def _cast(f: CudaFunctionEmitter, op: memref.CastOp | memref.MemorySpaceCastOp) -> None:
    if not isinstance(op.dest.type, MemRefType):
        raise lowering_unsupported(op, f"cannot cast to {op.dest.type}")
    f.bind(op.dest, as_type(f.buffer(op.source), op.dest.type))


def _mixed_values(f: CudaFunctionEmitter, statics: DenseArrayBase[Any], operands: Sequence[SSAValue]) -> list[CudaExpr]:
    """The values of MLIR's mixed list: static values, and operands for dynamic ones, for repeated use."""
    dynamic = iter([f.as_repeatable(f.operand(operand), operand.name_hint) for operand in operands])
    return [next(dynamic) if value == DYNAMIC_INDEX else integer_literal(value) for value in statics.get_values()]


def _subview(f: CudaFunctionEmitter, op: memref.SubviewOp) -> None:
    source, type = f.buffer(op.source), op.result.type
    offsets = _mixed_values(f, op.static_offsets, op.offsets)
    sizes = _mixed_values(f, op.static_sizes, op.sizes)
    steps = _mixed_values(f, op.static_strides, op.strides)
    strides = [
        f.as_repeatable(index_arithmetic("*", a, b), "stride") for a, b in zip(steps, source.strides, strict=True)
    ]
    kept = _kept_dimensions(sizes, type.get_shape())
    start = f.as_repeatable(element_index(source, offsets), f"{op.result.name_hint or 'view'}_offset")
    view = replace(source, offset=start, sizes=tuple(sizes[d] for d in kept), strides=tuple(strides[d] for d in kept))
    f.bind(op.result, as_type(view, type))


def _kept_dimensions(sizes: Sequence[CudaExpr], shape: Sequence[int]) -> list[int]:
    """The dimensions of a subview that its result keeps: dimensions of size 1 may be dropped."""
    kept: list[int] = []
    spare = len(sizes) - len(shape)
    for axis, size in enumerate(sizes):
        wanted = shape[len(kept)] if len(kept) < len(shape) else None
        if spare and (wanted is None or (size.literal == 1 and wanted != 1)):
            spare -= 1
        else:
            kept.append(axis)
    return kept


def _reinterpret_cast(f: CudaFunctionEmitter, op: memref.ReinterpretCastOp) -> None:
    source = f.buffer(op.source)
    offset = _mixed_values(f, op.static_offsets, op.offsets)[0]
    sizes = _mixed_values(f, op.static_sizes, op.sizes)
    strides = _mixed_values(f, op.static_strides, op.strides)
    view = replace(source, offset=offset, sizes=tuple(sizes), strides=tuple(strides))
    f.bind(op.result, as_type(view, op.result.type))


def _view(f: CudaFunctionEmitter, op: memref.ViewOp) -> None:
    source, shift = f.buffer(op.source), f.operand(op.byte_shift)
    where = element_index(replace(source, strides=(integer_literal(1),)), [shift])
    kind, shape = memory_type(element(op.result)), layout_of(_type(op.result)).shape
    dynamic = iter([f.as_repeatable(size) for size in f.operands(op.sizes)])
    sizes = tuple(next(dynamic) if extent is None else integer_literal(extent) for extent in shape)
    pointer = f.local(cast_pointer(f, address_of(source, where), kind, source.const), op.result.name_hint or "view")
    alignment = gcd(source.alignment, where.multiple)
    f.bind(
        op.result,
        replace(source, pointer=pointer, offset=integer_literal(0), sizes=sizes, strides=contiguous_strides(sizes),
                alignment=alignment),
    )  # fmt: skip


# pointers


def _conversion_cast(f: CudaFunctionEmitter, op: UnrealizedConversionCastOp) -> None:
    if len(op.operands) != 1 or len(op.results) != 1:
        raise lowering_unsupported(op, "only one value can be turned into one")
    (source,), (result,) = op.operands, op.results
    if isinstance(source.type, MemRefType) and isinstance(result.type, LLVMPointerType):
        buffer = f.buffer(source)
        f.define(result, cast_to("void*", address_of(buffer, _known_size(buffer.offset))))
    elif isinstance(source.type, LLVMPointerType) and isinstance(result.type, MemRefType):
        f.bind(result, _buffer_at_pointer(f, op, f.operand(source), result))
    elif not isinstance(source.type, MemRefType) and scalar_type(source.type) == scalar_type(result.type):
        f.bind(result, f.value(source))
    else:
        raise lowering_unsupported(op, f"cannot turn {source.type} into {result.type}")


def _buffer_at_pointer(f: CudaFunctionEmitter, op: Operation, pointer: CudaExpr, result: SSAValue) -> CudaBuffer:
    layout = layout_of(_type(result))
    if not layout.identity:
        raise lowering_unsupported(op, f"a pointer can become a contiguous buffer only, got {result.type}")
    kind = memory_type(element(result))
    typed = f.local(cast_to(f"{f.module.use_type(kind)}*", pointer), result.name_hint or "pointer")
    # The size is unknown: only a memref.reinterpret_cast, which provides sizes, may use the buffer.
    sizes = tuple(UNKNOWN_SIZE if extent is None else integer_literal(extent) for extent in layout.shape)
    small = None not in layout.shape and prod(extent or 0 for extent in layout.shape) < 2**31
    strides = contiguous_strides(sizes)
    return CudaBuffer(typed, integer_literal(0), sizes, strides, alignment=byte_size(element(result)), small=small)


def _int_to_ptr(f: CudaFunctionEmitter, op: IntToPtrOp) -> None:
    value = f.operand(op.input)
    number_ = value if value.type == LONG else cast_to(LONG, to_unsigned(value) if value.type != "bool" else value)
    f.define(op.output, cast_to("void*", number_))


def _ptr_to_int(f: CudaFunctionEmitter, op: PtrToIntOp) -> None:
    f.define(op.output, narrow(cast_to(LONG, f.operand(op.input)), scalar_type(op.output.type)))


def _null(f: CudaFunctionEmitter, op: ZeroOp) -> None:
    if not isinstance(op.res.type, LLVMPointerType):
        raise lowering_unsupported(op, f"only of pointers, got {op.res.type}")
    f.bind(op.res, CudaExpr("nullptr", PRIMARY, "void*"))


LOWERINGS: Lowerings = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.AtomicRMWOp: _atomic,
    memref.AllocaOp: _alloca,
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
    UnrealizedConversionCastOp: _conversion_cast,
    IntToPtrOp: _int_to_ptr,
    PtrToIntOp: _ptr_to_int,
    ZeroOp: _null,
}
