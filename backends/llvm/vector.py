"""Lowering of the `vector` dialect, one-dimensional.

A load or store requires the last dimension of its buffer to be contiguous. A float sum or product without the `reassoc`
flag reduces from the first lane to the last. The sign of a zero result of a `minnumf`/`maxnumf` reduction is undefined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, VectorType
from xdsl.dialects.vector import CombiningKindFlag as Kind
from xdsl.ir import Attribute, Operation, SSAValue

from ...core.dtypes import element_type_of
from .arith import fast_math, refuse_small_float
from .function import LlvmFunctionEmitter, Lowerings, lowering_unsupported
from .memref import access_suffix, address_of_element, from_memory, load_value, store_value, to_memory
from .prefetch import request_lines
from .types import byte_size, constant_value_of_operand, lane_count, llvm_memory_type, register_type

_INSTRUCTIONS = {Kind.ADD: "add", Kind.MUL: "mul", Kind.AND: "and", Kind.OR: "or", Kind.XOR: "xor"}
_EXTREMES = {Kind.MINSI: "smin", Kind.MAXSI: "smax", Kind.MINUI: "umin", Kind.MAXUI: "umax"}
_FLOAT_SUMS = {Kind.ADD: ("fadd", "0x8000000000000000"), Kind.MUL: ("fmul", "0x3FF0000000000000")}
# The reduction of lanes, and the combiner of its result and the accumulator.
_FLOAT_EXTREMES = {
    Kind.MINNUMF: ("fmin", "minimumnum"),
    Kind.MAXNUMF: ("fmax", "maximumnum"),
    Kind.MINIMUMF: ("fminimum", "minimum"),
    Kind.MAXIMUMF: ("fmaximum", "maximum"),
}


def _contiguous_address(
    f: LlvmFunctionEmitter, op: Operation, base: SSAValue, indices: list[SSAValue], *, inbounds: bool = True
) -> str:
    strides = f.memref(base).strides
    if strides and strides[-1] != "1":
        raise lowering_unsupported(op, f"the last dimension of the buffer must have stride 1, got {base.type}")
    if not strides and lane_count(_vector_of(op)) != 1:
        raise lowering_unsupported(op, f"a buffer of rank 0 has one element, got {base.type}")
    return address_of_element(f, base, indices, inbounds=inbounds)


def _vector_of(op: Operation) -> Attribute:
    return next(value.type for value in (*op.results, *op.operands) if isinstance(value.type, VectorType))


def _load(f: LlvmFunctionEmitter, op: vector.LoadOp) -> None:
    pointer = _contiguous_address(f, op, op.base, list(op.indices))
    request_lines(f, op, pointer)
    f.bind(op.result, load_value(f, op.result.type, pointer, access_suffix(op, op.result.type), op.result.name_hint))


def _store(f: LlvmFunctionEmitter, op: vector.StoreOp) -> None:
    pointer = _contiguous_address(f, op, op.base, list(op.indices))
    store_value(f, op.vector.type, f.operand(op.vector), pointer, access_suffix(op, op.vector.type))


def _masked_load(f: LlvmFunctionEmitter, op: vector.MaskedLoadOp) -> None:
    pointer = _contiguous_address(f, op, op.base, list(op.indices), inbounds=False)
    type, kind = op.result.type, llvm_memory_type(op.result.type)
    other = to_memory(f, type, f.operand(op.pass_thru))
    arguments = [(f"ptr align {byte_size(type)}", pointer), _mask(f, op.mask), (kind, other)]
    value = f.emit_value(f.intrinsic("masked.load", kind, arguments, overloads=[kind, "ptr"]))
    f.bind(op.result, from_memory(f, type, value))


def _masked_store(f: LlvmFunctionEmitter, op: vector.MaskedStoreOp) -> None:
    pointer = _contiguous_address(f, op, op.base, list(op.indices), inbounds=False)
    type = op.value_to_store.type
    kind = llvm_memory_type(type)
    value = to_memory(f, type, f.operand(op.value_to_store))
    arguments = [(kind, value), (f"ptr align {byte_size(type)}", pointer), _mask(f, op.mask)]
    f.emit(f.intrinsic("masked.store", "void", arguments, overloads=[kind, "ptr"]))


def _mask(f: LlvmFunctionEmitter, mask: SSAValue) -> tuple[str, str]:
    return register_type(mask.type), f.operand(mask)


def _create_mask(f: LlvmFunctionEmitter, op: vector.CreateMaskOp) -> None:
    count = lane_count(op.mask_vector.type)
    kind = f"<{count} x i64>"
    steps = "<" + ", ".join(f"i64 {lane}" for lane in range(count or 0)) + ">"
    limit = _splat(f, "i64", f.operand(op.mask_dim_sizes[0]), kind, count or 0)
    f.define(op.mask_vector, f"icmp slt {kind} {steps}, {limit}")


def _splat(f: LlvmFunctionEmitter, scalar: str, value: str, kind: str, count: int) -> str:
    if constant_value_of_operand(value) is not None or value.startswith("0x"):
        return f"splat ({scalar} {value})"
    first = f.emit_value(f"insertelement {kind} poison, {scalar} {value}, i64 0")
    return f.emit_value(f"shufflevector {kind} {first}, {kind} poison, <{count} x i32> zeroinitializer")


def _broadcast(f: LlvmFunctionEmitter, op: vector.BroadcastOp) -> None:
    kind, count = register_type(op.vector.type), lane_count(op.vector.type) or 0
    source = register_type(op.source.type)
    value = f.operand(op.source)
    if source == kind:
        f.bind(op.vector, value)
    elif isinstance(op.source.type, VectorType):
        f.define(op.vector, f"shufflevector {source} {value}, {source} poison, <{count} x i32> zeroinitializer")
    else:
        f.bind(op.vector, _splat(f, source, value, kind, count))


def _position(f: LlvmFunctionEmitter, statics: DenseArrayBase[Any], dynamic: list[SSAValue]) -> str | None:
    """The lane of an extract or insert, None for the whole vector."""
    values = statics.get_values()
    if not values:
        return None
    return f.operand(dynamic[0]) if values[0] == DYNAMIC_INDEX else str(values[0])


def _extract(f: LlvmFunctionEmitter, op: vector.ExtractOp) -> None:
    lane = _position(f, op.static_position, list(op.dynamic_position))
    value = f.operand(op.vector)
    if lane is None:
        f.bind(op.result, value)
    else:
        f.define(op.result, f"extractelement {register_type(op.vector.type)} {value}, i64 {lane}")


def _insert(f: LlvmFunctionEmitter, op: vector.InsertOp) -> None:
    lane = _position(f, op.static_position, list(op.dynamic_position))
    source, target = f.operands((op.source, op.dest))
    if lane is None:
        f.bind(op.result, source)
    else:
        scalar, kind = register_type(op.source.type), register_type(op.dest.type)
        f.define(op.result, f"insertelement {kind} {target}, {scalar} {source}, i64 {lane}")


def _shuffle(f: LlvmFunctionEmitter, op: vector.ShuffleOp) -> None:
    """Shuffles two vectors. LLVM requires both sources to have the same width: the narrower source is padded."""
    first, second = lane_count(op.v1.type) or 1, lane_count(op.v2.type) or 1
    width = max(first, second)
    sources = [_widen(f, value, width) for value in (op.v1, op.v2)]
    scalar = register_type(element_type_of(op.v1.type))
    kind = f"<{width} x {scalar}>"
    mask = [_lane(index, first, width) for index in op.mask.get_values()]
    f.define(
        op.result,
        f"shufflevector {kind} {sources[0]}, {kind} {sources[1]}, "
        f"<{len(mask)} x i32> <{', '.join('i32 ' + lane for lane in mask)}>",
    )


def _lane(index: int, first: int, width: int) -> str:
    if index < 0:
        return "poison"
    return str(index if index < first else index - first + width)


def _widen(f: LlvmFunctionEmitter, value: SSAValue, width: int) -> str:
    count, kind = lane_count(value.type) or 1, register_type(value.type)
    if count == width:
        return f.operand(value)
    mask = ", ".join(f"i32 {lane}" if lane < count else "i32 poison" for lane in range(width))
    return f.emit_value(f"shufflevector {kind} {f.operand(value)}, {kind} poison, <{width} x i32> <{mask}>")


def _fma(f: LlvmFunctionEmitter, op: vector.FMAOp) -> None:
    refuse_small_float(op)
    kind = register_type(op.res.type)
    f.define(op.res, f.intrinsic("fma", kind, [(kind, operand) for operand in f.operands(op.operands)]))


def _reduction(f: LlvmFunctionEmitter, op: vector.ReductionOp) -> None:
    refuse_small_float(op)
    kind, scalar = op.kind.data, register_type(op.dest.type)
    if scalar in ("float", "double"):
        if kind in _FLOAT_SUMS:
            _float_sum(f, op, *_FLOAT_SUMS[kind])
        elif kind in _FLOAT_EXTREMES:
            reduction, combine = _FLOAT_EXTREMES[kind]
            _reduce(f, op, reduction, lambda a, b: f.intrinsic(combine, scalar, [(scalar, a), (scalar, b)]))
        else:
            raise lowering_unsupported(op, f"{kind} of floats")
    elif kind in _INSTRUCTIONS:
        _reduce(f, op, _INSTRUCTIONS[kind], lambda a, b: f"{_INSTRUCTIONS[kind]} {scalar} {a}, {b}")
    elif kind in _EXTREMES:
        _reduce(f, op, _EXTREMES[kind], lambda a, b: f.intrinsic(_EXTREMES[kind], scalar, [(scalar, a), (scalar, b)]))
    else:
        raise lowering_unsupported(op, f"{kind} of integers")


def _float_sum(f: LlvmFunctionEmitter, op: vector.ReductionOp, name: str, neutral: str) -> None:
    kind, scalar = register_type(op.vector.type), register_type(op.dest.type)
    begin = f.operand(op.acc) if op.acc is not None else neutral
    arguments = [(scalar, begin), (kind, f.operand(op.vector))]
    f.define(op.dest, f.intrinsic(f"vector.reduce.{name}", scalar, arguments, fast_math(op), overloads=[kind]))


def _reduce(f: LlvmFunctionEmitter, op: vector.ReductionOp, name: str, combine: Callable[[str, str], str]) -> None:
    kind, scalar = register_type(op.vector.type), register_type(op.dest.type)
    result = f.emit_value(
        f.intrinsic(f"vector.reduce.{name}", scalar, [(kind, f.operand(op.vector))], fast_math(op), overloads=[kind])
    )
    f.bind(op.dest, result if op.acc is None else f.emit_value(combine(result, f.operand(op.acc))))


def _bitcast(f: LlvmFunctionEmitter, op: vector.BitcastOp) -> None:
    kinds = register_type(op.source.type), register_type(op.result.type)
    value = f.operand(op.source)
    if kinds[0] == kinds[1]:
        f.bind(op.result, value)
    else:
        f.define(op.result, f"bitcast {kinds[0]} {value} to {kinds[1]}")


LOWERINGS: Lowerings = {
    vector.LoadOp: _load,
    vector.StoreOp: _store,
    vector.MaskedLoadOp: _masked_load,
    vector.MaskedStoreOp: _masked_store,
    vector.CreateMaskOp: _create_mask,
    vector.BroadcastOp: _broadcast,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
    vector.ShuffleOp: _shuffle,
    vector.FMAOp: _fma,
    vector.ReductionOp: _reduction,
    vector.BitcastOp: _bitcast,
}
