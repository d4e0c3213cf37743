"""Lowering of the `vector` dialect, one-dimensional: a vector is its lanes, each a scalar expression.

A load or store of up to 16 consecutive bytes is one access if the buffer and the index are known to be multiples of its
size (`CudaExpr.multiple`), else one access per lane. Kernel arguments are assumed to be aligned to 16 bytes;
`KernelParameter.alignment` records where code relies on the assumption.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects import vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, VectorType
from xdsl.dialects.vector import CombiningKindFlag as Kind
from xdsl.ir import Attribute, Operation, SSAValue

from ...llvm.arith import refuse_small_float
from ...llvm.types import bit_width, byte_size, lane_count
from .arith import bitcast, elementwise, helper_suffix, min_or_max
from .expression import (
    UNSIGNED,
    WIDTHS,
    CudaExpr,
    binary,
    call,
    from_unsigned,
    index_arithmetic,
    integer_literal,
    select,
    to_unsigned,
    variable_expr,
    wrapping_arithmetic,
)
from .expression import cast as cast_to
from .function import CudaBuffer, CudaFunctionEmitter, Lowerings, lowering_unsupported
from .math import call_math_function
from .memref import element_index, element_lvalue, stored_text, value_of_element
from .types import memory_type, scalar_type

WIDEST = 16
"""Bytes of the widest access."""

VECTOR_TYPES = {
    ("unsigned char", 2): "uchar2", ("unsigned char", 4): "uchar4", ("signed char", 2): "char2",
    ("signed char", 4): "char4", ("short", 2): "short2", ("short", 4): "short4", ("int", 2): "int2",
    ("int", 4): "int4", ("long long", 2): "longlong2", ("float", 2): "float2", ("float", 4): "float4",
    ("double", 2): "double2", ("__half", 2): "__half2", ("__nv_bfloat16", 2): "__nv_bfloat162",
}  # fmt: skip
"""CUDA's types for several elements read or written at once. Other numbers of elements use the emitted structs."""

MEMBERS = "xyzw"


def _vector_of(op: Operation) -> VectorType:
    values = (*op.results, *op.operands)
    return next(value.type for value in values if isinstance(value.type, VectorType) and not _is_mask(op, value))


def _is_mask(op: Operation, value: SSAValue) -> bool:
    return isinstance(op, vector.MaskedLoadOp | vector.MaskedStoreOp) and value is op.mask


def _first_lane(
    f: CudaFunctionEmitter, op: Operation, base: SSAValue, indices: Sequence[SSAValue]
) -> tuple[CudaBuffer, CudaExpr]:
    """The buffer, and the linear index of the first lane."""
    buffer = f.buffer(base)
    if buffer.strides and buffer.strides[-1].literal != 1:
        raise lowering_unsupported(op, f"the last dimension of the buffer must have stride 1, got {base.type}")
    if not buffer.strides and lane_count(_vector_of(op)) != 1:
        raise lowering_unsupported(op, f"a buffer of rank 0 has one element, got {base.type}")
    return buffer, element_index(buffer, f.operands(indices))


def _lane(buffer: CudaBuffer, where: CudaExpr, lane: int) -> CudaExpr:
    return element_lvalue(buffer, index_arithmetic("+", where, integer_literal(lane), flat=True))


def _access_type(f: CudaFunctionEmitter, type: Attribute, buffer: CudaBuffer, where: CudaExpr) -> str | None:
    """The type of one access to all lanes; None if it may be misaligned or is too wide."""
    count, size = lane_count(type) or 1, byte_size(type)
    whole = count * size
    if count == 1 or whole > WIDEST or whole & (whole - 1) or where.multiple % count:
        return None
    if buffer.alignment % whole:
        return None
    if buffer.parameter is not None:
        f.alignments[buffer.parameter] = max(f.alignments.get(buffer.parameter, 1), whole)
    kind = memory_type(type)
    known = VECTOR_TYPES.get((kind, count))
    return f.module.use_type(known) if known is not None else f.module.aligned_struct(kind, count)


def _member(vector: str, kind: str, lane: int, count: int) -> CudaExpr:
    member = MEMBERS[lane] if (kind, count) in VECTOR_TYPES else f"lane[{lane}]"
    return variable_expr(f"{vector}.{member}", kind)


def _load(f: CudaFunctionEmitter, op: vector.LoadOp) -> None:
    type = op.result.type
    buffer, where = _first_lane(f, op, op.base, op.indices)
    access = _access_type(f, type, buffer, where)
    f.module.use_type(scalar_type(type))
    if access is None:
        where = f.as_repeatable(where)
        read = [value_of_element(_lane(buffer, where, lane), type) for lane in range(lane_count(type) or 1)]
        f.define_lanes(op.result, read)
        return
    new = f.names.fresh(op.result.name_hint)
    f.vector_types[new] = access
    f.line(f"const {access} {new} = *reinterpret_cast<const {access}*>(&{element_lvalue(buffer, where).text});")
    kind, count = memory_type(type), lane_count(type) or 1
    parts = [value_of_element(_member(new, kind, lane, count), type) for lane in range(count)]
    f.define_lanes(op.result, [replace(part, reads=False) for part in parts])


def _store(f: CudaFunctionEmitter, op: vector.StoreOp) -> None:
    type, values = op.vector.type, f.lanes(op.vector)
    buffer, where = _first_lane(f, op, op.base, op.indices)
    access = _access_type(f, type, buffer, where)
    if access is not None:
        whole = _combine_lanes(f, access, values, type)
        f.statement(f"*reinterpret_cast<{access}*>(&{element_lvalue(buffer, where).text}) = {whole};")
        return
    where = f.as_repeatable(where)
    values = [f.as_repeatable(value) if value.reads else value for value in values]
    for lane, value in enumerate(values):
        f.statement(f"{_lane(buffer, where, lane).text} = {stored_text(value)};")


def _combine_lanes(f: CudaFunctionEmitter, access: str, values: Sequence[CudaExpr], type: Attribute) -> str:
    """All lanes as one value: the loaded variable, if the lanes are its members in order."""
    whole = values[0].text.partition(".")[0]
    kind, count = memory_type(type), len(values)
    same = [_member(whole, kind, lane, count).text for lane in range(count)]
    if [value.text for value in values] == same and f.vector_types.get(whole) == access:
        return whole
    parts = ", ".join(stored_text(value) for value in values)
    if (kind, count) not in VECTOR_TYPES:
        return _struct(f, access, [stored_text(value) for value in values])
    return f"{'' if access.startswith('__') else 'make_'}{access}({parts})"


def _struct(f: CudaFunctionEmitter, access: str, lanes: Sequence[str]) -> str:
    """A variable that holds the lanes in an emitted struct."""
    new = f.names.fresh("lanes")
    f.line(f"{access} {new};")
    for lane, value in enumerate(lanes):
        f.line(f"{new}.lane[{lane}] = {value};")
    return new


def _masked_load(f: CudaFunctionEmitter, op: vector.MaskedLoadOp) -> None:
    type = op.result.type
    buffer, where = _first_lane(f, op, op.base, op.indices)
    where = f.as_repeatable(where)
    f.module.use_type(scalar_type(type))
    rows = zip(f.lanes(op.mask), f.lanes(op.pass_thru), strict=True)
    f.define_lanes(
        op.result,
        [
            select(mask, value_of_element(_lane(buffer, where, lane), type), other)
            for lane, (mask, other) in enumerate(rows)
        ],
    )


def _masked_store(f: CudaFunctionEmitter, op: vector.MaskedStoreOp) -> None:
    buffer, where = _first_lane(f, op, op.base, op.indices)
    where = f.as_repeatable(where)
    masks, values = f.lanes(op.mask), f.lanes(op.value_to_store)
    f.emit_pending_reads()
    for lane, (mask, value) in enumerate(zip(masks, values, strict=True)):
        with f.block(f"if ({mask.text})"):
            f.line(f"{_lane(buffer, where, lane).text} = {stored_text(value)};")


def _create_mask(f: CudaFunctionEmitter, op: vector.CreateMaskOp) -> None:
    limit = f.as_repeatable(f.operand(op.mask_dim_sizes[0]))
    count = lane_count(op.mask_vector.type) or 0
    f.define_lanes(op.mask_vector, [binary(">", limit, integer_literal(lane), "bool") for lane in range(count)])


def _broadcast(f: CudaFunctionEmitter, op: vector.BroadcastOp) -> None:
    count = lane_count(op.vector.type) or 1
    if not isinstance(op.source.type, VectorType):
        f.bind(op.vector, (f.as_repeatable(f.operand(op.source), op.vector.name_hint),) * count)
        return
    values = f.lanes(op.source)
    f.bind(op.vector, values if len(values) == count else (f.as_repeatable(values[0], op.vector.name_hint),) * count)


def _position(f: CudaFunctionEmitter, statics: DenseArrayBase[Any], dynamic: Sequence[SSAValue]) -> CudaExpr | None:
    """The lane of an extract or insert, None for the whole vector."""
    values = statics.get_values()
    if not values:
        return None
    return f.as_repeatable(f.operand(dynamic[0])) if values[0] == DYNAMIC_INDEX else integer_literal(values[0])


def _extract(f: CudaFunctionEmitter, op: vector.ExtractOp) -> None:
    lane, values = _position(f, op.static_position, op.dynamic_position), f.lanes(op.vector)
    if lane is None:
        f.bind(op.result, values)
    elif lane.literal is not None:
        f.define(op.result, values[lane.literal % len(values)])
    else:
        chosen = values[-1]
        for n, value in reversed(list(enumerate(values[:-1]))):
            chosen = select(binary("==", lane, integer_literal(n), "bool"), value, chosen)
        f.define(op.result, chosen)


def _insert(f: CudaFunctionEmitter, op: vector.InsertOp) -> None:
    lane = _position(f, op.static_position, op.dynamic_position)
    if lane is None:
        f.bind(op.result, f.value(op.source))
        return
    values, source = list(f.lanes(op.dest)), f.operand(op.source)
    if lane.literal is not None:
        values[lane.literal % len(values)] = f.local(source, op.source.name_hint) if source.reads else source
    else:
        source = f.as_repeatable(source)
        values = [
            select(binary("==", lane, integer_literal(n), "bool"), source, value) for n, value in enumerate(values)
        ]
    f.define_lanes(op.result, values)


def _shuffle(f: CudaFunctionEmitter, op: vector.ShuffleOp) -> None:
    """Shuffles two vectors. A poison lane of the mask may have any value."""
    both = [f.as_repeatable(value) for source in (op.v1, op.v2) for value in f.lanes(source)]
    f.bind(op.result, tuple(both[max(lane, 0)] for lane in op.mask.get_values()))


def _fma(_f: CudaFunctionEmitter, op: vector.FMAOp, values: list[CudaExpr]) -> CudaExpr:
    refuse_small_float(op)
    return call_math_function("fma", *values)


# reductions


def _reduction(f: CudaFunctionEmitter, op: vector.ReductionOp) -> None:
    """Reduces from the first lane on; the accumulator of a sum or product comes before the first lane,
    any other after the last.
    """
    refuse_small_float(op)
    values, kind = list(f.lanes(op.vector)), op.kind.data
    combine = _combiner(f, op)
    first = op.acc is not None and kind in (Kind.ADD, Kind.MUL)
    if op.acc is not None:
        values.insert(0 if first else len(values), f.operand(op.acc))
    result = values[0]
    for value in values[1:]:
        result = combine(f.as_repeatable(result) if len(result.text) > _LONG else result, value)
    f.define(op.dest, result)


_LONG = 80  # characters of a reduction before it is stored in a variable


_FLOAT_EXTREMES = {
    Kind.MINNUMF: "minnum", Kind.MAXNUMF: "maxnum", Kind.MINIMUMF: "minimum", Kind.MAXIMUMF: "maximum",
}  # fmt: skip
_INTEGER_SYMBOLS = {Kind.ADD: "+", Kind.MUL: "*"}
_BIT_SYMBOLS = {Kind.AND: "&", Kind.OR: "|", Kind.XOR: "^"}
_BOOL_SYMBOLS = {Kind.ADD: "!=", Kind.MUL: "&&", Kind.AND: "&&", Kind.OR: "||", Kind.XOR: "!=", Kind.MINSI: "||",
                 Kind.MAXSI: "&&", Kind.MINUI: "&&", Kind.MAXUI: "||"}  # fmt: skip
_SIGNED = {Kind.MINSI: "min", Kind.MAXSI: "max"}
_UNSIGNED = {Kind.MINUI: "min", Kind.MAXUI: "max"}


def _combiner(f: CudaFunctionEmitter, op: vector.ReductionOp) -> Callable[[CudaExpr, CudaExpr], CudaExpr]:
    kind, type = op.kind.data, scalar_type(op.dest.type)
    if type in ("float", "double"):
        if kind in _INTEGER_SYMBOLS:
            return lambda a, b: binary(_INTEGER_SYMBOLS[kind], a, b, type)
        if kind in _FLOAT_EXTREMES:
            helper = f.helper(f"{_FLOAT_EXTREMES[kind]}_{helper_suffix(op.dest.type)}")
            return lambda a, b: call(helper, type, a, b)
        raise lowering_unsupported(op, f"{kind} of floats")
    if type == "bool" and kind in _BOOL_SYMBOLS:
        return lambda a, b: binary(_BOOL_SYMBOLS[kind], a, b, type)
    if kind in _INTEGER_SYMBOLS:
        return lambda a, b: wrapping_arithmetic(_INTEGER_SYMBOLS[kind], a, b, type)
    if kind in _BIT_SYMBOLS:
        return lambda a, b: binary(_BIT_SYMBOLS[kind], a, b, type)
    if kind in _SIGNED:
        return lambda a, b: min_or_max(_SIGNED[kind], a, b)
    if kind in _UNSIGNED:
        return lambda a, b: _unsigned_extreme(_UNSIGNED[kind], a, b)
    raise lowering_unsupported(op, f"{kind} of integers")


def _unsigned_extreme(function: str, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    bits = UNSIGNED[max(WIDTHS[lhs.type], 32)]
    operands = [cast_to(bits, to_unsigned(value)) for value in (lhs, rhs)]
    return from_unsigned(call(function, bits, *operands), lhs.type)


# bits


def _bitcast(f: CudaFunctionEmitter, op: vector.BitcastOp) -> None:
    """Casts lane by lane if the widths are equal, else through the bits of the narrower lanes."""
    source, target = op.source.type, op.result.type
    widths = bit_width(source), bit_width(target)
    values = f.lanes(op.source)
    if widths[0] == widths[1]:
        f.define_lanes(op.result, [bitcast(value, scalar_type(target)) for value in values])
        return
    if min(widths) < 8:
        raise lowering_unsupported(op, f"bits of less than a byte to others, {source} to {target}")
    integers = [bitcast(f.as_repeatable(value), _integer(widths[0])) for value in values]
    if widths[0] < widths[1]:
        parts = _concatenate(integers, widths[1] // widths[0], widths[0], widths[1])
    else:
        parts = [
            part for value in integers for part in _split(f.as_repeatable(value), widths[0] // widths[1], widths[1])
        ]
    f.define_lanes(op.result, [bitcast(part, scalar_type(target)) for part in parts])


def _integer(bits: int) -> str:
    return {8: "signed char", 16: "short", 32: "int", 64: "long long"}[bits]


def _concatenate(values: Sequence[CudaExpr], count: int, bits: int, wide: int) -> list[CudaExpr]:
    """Concatenates every `count` integers into one, the first in the lowest bits."""
    result: list[CudaExpr] = []
    for start in range(0, len(values), count):
        total: CudaExpr | None = None
        for n, value in enumerate(values[start : start + count]):
            part = cast_to(UNSIGNED[wide], to_unsigned(value))
            part = part if n == 0 else binary("<<", part, integer_literal(n * bits), UNSIGNED[wide])
            total = part if total is None else binary("|", total, part, UNSIGNED[wide])
        assert total is not None
        result.append(from_unsigned(total, _integer(wide)))
    return result


def _split(value: CudaExpr, count: int, bits: int) -> list[CudaExpr]:
    """An integer as `count` narrower ones, the lowest bits first."""
    shifts = [value if n == 0 else binary(">>", value, integer_literal(n * bits), value.type) for n in range(count)]
    return [cast_to(_integer(bits), shifted) for shifted in shifts]


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
    vector.FMAOp: elementwise(_fma),
    vector.ReductionOp: _reduction,
    vector.BitcastOp: _bitcast,
}
