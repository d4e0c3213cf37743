"""Lowering of the `math` dialect: LLVM intrinsics with an instruction or a common libm name, else libm calls.

Results for NaN, infinities and out-of-domain arguments are libm's. `ipowi` wraps; its result for a negative power is 1,
-1 or 0 (0 also for base 0). `fpowi` is `pow` in f64.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import math
from xdsl.dialects.builtin import Float32Type, IndexType, i64
from xdsl.ir import Attribute, Operation

from ...core.dtypes import element_type_of, is_small_float
from .arith import fast_math, llvm_sign_bit, refuse_small_float
from .function import LlvmFunctionEmitter, Lowerings, call_instruction
from .types import lane_count, register_type, splat, splat_int

_INTRINSICS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.Exp2Op: "exp2",
    math.ExpOp: "exp",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.Log10Op: "log10",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundEvenOp: "roundeven",
    math.RoundOp: "round",
    math.SinOp: "sin",
    math.SqrtOp: "sqrt",
    math.TruncOp: "trunc",
}

# LLVM's intrinsics for these are recent or missing, and an unsupported one is a fatal error that ends the process.
_LIBM: dict[type[Operation], str] = {
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.Atan2Op: "atan2",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpM1Op: "expm1",
    math.Log1pOp: "log1p",
    math.SinhOp: "sinh",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
}

_LIBM_ATTRIBUTES = "nounwind willreturn memory(none)"  # errno is never read

_ONE = "0x3FF0000000000000"

_BIT_COUNTS: dict[type[Operation], str] = {math.CtPopOp: "ctpop"}
_ZERO_COUNTS: dict[type[Operation], str] = {math.CountLeadingZerosOp: "ctlz", math.CountTrailingZerosOp: "cttz"}


def _intrinsic(f: LlvmFunctionEmitter, op: Operation) -> None:
    refuse_small_float(op)
    kind = register_type(op.results[0].type)
    arguments = [(kind, operand) for operand in f.operands(op.operands)]
    f.define(op.results[0], f.intrinsic(_INTRINSICS[type(op)], kind, arguments, fast_math(op)))


def _libm(f: LlvmFunctionEmitter, op: Operation) -> None:
    refuse_small_float(op)
    type_ = op.results[0].type
    scalar = register_type(element_type_of(type_))
    name = _LIBM[type(op)] + ("f" if scalar == "float" else "")
    callee = f.module.declare(name, scalar, [scalar] * len(op.operands), _LIBM_ATTRIBUTES)
    emit_per_lane(
        f, op, lambda *operands: call_instruction(callee, scalar, [(scalar, x) for x in operands], fast_math(op))
    )


def emit_per_lane(f: LlvmFunctionEmitter, op: Operation, instruction: Callable[..., str]) -> None:
    """Computes the result of `op` by a scalar instruction per lane of its operands."""
    (result,), count = op.results, lane_count(op.results[0].type)
    operands = f.operands(op.operands)
    if count is None:
        f.define(result, instruction(*operands))
        return
    kinds = [register_type(operand.type) for operand in op.operands]
    vector, scalar = register_type(result.type), register_type(element_type_of(result.type))
    result_vector = "poison"
    for lane in range(count):
        parts = [
            f.emit_value(f"extractelement {kind} {x}, i64 {lane}") for kind, x in zip(kinds, operands, strict=True)
        ]
        result_vector = f.emit_value(
            f"insertelement {vector} {result_vector}, {scalar} {f.emit_value(instruction(*parts))}, i64 {lane}"
        )
    f.bind(result, result_vector)


def _absf(f: LlvmFunctionEmitter, op: math.AbsFOp) -> None:
    kind = register_type(op.result.type)
    if is_small_float(op.result.type):
        f.define(op.result, f"and {kind} {f.operand(op.operand)}, {splat_int(llvm_sign_bit(op) - 1, kind)}")
    else:
        _intrinsic(f, op)


def _copysign(f: LlvmFunctionEmitter, op: math.CopySignOp) -> None:
    if not is_small_float(op.result.type):
        _intrinsic(f, op)
        return
    kind, bit = register_type(op.result.type), llvm_sign_bit(op)
    magnitude, sign = f.operands(op.operands)
    magnitude = f.emit_value(f"and {kind} {magnitude}, {splat_int(bit - 1, kind)}")
    sign = f.emit_value(f"and {kind} {sign}, {splat_int(bit, kind)}")
    f.define(op.result, f"or {kind} {magnitude}, {sign}")


def _absi(f: LlvmFunctionEmitter, op: math.AbsIOp) -> None:
    _intrinsic_with_flag(f, op, "abs")


def _count_zeros(f: LlvmFunctionEmitter, op: math.CountLeadingZerosOp) -> None:
    _intrinsic_with_flag(f, op, _ZERO_COUNTS[type(op)])


def _intrinsic_with_flag(f: LlvmFunctionEmitter, op: Operation, name: str) -> None:
    """Emits an intrinsic whose second argument, whether the edge case (smallest integer, zero) is poison, is false."""
    kind = register_type(op.results[0].type)
    f.define(op.results[0], f.intrinsic(name, kind, [(kind, f.operand(op.operands[0])), ("i1", "false")]))


def _count_bits(f: LlvmFunctionEmitter, op: math.CtPopOp) -> None:
    kind = register_type(op.result.type)
    f.define(op.result, f.intrinsic(_BIT_COUNTS[type(op)], kind, [(kind, f.operand(op.operand))]))


def _rsqrt(f: LlvmFunctionEmitter, op: math.RsqrtOp) -> None:
    refuse_small_float(op)
    kind, flags = register_type(op.result.type), fast_math(op)
    root = f.emit_value(f.intrinsic("sqrt", kind, [(kind, f.operand(op.operand))], flags))
    f.define(op.result, f"fdiv {flags + ' ' if flags else ''}{kind} {splat(_ONE, op.result.type)}, {root}")


def _fpowi(f: LlvmFunctionEmitter, op: math.FPowIOp) -> None:
    refuse_small_float(op)
    count, kind = lane_count(op.result.type), register_type(op.result.type)
    wide = "double" if count is None else f"<{count} x double>"
    power = f.emit_value(f"sitofp {register_type(op.rhs.type)} {f.operand(op.rhs)} to {wide}")
    narrow = isinstance(element_type_of(op.result.type), Float32Type)
    base = f.emit_value(f"fpext {kind} {f.operand(op.lhs)} to {wide}") if narrow else f.operand(op.lhs)
    result = f.emit_value(f.intrinsic("pow", wide, [(wide, base), (wide, power)], fast_math(op)))
    f.bind(op.result, f.emit_value(f"fptrunc {wide} {result} to {kind}") if narrow else result)


def _ipowi(f: LlvmFunctionEmitter, op: math.IPowIOp) -> None:
    scalar = _integer_type(op.result.type)
    name = f"ipowi.{scalar}"
    callee = f.module.helper(name, lambda: _ipowi_helper(name, scalar))
    emit_per_lane(f, op, lambda *operands: call_instruction(callee, scalar, [(scalar, x) for x in operands]))


def _integer_type(type: Attribute) -> str:
    scalar = element_type_of(type)
    return register_type(i64 if isinstance(scalar, IndexType) else scalar)


def _ipowi_helper(name: str, t: str) -> str:
    """The text of binary exponentiation. A negative power of a base other than 1 and -1 truncates to 0."""
    return f"""define internal {t} @{name}({t} %base, {t} %power) nounwind {{
entry:
  %negative = icmp slt {t} %power, 0
  br i1 %negative, label %inverse, label %loop
inverse:
  %parity = and {t} %power, 1
  %odd = icmp ne {t} %parity, 0
  %is_one = icmp eq {t} %base, 1
  %is_minus_one = icmp eq {t} %base, -1
  %sign = select i1 %odd, {t} -1, {t} 1
  %unit = select i1 %is_minus_one, {t} %sign, {t} 0
  %inverted = select i1 %is_one, {t} 1, {t} %unit
  ret {t} %inverted
loop:
  %rest = phi {t} [ %power, %entry ], [ %rest.next, %loop ]
  %square = phi {t} [ %base, %entry ], [ %square.next, %loop ]
  %result = phi {t} [ 1, %entry ], [ %result.next, %loop ]
  %bit = and {t} %rest, 1
  %take = icmp ne {t} %bit, 0
  %product = mul {t} %result, %square
  %result.next = select i1 %take, {t} %product, {t} %result
  %square.next = mul {t} %square, %square
  %rest.next = lshr {t} %rest, 1
  %done = icmp eq {t} %rest.next, 0
  br i1 %done, label %exit, label %loop
exit:
  ret {t} %result.next
}}"""


LOWERINGS: Lowerings = {
    **dict.fromkeys(_INTRINSICS, _intrinsic),
    **dict.fromkeys(_LIBM, _libm),
    **dict.fromkeys(_BIT_COUNTS, _count_bits),
    **dict.fromkeys(_ZERO_COUNTS, _count_zeros),
    math.AbsFOp: _absf,
    math.CopySignOp: _copysign,
    math.AbsIOp: _absi,
    math.RsqrtOp: _rsqrt,
    math.FPowIOp: _fpowi,
    math.IPowIOp: _ipowi,
}
