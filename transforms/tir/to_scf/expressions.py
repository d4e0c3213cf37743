"""Expressions: operations of arith, math and vector, and operations that expand into several of these."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, llvm, math, vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....core.diagnostics import unsupported_op_error
from ....core.dtypes import DType, dtype_of, mlir_type, parse_dtype, vector_type
from ....dialects.tir import (
    CallLlvmOp,
    ConstOp,
    FloormodOp,
    HandleType,
    IntrinsicOp,
    LetOp,
    MaxOp,
    MinOp,
    RampOp,
    ShuffleOp,
    SymbolOp,
)
from . import casts, indices
from .casts import compare, convert_value, lane, reinterpret_bits
from .types import I64, lower_type
from .writer import Handlers, UpstreamWriter

_F32 = DType("float", 32)
_F64 = DType("float", 64)


def _copy(w: UpstreamWriter, op: Operation) -> None:
    """Copies an operation, on signless types."""
    operands = [w.value(v) for v in op.operands]
    types = [lower_type(r.type) for r in op.results]
    new = type(op).create(operands=operands, result_types=types, properties=op.properties, attributes=op.attributes)
    w.insert(new)
    for old, result in zip(op.results, new.results, strict=True):
        w.bind(old, result)


def _defer(w: UpstreamWriter, op: Operation) -> None:
    """Emits nothing: constants and ramps are emitted where their value is needed, as most are only indices of
    accesses.
    """


def _bitcast(w: UpstreamWriter, op: arith.BitcastOp) -> None:
    """Emits a bitcast; none between `ui8` and `i8`."""
    w.bind(op.result, reinterpret_bits(w, w.value(op.operands[0]), lower_type(op.result.type)))


def _abs(w: UpstreamWriter, op: math.AbsIOp) -> None:
    if dtype_of(op.operands[0].type).kind == "uint":
        w.bind(op.result, w.value(op.operands[0]))
    else:
        _copy(w, op)


def _let(w: UpstreamWriter, op: LetOp) -> None:
    if isinstance(op.value.type, HandleType):
        w.pointers[op.result] = w.pointer(op.value)
        return
    if op.value in w.indices:
        w.indices[op.result] = w.indices[op.value]
    else:
        w.bind(op.result, w.value(op.value))


def _floormod(w: UpstreamWriter, op: FloormodOp) -> None:
    """The truncated remainder, plus the divisor where their signs differ."""
    lhs, rhs = w.value(op.lhs), w.value(op.rhs)
    zero = w.constant(0, lhs.type)
    rest = w.op(arith.RemSIOp, lhs, rhs)
    differ = compare(w, "slt", w.op(arith.XOrIOp, rest, rhs), zero)
    moves = w.op(arith.AndIOp, compare(w, "ne", rest, zero), differ)
    w.bind(op.result, emit_select(w, moves, w.op(arith.AddiOp, rest, rhs), rest))


def emit_select(w: UpstreamWriter, condition: SSAValue, then: SSAValue, orelse: SSAValue) -> SSAValue:
    return w.make(arith.SelectOp, [condition, then, orelse], [then.type]).result


def _min(w: UpstreamWriter, op: MinOp) -> None:
    lhs, rhs = w.value(op.lhs), w.value(op.rhs)
    w.bind(op.result, emit_select(w, compare(w, "olt", lhs, rhs), lhs, rhs))


def _max(w: UpstreamWriter, op: MaxOp) -> None:
    lhs, rhs = w.value(op.lhs), w.value(op.rhs)
    w.bind(op.result, emit_select(w, compare(w, "ogt", lhs, rhs), lhs, rhs))


# Vectors


def _ramp(w: UpstreamWriter, op: RampOp) -> SSAValue:
    """base + stride * [0, 1, 2, ...]"""
    type = lower_type(op.result.type)
    assert isinstance(type, VectorType)
    base, stride = (w.op(vector.BroadcastOp, w.value(v), type=type) for v in (op.base, op.stride))
    steps = w.dense_constant(range(op.lanes), type)
    return w.op(arith.AddiOp, base, w.op(arith.MuliOp, stride, steps))


def _shuffle(w: UpstreamWriter, op: ShuffleOp) -> None:
    vectors = [w.value(v) for v in op.vectors]
    indices, type = op.lane_indices, lower_type(op.result.type)
    if isinstance(type, VectorType) and all(isinstance(v.type, VectorType) for v in vectors) and len(vectors) <= 2:
        mask = DenseArrayBase.from_list(i64, indices)
        both = vectors * 2 if len(vectors) == 1 else vectors
        w.bind(op.result, w.insert(vector.ShuffleOp(both[0], both[1], mask, result_type=type)).result)
        return
    lanes = [(v, n) for v in vectors for n in range(dtype_of(v.type).lanes)]
    picked = [v if not isinstance(v.type, VectorType) else lane(w, v, n) for v, n in (lanes[i] for i in indices)]
    w.bind(op.result, from_lanes(w, picked, type) if isinstance(type, VectorType) else picked[0])


def from_lanes(w: UpstreamWriter, lanes: list[SSAValue], type: VectorType[Attribute]) -> SSAValue:
    """The vector with the lanes `lanes`."""
    result = w.constant(0.0 if dtype_of(type).is_float else 0, type)
    for n, value in enumerate(lanes):
        result = w.insert(vector.InsertOp(value, result, [n])).result
    return result


def per_lane(w: UpstreamWriter, args: list[SSAValue], type: Attribute, build: Callable[..., SSAValue]) -> SSAValue:
    """Applies `build` to the scalars of each lane of `args`, or to `args` if these are scalars."""
    if not isinstance(type, VectorType):
        return build(*args)
    lanes = [build(*(lane(w, a, n) for a in args)) for n in range(type.get_shape()[0])]
    return from_lanes(w, lanes, type)


# Intrinsics


def _intrinsic(w: UpstreamWriter, op: IntrinsicOp) -> None:
    w.bind(op.result, _INTRINSICS[op.intrinsic.data](w, op))


def _call_llvm(w: UpstreamWriter, op: CallLlvmOp) -> None:
    kinds = (lower_type(mlir_type(parse_dtype(kind))) for kind in op.definition.operands)
    args = [reinterpret_bits(w, w.value(arg), kind) for arg, kind in zip(op.args, kinds, strict=True)]
    call = llvm.CallIntrinsicOp(op.intrinsic.data, args, [lower_type(op.result.type)])
    w.bind(op.result, w.insert(call).results[0])


def _in(w: UpstreamWriter, op: IntrinsicOp, dtype: DType, build: Callable[[list[SSAValue]], SSAValue]) -> SSAValue:
    """The result of `build` on the operands converted to `dtype`, rounded back once."""
    have = dtype_of(op.result.type)
    want = dtype.with_lanes(have.lanes)

    def operand(value: SSAValue) -> SSAValue:
        type = dtype_of(value.type)
        return convert_value(w, w.value(value), type, want) if type.is_float else w.value(value)

    return convert_value(w, build([operand(a) for a in op.args]), want, have)


def _compute_dtype(op: IntrinsicOp, half: DType) -> DType:
    """The data type of the computation: the operand's own, `half` for types of at most 16 bits."""
    scalar = dtype_of(op.args[0].type).scalar
    return half if scalar.bits <= 16 else scalar


def _sigmoid(w: UpstreamWriter, op: IntrinsicOp) -> SSAValue:
    def build(args: list[SSAValue]) -> SSAValue:
        one = w.constant(1.0, args[0].type)
        minus = w.op(arith.NegfOp, args[0])
        return w.op(arith.DivfOp, one, w.op(arith.AddfOp, one, w.op(math.ExpOp, minus)))

    return _in(w, op, _compute_dtype(op, _F32), build)


def _exp10(w: UpstreamWriter, op: IntrinsicOp) -> SSAValue:
    def build(args: list[SSAValue]) -> SSAValue:
        return w.op(math.PowFOp, w.constant(10.0, args[0].type), args[0])

    return _in(w, op, _compute_dtype(op, _F32), build)


def _libm(name: str, half: DType, integer: bool = False) -> Callable[[UpstreamWriter, IntrinsicOp], SSAValue]:
    """A call of a function of the C library, for float or double; `integer`: its second operand is an int."""

    def lower(w: UpstreamWriter, op: IntrinsicOp) -> SSAValue:
        dtype = _compute_dtype(op, half)
        symbol = name + ("f" if dtype.bits == 32 else "")

        def call(*args: SSAValue) -> SSAValue:
            types = [args[0].type]
            callee = w.module.declare_external(w, symbol, [a.type for a in args], types)
            return w.module.call_named(w, callee, args, types)[0]

        def build(args: list[SSAValue]) -> SSAValue:
            if integer:
                args = [args[0], _to_int32(w, args[1], dtype_of(op.args[1].type))]
            return per_lane(w, args, args[0].type, call)

        return _in(w, op, dtype, build)

    return lower


def _to_int32(w: UpstreamWriter, value: SSAValue, have: DType) -> SSAValue:
    """An exponent clamped to a C int; the result of a larger exponent is infinity or zero anyway."""
    if have.bits > 32:
        low, high = w.constant(-(2**31), value.type), w.constant(2**31 - 1, value.type)
        if have.kind == "int":
            value = w.op(arith.MaxSIOp, w.op(arith.MinSIOp, value, high), low)
        else:
            value = w.op(arith.MinUIOp, value, high)
    elif have.bits == 32 and have.kind == "uint":
        value = w.op(arith.MinUIOp, value, w.constant(2**31 - 1, value.type))
    return convert_value(w, value, have, DType("int", 32, have.lanes))


def _nextafter(w: UpstreamWriter, op: IntrinsicOp) -> SSAValue:
    """The float whose bits are those of `x` plus or minus one: floats of one sign are ordered as their bits."""
    x, y = (w.value(a) for a in op.args)
    dtype = dtype_of(x.type)
    if dtype.bits < 16:
        raise unsupported_op_error(op, f"nextafter of {dtype}")
    bits_type = mlir_type(DType("int", dtype.bits, dtype.lanes))
    zero, one = w.constant(0.0, x.type), w.constant(1, bits_type)
    bits = reinterpret_bits(w, x, bits_type)
    away = compare(w, "eq", compare(w, "olt", x, y), compare(w, "ogt", x, zero))
    neighbour = w.op(arith.AddiOp, bits, emit_select(w, away, one, w.constant(-1, bits_type)))
    smallest = w.op(math.CopySignOp, reinterpret_bits(w, one, x.type), y)
    result = emit_select(w, compare(w, "oeq", x, zero), smallest, reinterpret_bits(w, neighbour, x.type))
    result = emit_select(w, compare(w, "oeq", x, y), y, result)
    return emit_select(w, compare(w, "uno", x, y), w.op(arith.AddfOp, x, y), result)


def _is_special(w: UpstreamWriter, op: IntrinsicOp) -> SSAValue:
    """isnan, isinf, isfinite; integers are finite."""
    name, value = op.intrinsic.data, w.value(op.args[0])
    dtype = dtype_of(value.type)
    if not dtype.is_float:
        return w.constant(int(name == "isfinite"), lower_type(op.result.type))
    if not dtype.format.has_infinity:
        value = convert_value(w, value, dtype, _F32.with_lanes(dtype.lanes))
    if name == "isnan":
        return compare(w, "uno", value, value)
    magnitude = w.op(math.AbsFOp, value)
    return compare(w, "oeq" if name == "isinf" else "olt", magnitude, w.constant(float("inf"), value.type))


def _is_null(w: UpstreamWriter, op: IntrinsicOp) -> SSAValue:
    return compare(w, "eq", reinterpret_bits(w, w.value(op.args[0]), I64), w.constant(0, I64))


def _likely(w: UpstreamWriter, op: IntrinsicOp) -> SSAValue:
    return w.value(op.args[0])


def _q_multiply_shift(w: UpstreamWriter, op: IntrinsicOp) -> SSAValue:
    """`x * y * 2**(s - q)` in 64 bits, rounded to the nearest, halves up.

    `y` is a fixed-point number with `q` fractional bits.
    """
    lanes = dtype_of(op.result.type).lanes
    wide = mlir_type(DType("int", 64, lanes))
    x, y, q, s = (
        convert_value(w, _lanes(w, w.value(a), lanes), dtype_of(a.type).with_lanes(lanes), DType("int", 64, lanes))
        for a in op.args
    )
    zero, one = w.constant(0, wide), w.constant(1, wide)
    left = w.op(arith.MaxSIOp, s, zero)
    right = w.op(arith.AddiOp, q, w.op(arith.MaxSIOp, w.op(arith.SubiOp, zero, s), zero))
    product = w.op(arith.MuliOp, w.op(arith.ShLIOp, x, left), y)
    half = w.op(arith.ShLIOp, one, w.op(arith.SubiOp, right, one))
    shifted = w.op(arith.ShRSIOp, w.op(arith.AddiOp, product, half), right)
    return convert_value(w, shifted, DType("int", 64, lanes), dtype_of(op.result.type))


def _lanes(w: UpstreamWriter, value: SSAValue, lanes: int) -> SSAValue:
    if lanes == 1 or isinstance(value.type, VectorType):
        return value
    return w.op(vector.BroadcastOp, value, type=vector_type(value.type, lanes))


_INTRINSICS: dict[str, Callable[[UpstreamWriter, IntrinsicOp], SSAValue]] = {
    "exp10": _exp10,
    "fmod": _libm("fmod", _F32),
    "hypot": _libm("hypot", _F32),
    "isfinite": _is_special,
    "isinf": _is_special,
    "isnan": _is_special,
    "isnullptr": _is_null,
    "ldexp": _libm("ldexp", _F64, integer=True),
    "likely": _likely,
    "nextafter": _nextafter,
    "q_multiply_shift": _q_multiply_shift,
    "sigmoid": _sigmoid,
}


HANDLERS: Handlers = {
    **{op: _copy for dialect in (arith.Arith, math.Math, vector.Vector) for op in dialect.operations},
    **indices.handlers(_copy, _copy, _floormod, casts.lower_cast),
    llvm.CallIntrinsicOp: _copy,
    arith.ConstantOp: _defer,
    ConstOp: _defer,
    RampOp: _defer,
    SymbolOp: _defer,
    arith.BitcastOp: _bitcast,
    math.AbsIOp: _abs,
    LetOp: _let,
    MinOp: _min,
    MaxOp: _max,
    ShuffleOp: _shuffle,
    IntrinsicOp: _intrinsic,
    CallLlvmOp: _call_llvm,
}

LATE: dict[type[Operation], Callable[[UpstreamWriter, RampOp], SSAValue]] = {RampOp: _ramp}
"""Operations that are emitted where their value is needed."""
