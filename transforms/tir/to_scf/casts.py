"""Conversions between scalar types, lane by lane on vectors, and reinterpretation of bits."""

from __future__ import annotations

from xdsl.dialects import arith, llvm, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....core.dtypes import DType, dtype_of, mlir_type
from ....dialects.tir import CastOp, HandleType, ReinterpretOp
from .types import I64, POINTER, lower_type
from .writer import Handlers, UpstreamWriter


def convert_value(w: UpstreamWriter, value: SSAValue, have: DType, want: DType) -> SSAValue:
    """`value`, of the `tir` data type `have`, converted to `want`."""
    have, want = have.with_lanes(have.lanes), want.with_lanes(have.lanes)
    type = lower_type(mlir_type(want))
    if have == want:
        return value
    if want.is_bool:
        return _nonzero(w, value, have)
    if have.is_float and want.is_float:
        return _resize_float(w, value, have, want, type)
    if have.is_float:
        return w.op(arith.FPToSIOp if want.kind == "int" else arith.FPToUIOp, value, type=type)
    if want.is_float:
        return w.op(arith.SIToFPOp if have.kind == "int" else arith.UIToFPOp, value, type=type)
    if have.bits == want.bits:
        return value
    if want.bits < have.bits:
        return w.op(arith.TruncIOp, value, type=type)
    return w.op(arith.ExtSIOp if have.kind == "int" else arith.ExtUIOp, value, type=type)


def _nonzero(w: UpstreamWriter, value: SSAValue, have: DType) -> SSAValue:
    """Whether a number differs from zero, as a bool; NaN does."""
    if have.is_float:
        if not have.format.semantics.has_zero:
            return w.constant(1, mlir_type(DType("bool", 1, have.lanes)))
        return compare(w, "une", value, w.constant(0.0, value.type))
    return compare(w, "ne", value, w.constant(0, value.type))


def compare(w: UpstreamWriter, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Emits arith.cmpf or arith.cmpi, depending on the type of the operands."""
    cls = arith.CmpfOp if dtype_of(lhs.type).is_float else arith.CmpiOp
    return w.insert(cls(lhs, rhs, predicate)).result


def _resize_float(w: UpstreamWriter, value: SSAValue, have: DType, want: DType, type: Attribute) -> SSAValue:
    """A float in another format, rounded as by numpy and ml_dtypes: by way of f32 from f64 to types of ml_dtypes, and
    between small types.
    """
    single = mlir_type(DType("float", 32, have.lanes))
    if have.bits < 32 and want.bits < 32:
        value = w.op(arith.ExtFOp, value, type=single)
    elif have.bits == 64 and want.bits < 32 and want.kind != "float":
        value = w.op(arith.TruncFOp, value, type=single)
    return w.op(arith.ExtFOp if have.bits < want.bits and want.bits >= 32 else arith.TruncFOp, value, type=type)


def lower_cast(w: UpstreamWriter, op: CastOp) -> None:
    w.bind(op.result, convert_value(w, w.value(op.value), dtype_of(op.value.type), dtype_of(op.result.type)))


def _reinterpret(w: UpstreamWriter, op: ReinterpretOp) -> None:
    have, want = op.value.type, op.result.type
    if isinstance(have, HandleType) and isinstance(want, HandleType):
        w.pointers[op.result] = w.pointer(op.value)
    else:
        w.bind(op.result, reinterpret_bits(w, w.value(op.value), lower_type(want)))


def reinterpret_bits(w: UpstreamWriter, value: SSAValue, type: Attribute) -> SSAValue:
    """The bits of `value` as the upstream type `type`."""
    have = value.type
    if have == type:
        return value
    if have == POINTER:
        return reinterpret_bits(w, w.op(llvm.PtrToIntOp, value, type=I64), type)
    if type == POINTER:
        return w.op(llvm.IntToPtrOp, reinterpret_bits(w, value, I64), type=POINTER)
    if not isinstance(have, VectorType) and not isinstance(type, VectorType):
        return w.op(arith.BitcastOp, value, type=type)
    if not isinstance(have, VectorType):
        value = w.op(vector.BroadcastOp, value, type=VectorType(have, [1]))
        return reinterpret_bits(w, value, type)
    if not isinstance(type, VectorType):
        return lane(w, reinterpret_bits(w, value, VectorType(type, [1])), 0)
    cls = arith.BitcastOp if have.get_shape() == type.get_shape() else vector.BitcastOp
    return w.op(cls, value, type=type)


def lane(w: UpstreamWriter, value: SSAValue, n: int) -> SSAValue:
    """Extracts lane `n` of a vector."""
    assert isinstance(value.type, VectorType)
    return w.insert(vector.ExtractOp(value, [n], value.type.element_type)).result


HANDLERS: Handlers = {ReinterpretOp: _reinterpret}
