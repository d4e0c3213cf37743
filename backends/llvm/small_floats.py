"""Conversion of floats of up to 16 bits to and from f32 and f64, on their bits.

All conversions use integer operations, those of f16 only where the target has no instructions for it (`f16c`):
the functions that LLVM would otherwise call (`__truncsfbf2`, `__extendhfsf2`, ...) need not exist in the process. One
text for each direction serves all formats; cases that a format lacks are left out. Every conversion rounds once, to
nearest even, and agrees with numpy and ml_dtypes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, VectorType
from xdsl.ir import Attribute

from ...core.dtypes import dtype_of, element_type_of, is_small_float
from .function import LlvmFunctionEmitter, LlvmModule, call_instruction
from .types import intrinsic_suffix, lane_count, register_type, splat, splat_int

_F32 = dtype_of(Float32Type()).format
_MANTISSA = _F32.semantics.mantissa_bits
_HIDDEN_BIT = 1 << _MANTISSA
_INFINITY = 0x7F800000
_QUIET_NAN = 0x7FC00000


_TRUNCATION_OF_F64 = "__truncdfhf2"
"""The function of the compiler's library that rounds f64 to f16, which a process need not contain. LLVM moves
`copysign` after roundings, and calls this function for the sign of an f64 that it copies to an f16 then."""


def _vector(scalar: str, type: Attribute) -> str:
    count = lane_count(type)
    return scalar if count is None else f"<{count} x {scalar}>"


def _float(type: Attribute) -> Attribute:
    """f32 with the lanes of a type."""
    count = lane_count(type)
    return Float32Type() if count is None else VectorType(Float32Type(), [count])


def extend(f: LlvmFunctionEmitter, bits: str, source: Attribute, target: Attribute) -> str:
    """The value of small floats `bits` in a wider type. Exact if that type has all values of the small float."""
    wide = _to_f32(f, bits, source)
    if is_small_float(target):
        return _from_f32(f, wide, target)
    if isinstance(element_type_of(target), Float32Type):
        return wide
    return f.emit_value(f"fpext {_vector('float', source)} {wide} to {_vector('double', source)}")


def truncate(f: LlvmFunctionEmitter, value: str, source: Attribute, target: Attribute) -> str:
    """The bits of the small float nearest to a value of a wider type."""
    if is_small_float(source):
        value = _to_f32(f, value, source)
    elif isinstance(element_type_of(source), Float64Type):
        value = _round_to_odd(f, value, source)
    return _from_f32(f, value, target)


def native_type(type: Attribute) -> str | None:
    """The LLVM type of a small float in a call of C code, None if C has no such type."""
    return "half" if isinstance(type, Float16Type) else "bfloat" if isinstance(type, BFloat16Type) else None


def _round_to_odd(f: LlvmFunctionEmitter, value: str, type: Attribute) -> str:
    """An f64 as f32, inexact results with an odd last bit: a second rounding then yields the result of a single
    rounding (f32 has over two bits more than any small float).
    """
    f32, f64, i32, i1 = (_vector(scalar, type) for scalar in ("float", "double", "i32", "i1"))
    near = f.emit_value(f"fptrunc {f64} {value} to {f32}")
    back = f.emit_value(f"fpext {f32} {near} to {f64}")
    bits = f.emit_value(f"bitcast {f32} {near} to {i32}")
    inexact = f.emit_value(f"fcmp one {f64} {back}, {value}")
    magnitudes = [f.emit_value(f.intrinsic("fabs", f64, [(f64, operand)])) for operand in (back, value)]
    above = f.emit_value(f"fcmp ogt {f64} {magnitudes[0]}, {magnitudes[1]}")
    down = f.emit_value(f"sub {i32} {bits}, {f.emit_value(f'zext {i1} {above} to {i32}')}")
    odd = f.emit_value(f"or {i32} {down}, {f.emit_value(f'zext {i1} {inexact} to {i32}')}")
    return f.emit_value(f"bitcast {i32} {odd} to {f32}")


def _to_f32(f: LlvmFunctionEmitter, bits: str, type: Attribute) -> str:
    kind, f32 = register_type(type), _vector("float", type)
    if "f16c" in f.module.instructions and isinstance(element_type_of(type), Float16Type):
        half = f.emit_value(f"bitcast {kind} {bits} to {_vector('half', type)}")
        return f.emit_value(f"fpext {_vector('half', type)} {half} to {f32}")
    name = f"{element_type_of(type).name}.extend.{intrinsic_suffix(kind)}"
    return f.emit_value(
        call_instruction(f.module.helper(name, lambda: _Texts(type).extension(name)), f32, [(kind, bits)])
    )


def _from_f32(f: LlvmFunctionEmitter, value: str, type: Attribute) -> str:
    kind, f32 = register_type(type), _vector("float", type)
    if "f16c" in f.module.instructions and isinstance(element_type_of(type), Float16Type):
        f.module.helper(_TRUNCATION_OF_F64, lambda: _truncation_of_f64(f.module))
        half = f.emit_value(f"fptrunc {f32} {value} to {_vector('half', type)}")
        return f.emit_value(f"bitcast {_vector('half', type)} {half} to {kind}")
    name = f"{element_type_of(type).name}.truncate.{intrinsic_suffix(kind)}"
    return f.emit_value(
        call_instruction(f.module.helper(name, lambda: _Texts(type).truncation(name)), kind, [(f32, value)])
    )


def _truncation_of_f64(module: LlvmModule) -> str:
    """The text of a function that rounds an f64 to f16, and that LLVM keeps though no other function calls it."""
    f = LlvmFunctionEmitter(module)
    odd = _round_to_odd(f, "%value", Float64Type())
    f.emit(f"ret half {f.emit_value(f'fptrunc float {odd} to half')}")
    used = f'@llvm.compiler.used = appending global [1 x ptr] [ptr @{_TRUNCATION_OF_F64}], section "llvm.metadata"'
    return f"{used}\n\n" + f.finish(f"define internal half @{_TRUNCATION_OF_F64}(double %value) nounwind")


class _Texts:
    """The functions in LLVM IR that convert between a small float and f32.

    Exponent and mantissa are shifted together, as an integer. Numbers that are subnormal in the small type are
    converted by a multiplication or an addition instead, which needs no subnormal f32 (those may be flushed to 0); a
    type with the exponents of f32 has none. A case that a format lacks becomes a comparison that LLVM folds to false.
    """

    def __init__(self, type: Attribute) -> None:
        self.type, self.format = type, dtype_of(element_type_of(type)).format
        known = self.semantics = self.format.semantics
        self.bits, self.i32, self.f32, self.i1 = (
            register_type(type), *(_vector(scalar, type) for scalar in ("i32", "float", "i1"))
        )  # fmt: skip
        self.shift = _MANTISSA - known.mantissa_bits
        self.rebase = (_F32.semantics.exponent_bias - known.exponent_bias) << _MANTISSA
        self.unit = 1 - known.exponent_bias - known.mantissa_bits  # of subnormal numbers, as a power of two
        self.magnitude = (1 << known.sign_shift) - 1
        self.sign = 1 << known.sign_shift if known.has_sign else 0
        self.to_sign = 31 - known.sign_shift

    def constant(self, value: int) -> str:
        return splat_int(value, self.i32)

    def power(self, exponent: int) -> str:
        """The f32 of a power of two, which LLVM writes as the bits of the f64."""
        return splat(f"0x{exponent + 1023 << 52:016X}", _float(self.type))

    def extension(self, name: str) -> str:
        """The text of the function from the type to f32."""
        c, i32, i1 = self.constant, self.i32, self.i1
        least, special = "%scaled.bits", f"ugt {i32} %magnitude, {c(self.format.largest_bits)}"
        subnormals = 1 << self.semantics.mantissa_bits if self.rebase else 0
        if not self.semantics.has_zero:
            least, subnormals = c(_HIDDEN_BIT >> 1), 1  # 2**-127, which is subnormal in f32
        if self.semantics.has_sign and not self.format.has_negative_zero:
            special = f"eq {i32} %bits, {c(self.format.nan_bits)}"
        infinity = self.format.largest_bits + 1 if self.format.has_infinity else -1
        return f"""define internal {self.f32} @{name}({self.bits} %small) alwaysinline nounwind {{
  %bits = zext {self.bits} %small to {i32}
  %sign.bit = and {i32} %bits, {c(self.sign)}
  %sign = shl {i32} %sign.bit, {c(self.to_sign)}
  %magnitude = and {i32} %bits, {c(self.magnitude)}
  %shifted = shl {i32} %magnitude, {c(self.shift)}
  %normal = add {i32} %shifted, {c(self.rebase)}
  %number = uitofp {i32} %magnitude to {self.f32}
  %scaled = fmul {self.f32} %number, {self.power(self.unit)}
  %scaled.bits = bitcast {self.f32} %scaled to {i32}
  %is_subnormal = icmp ult {i32} %magnitude, {c(subnormals)}
  %finite = select {i1} %is_subnormal, {i32} {least}, {i32} %normal
  %is_infinite = icmp eq {i32} %magnitude, {c(infinity)}
  %special = select {i1} %is_infinite, {i32} {c(_INFINITY)}, {i32} {c(_QUIET_NAN)}
  %is_special = icmp {special}
  %known = select {i1} %is_special, {i32} %special, {i32} %finite
  %signed = or {i32} %known, %sign
  %result = bitcast {i32} %signed to {self.f32}
  ret {self.f32} %result
}}"""

    def truncation(self, name: str) -> str:
        """The text of the function from f32 to the type. Rounding may carry into the exponent; the range is checked
        afterwards. The last bit of a sum with a large number is the unit of subnormal numbers.
        """
        c, i32, i1, known = self.constant, self.i32, self.i1, self.format
        odd, is_nan = f"and {i32} %last, {c(1)}", f"ugt {i32} %magnitude, {c(_INFINITY)}"
        if not self.semantics.mantissa_bits:
            odd = f"zext {i1} %is_normal to {i32}"
        if not self.semantics.has_sign:  # the format has no zero either
            is_nan = f"uge {i32} %below, {c(_INFINITY)}"
        overflow = (
            known.largest_bits + 1 if known.has_infinity else known.nan_bits if known.has_nan else known.largest_bits
        )
        unsigned = 0 if self.sign and not known.has_negative_zero else -1
        return f"""define internal {self.bits} @{name}({self.f32} %value) alwaysinline nounwind {{
  %bits = bitcast {self.f32} %value to {i32}
  %high = lshr {i32} %bits, {c(self.to_sign)}
  %sign = and {i32} %high, {c(self.sign)}
  %magnitude = and {i32} %bits, {c(0x7FFFFFFF)}
  %below = sub {i32} %bits, {c(1)}
  %last = lshr {i32} %magnitude, {c(self.shift)}
  %is_normal = icmp uge {i32} %magnitude, {c(_HIDDEN_BIT)}
  %odd = {odd}
  %rebased = sub {i32} %magnitude, {c(self.rebase - (1 << self.shift - 1) + 1)}
  %carried = add {i32} %rebased, %odd
  %normal = lshr {i32} %carried, {c(self.shift)}
  %absolute = bitcast {i32} %magnitude to {self.f32}
  %sum = fadd {self.f32} %absolute, {self.power(self.unit + _MANTISSA)}
  %sum.bits = bitcast {self.f32} %sum to {i32}
  %subnormal = sub {i32} %sum.bits, {c(self.unit + _MANTISSA + _F32.semantics.exponent_bias << _MANTISSA)}
  %is_subnormal = icmp ult {i32} %magnitude, {c(self.rebase + _HIDDEN_BIT if self.rebase else 0)}
  %finite = select {i1} %is_subnormal, {i32} %subnormal, {i32} %normal
  %is_large = icmp ugt {i32} %finite, {c(known.largest_bits)}
  %bounded = select {i1} %is_large, {i32} {c(overflow)}, {i32} %finite
  %is_nan = icmp {is_nan}
  %known = select {i1} %is_nan, {i32} {c(known.nan_bits)}, {i32} %bounded
  %known.magnitude = and {i32} %known, {c(self.magnitude)}
  %has_no_sign = icmp eq {i32} %known.magnitude, {c(unsigned)}
  %used_sign = select {i1} %has_no_sign, {i32} {c(0)}, {i32} %sign
  %signed = xor {i32} %known, %used_sign
  %result = trunc {i32} %signed to {self.bits}
  ret {self.bits} %result
}}"""
