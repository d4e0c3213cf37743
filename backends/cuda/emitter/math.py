"""Lowering of the `math` dialect: functions of CUDA's math library, lane by lane on vectors.

NaN, infinities and out-of-domain arguments yield libm's results. The function for f32 has the suffix `f`; fast variants
are never used. `ipowi` wraps and `fpowi` is `pow` in f64, as in `backends.llvm.math`.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import math
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation

from ....core.dtypes import element_type_of, is_small_float
from ...llvm.arith import refuse_small_float
from .arith import (
    bits_constant,
    bits_of_small_float,
    class_of,
    elementwise,
    integer_helper_suffix,
    sign_bit,
    small_float_of_bits,
)
from .expression import INT, WIDTHS, CudaExpr, binary, call, cast, integer_literal, select, to_unsigned, widen
from .function import CudaFunctionEmitter, Lowerings, lowering_unsupported
from .types import float_literal, is_index, scalar_type

FUNCTIONS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.Atan2Op: "atan2",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.ExpOp: "exp",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundEvenOp: "rint",
    math.RoundOp: "round",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}
"""The f64 function of each operation; the f32 function has the suffix `f`."""


def call_math_function(name: str, *arguments: CudaExpr) -> CudaExpr:
    """A call of the math library."""
    type = arguments[0].type
    return call(f"{name}f" if type == "float" else name, type, *arguments)


def _function(_f: CudaFunctionEmitter, op: Operation, values: list[CudaExpr]) -> CudaExpr:
    refuse_small_float(op)
    return call_math_function(FUNCTIONS[class_of(op)], *values)


def _absf(f: CudaFunctionEmitter, op: math.AbsFOp, values: list[CudaExpr]) -> CudaExpr:
    if not is_small_float(op.result.type):
        return _function(f, op, values)
    (value,) = values
    return small_float_of_bits(_mask_bits(value, sign_bit(op) - 1), value.type)


def _mask_bits(value: CudaExpr, bits: int) -> CudaExpr:
    return binary("&", bits_of_small_float(value), bits_constant(bits, value.type), INT)


def _copysign(f: CudaFunctionEmitter, op: math.CopySignOp, values: list[CudaExpr]) -> CudaExpr:
    if not is_small_float(op.result.type):
        return _function(f, op, values)
    magnitude, sign = values
    bit = sign_bit(op)
    return small_float_of_bits(binary("|", _mask_bits(magnitude, bit - 1), _mask_bits(sign, bit), INT), magnitude.type)


def _rsqrt(_f: CudaFunctionEmitter, op: math.RsqrtOp, values: list[CudaExpr]) -> CudaExpr:
    refuse_small_float(op)
    return binary("/", float_literal(1.0, op.result.type), call_math_function("sqrt", *values), values[0].type)


def _fpowi(_f: CudaFunctionEmitter, op: math.FPowIOp, values: list[CudaExpr]) -> CudaExpr:
    refuse_small_float(op)
    base, power = values
    if power.type == "bool":
        power = select(power, integer_literal(-1, INT), integer_literal(0, INT))
    result = call_math_function("pow", cast("double", base) if base.type == "float" else base, cast("double", power))
    return cast("float", result) if isinstance(element_type_of(op.result.type), Float32Type) else result


# integers


def _full_width(op: Operation, value: CudaExpr) -> CudaExpr:
    """An operand in the full width of its type."""
    if value.type == "bool":
        raise lowering_unsupported(op, "not on bools")
    return widen(value) if is_index(op.results[0].type) else value


def _absi(f: CudaFunctionEmitter, op: math.AbsIOp, values: list[CudaExpr]) -> CudaExpr:
    value = _full_width(op, values[0])
    if value.is_nonnegative:
        return value
    low, high = value.bounds
    return call(
        f.helper(f"abs_{integer_helper_suffix(value)}"), value.type, value, range=_absolute_range(value, low, high)
    )


def _absolute_range(value: CudaExpr, low: int, high: int) -> tuple[int, int] | None:
    smallest = -(2 ** (WIDTHS[value.type] - 1))
    return (0, max(-low, high)) if low > smallest else None


def _leading_zeros(_f: CudaFunctionEmitter, op: math.CountLeadingZerosOp, values: list[CudaExpr]) -> CudaExpr:
    value = _full_width(op, values[0])
    bits = WIDTHS[value.type]
    if bits == 64:
        return _cast_count(call("__clzll", INT, value), op, 64)
    if bits == 32:
        return call("__clz", INT, value, range=(0, 32))
    zeros = call("__clz", INT, to_unsigned(value))
    return replace(binary("-", zeros, integer_literal(32 - bits), INT), type=value.type, range=(0, bits))


def _cast_count(count: CudaExpr, op: Operation, bits: int) -> CudaExpr:
    """A number of bits, cast to the type of the result."""
    return cast(scalar_type(op.results[0].type), count, (0, bits))


def _trailing_zeros(f: CudaFunctionEmitter, op: math.CountTrailingZerosOp, values: list[CudaExpr]) -> CudaExpr:
    value = _full_width(op, values[0])
    return call(f.helper(f"cttz_{integer_helper_suffix(value)}"), value.type, value, range=(0, WIDTHS[value.type]))


def _population_count(_f: CudaFunctionEmitter, op: math.CtPopOp, values: list[CudaExpr]) -> CudaExpr:
    value = _full_width(op, values[0])
    bits = WIDTHS[value.type]
    if bits == 64:
        return _cast_count(call("__popcll", INT, value), op, 64)
    return call("__popc", value.type, to_unsigned(value) if bits < 32 else value, range=(0, bits))


def _ipowi(f: CudaFunctionEmitter, op: math.IPowIOp, values: list[CudaExpr]) -> CudaExpr:
    base, power = (_full_width(op, value) for value in values)
    return call(f.helper(f"powi_{integer_helper_suffix(base)}"), base.type, base, power)


LOWERINGS: Lowerings = {
    **dict.fromkeys(FUNCTIONS, elementwise(_function)),
    math.AbsFOp: elementwise(_absf),
    math.CopySignOp: elementwise(_copysign),
    math.RsqrtOp: elementwise(_rsqrt),
    math.FPowIOp: elementwise(_fpowi),
    math.AbsIOp: elementwise(_absi),
    math.CountLeadingZerosOp: elementwise(_leading_zeros),
    math.CountTrailingZerosOp: elementwise(_trailing_zeros),
    math.CtPopOp: elementwise(_population_count),
    math.IPowIOp: elementwise(_ipowi),
}
