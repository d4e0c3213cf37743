"""f16 and bf16 to and from f32 and f64, on their bits.

bf16 is always converted by integer operations, f16 too unless the target has instructions for it (`native_half`):
what LLVM would otherwise call (`__truncsfbf2`, `__extendhfsf2`, ...) need not exist in the process. Every conversion
rounds once, to nearest even; a NaN stays a (quiet) NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, VectorType
from xdsl.ir import Attribute

from .function import FunctionEmitter, call
from .types import condition_type, element_type, lanes, mangle, splat, splat_int


def _vector(scalar: str, type: Attribute) -> str:
    count = lanes(type)
    return scalar if count is None else f"<{count} x {scalar}>"


def extend(f: FunctionEmitter, bits: str, source: Attribute, target: Attribute) -> str:
    """The f32 or f64 value of the half floats `bits`. Exact."""
    wide = _from_bf16(f, bits, source) if isinstance(element_type(source), BFloat16Type) else _from_f16(f, bits, source)
    if isinstance(element_type(target), Float32Type):
        return wide
    return f.op(f"fpext {_vector('float', source)} {wide} to {_vector('double', source)}")


def truncate(f: FunctionEmitter, value: str, source: Attribute, target: Attribute) -> str:
    """The bits of the half float nearest to an f32 or f64."""
    if isinstance(element_type(source), Float64Type):
        value = _round_to_odd(f, value, source)
    return _to_bf16(f, value, target) if isinstance(element_type(target), BFloat16Type) else _to_f16(f, value, target)


def native_type(type: Attribute) -> str:
    """The LLVM type of a half float in a call of C code."""
    return "half" if isinstance(type, Float16Type) else "bfloat"


def _round_to_odd(f: FunctionEmitter, value: str, type: Attribute) -> str:
    """An f64 as f32, inexact results with an odd last bit: rounding that once more gives what rounding once gives
    (f32 has more than two bits more than either half float)."""
    f32, f64, i32, i1 = (_vector(scalar, type) for scalar in ("float", "double", "i32", "i1"))
    near = f.op(f"fptrunc {f64} {value} to {f32}")
    back = f.op(f"fpext {f32} {near} to {f64}")
    bits = f.op(f"bitcast {f32} {near} to {i32}")
    inexact = f.op(f"fcmp one {f64} {back}, {value}")
    magnitudes = [f.op(f.intrinsic("fabs", f64, [(f64, operand)])) for operand in (back, value)]
    above = f.op(f"fcmp ogt {f64} {magnitudes[0]}, {magnitudes[1]}")
    down = f.op(f"sub {i32} {bits}, {f.op(f'zext {i1} {above} to {i32}')}")
    odd = f.op(f"or {i32} {down}, {f.op(f'zext {i1} {inexact} to {i32}')}")
    return f.op(f"bitcast {i32} {odd} to {f32}")


def _from_bf16(f: FunctionEmitter, bits: str, type: Attribute) -> str:
    i16, i32 = _vector("i16", type), _vector("i32", type)
    wide = f.op(f"shl {i32} {f.op(f'zext {i16} {bits} to {i32}')}, {splat_int(16, i32)}")
    return f.op(f"bitcast {i32} {wide} to {_vector('float', type)}")


def _to_bf16(f: FunctionEmitter, value: str, type: Attribute) -> str:
    i16, i32, f32 = (_vector(scalar, type) for scalar in ("i16", "i32", "float"))
    bits = f.op(f"bitcast {f32} {value} to {i32}")
    high = f.op(f"lshr {i32} {bits}, {splat_int(16, i32)}")
    odd = f.op(f"and {i32} {high}, {splat_int(1, i32)}")
    bias = f.op(f"add {i32} {odd}, {splat_int(0x7FFF, i32)}")
    rounded = f.op(f"lshr {i32} {f.op(f'add {i32} {bits}, {bias}')}, {splat_int(16, i32)}")
    quiet = f.op(f"or {i32} {high}, {splat_int(0x40, i32)}")
    nan = f.op(f"fcmp uno {f32} {value}, zeroinitializer" if i32 != "i32" else f"fcmp uno float {value}, 0.0")
    return f.op(f"trunc {i32} {_select(f, nan, i32, quiet, rounded)} to {i16}")


def _from_f16(f: FunctionEmitter, bits: str, type: Attribute) -> str:
    i16, f32 = _vector("i16", type), _vector("float", type)
    if f.module.native_half:
        half = f.op(f"bitcast {i16} {bits} to {_vector('half', type)}")
        return f.op(f"fpext {_vector('half', type)} {half} to {f32}")
    name = f"f16.extend.{mangle(i16)}"
    return f.op(call(f.module.helper(name, lambda: _extend_helper(name, type)), f32, [(i16, bits)]))


def _to_f16(f: FunctionEmitter, value: str, type: Attribute) -> str:
    i16, f32 = _vector("i16", type), _vector("float", type)
    if f.module.native_half:
        half = f.op(f"fptrunc {f32} {value} to {_vector('half', type)}")
        return f.op(f"bitcast {_vector('half', type)} {half} to {i16}")
    name = f"f16.truncate.{mangle(i16)}"
    return f.op(call(f.module.helper(name, lambda: _truncate_helper(name, type)), i16, [(f32, value)]))


def _select(f: FunctionEmitter, condition: str, type: str, then: str, otherwise: str) -> str:
    return f.op(f"select {condition_type(type)} {condition}, {type} {then}, {type} {otherwise}")


def _extend_helper(name: str, type: Attribute) -> str:
    """Subnormals are `mantissa * 2**-24`, which is exact and needs no subnormal f32 (they may be flushed to 0)."""
    i16, i32, f32, i1 = (_vector(scalar, type) for scalar in ("i16", "i32", "float", "i1"))
    c = _constants(i32)
    scale = splat("0x3E70000000000000", _float_type(type))  # 2**-24
    return f"""define internal {f32} @{name}({i16} %half) alwaysinline nounwind {{
  %bits = zext {i16} %half to {i32}
  %sign16 = and {i32} %bits, {c(0x8000)}
  %sign = shl {i32} %sign16, {c(16)}
  %magnitude = and {i32} %bits, {c(0x7FFF)}
  %mantissa = and {i32} %bits, {c(0x3FF)}
  %shifted = shl {i32} %magnitude, {c(13)}
  %normal = add {i32} %shifted, {c(112 << 23)}
  %small = uitofp {i32} %mantissa to {f32}
  %scaled = fmul {f32} %small, {scale}
  %subnormal = bitcast {f32} %scaled to {i32}
  %payload = shl {i32} %mantissa, {c(13)}
  %is_inf = icmp eq {i32} %mantissa, {c(0)}
  %quiet = select {i1} %is_inf, {i32} {c(0x7F800000)}, {i32} {c(0x7FC00000)}
  %special = or {i32} %payload, %quiet
  %is_small = icmp ult {i32} %magnitude, {c(0x400)}
  %is_special = icmp uge {i32} %magnitude, {c(0x7C00)}
  %finite = select {i1} %is_small, {i32} %subnormal, {i32} %normal
  %value = select {i1} %is_special, {i32} %special, {i32} %finite
  %signed = or {i32} %value, %sign
  %result = bitcast {i32} %signed to {f32}
  ret {f32} %result
}}"""


def _truncate_helper(name: str, type: Attribute) -> str:
    """Normal results round by an integer addition that carries into the exponent; subnormal ones by the addition of
    0.5, whose last bit is the unit of f16's subnormals."""
    i16, i32, f32, i1 = (_vector(scalar, type) for scalar in ("i16", "i32", "float", "i1"))
    c = _constants(i32)
    half = splat("0x3FE0000000000000", _float_type(type))  # 0.5
    return f"""define internal {i16} @{name}({f32} %value) alwaysinline nounwind {{
  %bits = bitcast {f32} %value to {i32}
  %high = lshr {i32} %bits, {c(16)}
  %sign = and {i32} %high, {c(0x8000)}
  %magnitude = and {i32} %bits, {c(0x7FFFFFFF)}
  %last = lshr {i32} %magnitude, {c(13)}
  %odd = and {i32} %last, {c(1)}
  %rebased = sub {i32} %magnitude, {c((112 << 23) - 0xFFF)}
  %carried = add {i32} %rebased, %odd
  %normal = lshr {i32} %carried, {c(13)}
  %absolute = bitcast {i32} %magnitude to {f32}
  %sum = fadd {f32} %absolute, {half}
  %sumbits = bitcast {f32} %sum to {i32}
  %subnormal = sub {i32} %sumbits, {c(0x3F000000)}
  %payload = and {i32} %last, {c(0x3FF)}
  %nan = or {i32} %payload, {c(0x7E00)}
  %is_nan = icmp ugt {i32} %magnitude, {c(0x7F800000)}
  %special = select {i1} %is_nan, {i32} %nan, {i32} {c(0x7C00)}
  %is_small = icmp ult {i32} %magnitude, {c(0x38800000)}
  %is_special = icmp uge {i32} %magnitude, {c(0x47800000)}
  %finite = select {i1} %is_small, {i32} %subnormal, {i32} %normal
  %half = select {i1} %is_special, {i32} %special, {i32} %finite
  %signed = or {i32} %half, %sign
  %result = trunc {i32} %signed to {i16}
  ret {i16} %result
}}"""


def _constants(type: str) -> Callable[[int], str]:
    return lambda value: splat_int(value, type)


def _float_type(type: Attribute) -> Attribute:
    count = lanes(type)
    return Float32Type() if count is None else VectorType(Float32Type(), [count])
