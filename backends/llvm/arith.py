"""Lowering of the `arith` dialect.

Semantics where LLVM's are undefined (programs written for other compilers must not trap here):

- integer arithmetic wraps; only overflow flags on the op make overflow undefined;
- division and remainder by zero yield 0; the smallest integer divided by -1 wraps to itself, its remainder is 0;
- a shift by the width or more yields 0, an arithmetic right shift the sign in every bit;
- a float to integer conversion saturates, NaN becomes 0;
- `maxnumf`/`minnumf` ignore one NaN, `maximumf`/`minimumf` propagate it; all four order -0 below +0.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Operation

from ...core.comparisons import predicate_of
from ...core.dtypes import dtype_of, element_type_of, is_small_float
from . import small_floats
from .function import LlvmFunctionEmitter, Lowerings, lowering_unsupported
from .types import (
    bit_width,
    condition_type,
    constant_literal,
    constant_value_of_operand,
    is_bool,
    llvm_float_literal,
    llvm_int_literal,
    register_type,
    splat,
    splat_int,
)

_WRAPPING = {arith.AddiOp: "add", arith.SubiOp: "sub", arith.MuliOp: "mul"}
_BITWISE = {arith.AndIOp: "and", arith.OrIOp: "or", arith.XOrIOp: "xor"}
_INTEGER_EXTREMES = {arith.MinSIOp: "smin", arith.MaxSIOp: "smax", arith.MinUIOp: "umin", arith.MaxUIOp: "umax"}
_FLOAT = {arith.AddfOp: "fadd", arith.SubfOp: "fsub", arith.MulfOp: "fmul", arith.DivfOp: "fdiv"}
_FLOAT_EXTREMES = {
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    arith.MaxnumfOp: "maximumnum",
    arith.MinnumfOp: "minimumnum",
}
_RESIZES = {
    arith.ExtSIOp: "sext",
    arith.ExtUIOp: "zext",
    arith.TruncIOp: "trunc",
    arith.SIToFPOp: "sitofp",
    arith.UIToFPOp: "uitofp",
}
_SATURATING = {arith.FPToSIOp: "fptosi.sat", arith.FPToUIOp: "fptoui.sat"}
_DIVISIONS = {arith.DivSIOp: "sdiv", arith.RemSIOp: "srem", arith.DivUIOp: "udiv", arith.RemUIOp: "urem"}
_REMAINDERS = (arith.RemSIOp, arith.RemUIOp)
_SHIFTS = {arith.ShLIOp: "shl", arith.ShRUIOp: "lshr", arith.ShRSIOp: "ashr"}


def fast_math(op: Operation) -> str:
    """The fast-math flags of `op` in LLVM's syntax."""
    flags = op.properties.get("fastmath", op.attributes.get("fastmath"))
    return " ".join(sorted(flag.value for flag in flags.data)) if isinstance(flags, arith.FastMathFlagsAttr) else ""


def refuse_small_float(op: Operation) -> None:
    """Raises UnsupportedError if `op` computes on floats of at most 16 bits."""
    small = [value.type for value in (*op.operands, *op.results) if is_small_float(value.type)]
    if small:
        raise lowering_unsupported(op, f"arithmetic on {small[0]} must be rewritten first, by legalize-small-floats")


def llvm_sign_bit(op: Operation) -> int:
    """The mask of the sign bit of the result type of `op`, a small float. Raises UnsupportedError for a type without
    -0.
    """
    known = dtype_of(op.results[0].type).format
    if not known.has_negative_zero:
        refuse_small_float(op)
    return 1 << known.semantics.sign_shift


def _constant(f: LlvmFunctionEmitter, op: arith.ConstantOp) -> None:
    f.bind(op.result, constant_literal(op.value))


def _wrapping_arithmetic(f: LlvmFunctionEmitter, op: arith.AddiOp) -> None:
    flags = "".join(f" {flag}" for flag in sorted(flag.value for flag in op.overflow_flags.data))
    _binary(f, op, _WRAPPING[type(op)] + flags)


def _bitwise(f: LlvmFunctionEmitter, op: arith.AndIOp) -> None:
    _binary(f, op, _BITWISE[type(op)])


def _binary(f: LlvmFunctionEmitter, op: Operation, instruction: str) -> None:
    lhs, rhs = f.operands(op.operands)
    f.define(op.results[0], f"{instruction} {register_type(op.results[0].type)} {lhs}, {rhs}")


def _float_arithmetic(f: LlvmFunctionEmitter, op: arith.AddfOp) -> None:
    refuse_small_float(op)
    _binary(f, op, f"{_FLOAT[type(op)]} {fast_math(op)}".rstrip())


def _extreme(f: LlvmFunctionEmitter, op: Operation, name: str) -> None:
    kind = register_type(op.results[0].type)
    arguments = [(kind, operand) for operand in f.operands(op.operands)]
    f.define(op.results[0], f.intrinsic(name, kind, arguments, fast_math(op)))


def _integer_extreme(f: LlvmFunctionEmitter, op: arith.MinSIOp) -> None:
    _extreme(f, op, _INTEGER_EXTREMES[type(op)])


def _float_extreme(f: LlvmFunctionEmitter, op: arith.MaximumfOp) -> None:
    refuse_small_float(op)
    _extreme(f, op, _FLOAT_EXTREMES[type(op)])


def _negf(f: LlvmFunctionEmitter, op: arith.NegfOp) -> None:
    kind, value = register_type(op.result.type), f.operand(op.operand)
    if is_small_float(op.result.type):
        f.define(op.result, f"xor {kind} {value}, {splat_int(llvm_sign_bit(op), kind)}")
    else:
        f.define(op.result, f"fneg {fast_math(op)} {kind} {value}")


def _cmpi(f: LlvmFunctionEmitter, op: arith.CmpiOp) -> None:
    _binary_compare(f, op, "icmp", predicate_of(op))


def _cmpf(f: LlvmFunctionEmitter, op: arith.CmpfOp) -> None:
    refuse_small_float(op)
    _binary_compare(f, op, f"fcmp {fast_math(op)}".rstrip(), predicate_of(op))


def _binary_compare(f: LlvmFunctionEmitter, op: Operation, instruction: str, predicate: str) -> None:
    lhs, rhs = f.operands(op.operands)
    f.define(op.results[0], f"{instruction} {predicate} {register_type(op.operands[0].type)} {lhs}, {rhs}")


def _select(f: LlvmFunctionEmitter, op: arith.SelectOp) -> None:
    condition = f"{register_type(op.cond.type)} {f.operand(op.cond)}"
    types = f.component_types(op.result.type)
    pairs = zip(types, f.components(op.lhs), f.components(op.rhs), strict=True)
    parts = [
        f.emit_value(f"select {condition}, {kind} {lhs}, {kind} {rhs}", op.result.name_hint) for kind, lhs, rhs in pairs
    ]
    f.bind(op.result, f.assemble(op.result.type, parts))


# casts


def _resize(f: LlvmFunctionEmitter, op: arith.ExtSIOp) -> None:
    refuse_small_float(op)
    _cast(f, op, _RESIZES[type(op)])


def _cast(f: LlvmFunctionEmitter, op: Operation, instruction: str) -> None:
    (source,), (result,) = op.operands, op.results
    kinds = register_type(source.type), register_type(result.type)
    if kinds[0] == kinds[1]:
        f.bind(result, f.operand(source))
    else:
        f.define(result, f"{instruction} {kinds[0]} {f.operand(source)} to {kinds[1]}")


def _index_cast(f: LlvmFunctionEmitter, op: arith.IndexCastOp) -> None:
    literal = constant_value_of_operand(f.operand(op.input))
    if literal is not None and not is_bool(op.input.type):
        f.bind(op.result, llvm_int_literal(literal, op.result.type))
    else:
        _cast(f, op, "sext" if bit_width(op.result.type) > bit_width(op.input.type) else "trunc")


def _saturating_cast(f: LlvmFunctionEmitter, op: arith.FPToSIOp) -> None:
    refuse_small_float(op)
    if isinstance(op.result.type, VectorType):
        _saturating_cast_of_vectors(f, op)
        return
    kinds = register_type(op.result.type), register_type(op.input.type)
    f.define(
        op.result, f.intrinsic(_SATURATING[type(op)], kinds[0], [(kinds[1], f.operand(op.input))], overloads=kinds)
    )


def _saturating_cast_of_vectors(f: LlvmFunctionEmitter, op: arith.FPToSIOp) -> None:
    """The plain conversion, replaced in the lanes that are out of range; LLVM converts the lanes of `fptosi.sat` one by
    one. Powers of two are exact bounds in each type."""
    is_signed, bits = type(op) is arith.FPToSIOp, bit_width(op.result.type)
    lowest, highest = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    kind, source, value = register_type(op.result.type), register_type(op.input.type), f.operand(op.input)
    scalar = element_type_of(op.input.type)
    result = f.emit_value(f"{'fptosi' if is_signed else 'fptoui'} {source} {value} to {kind}")
    for comparison, bound, replacement in (
        ("oge", highest + 1, highest),
        ("olt", lowest, lowest),
        ("uno", 0, 0),
    ):
        limit = splat(llvm_float_literal(float(bound), scalar), op.input.type)
        lanes = f.emit_value(f"fcmp {comparison} {source} {value}, {limit}")
        chosen = splat_int(replacement, kind)
        result = f.emit_value(f"select {condition_type(kind)} {lanes}, {kind} {chosen}, {kind} {result}")
    f.bind(op.result, result)


def _extf(f: LlvmFunctionEmitter, op: arith.ExtFOp) -> None:
    if is_small_float(op.input.type):
        f.bind(op.result, small_floats.extend(f, f.operand(op.input), op.input.type, op.result.type))
    else:
        _cast(f, op, "fpext")


def _truncf(f: LlvmFunctionEmitter, op: arith.TruncFOp) -> None:
    if is_small_float(op.result.type):
        f.bind(op.result, small_floats.truncate(f, f.operand(op.input), op.input.type, op.result.type))
    else:
        _cast(f, op, "fptrunc")


def _bitcast(f: LlvmFunctionEmitter, op: arith.BitcastOp) -> None:
    if isinstance(op.input.type, MemRefType):
        f.bind(op.result, f.memref(op.input))
    else:
        _cast(f, op, "bitcast")


# division


class _Division:
    """A division with the divisor replaced by 1 where unsafe, and the conditions of the replacement."""

    def __init__(self, f: LlvmFunctionEmitter, op: Operation, signed: bool) -> None:
        self.f, (lhs, rhs) = f, op.operands
        self.type = register_type(lhs.type)
        self.condition = condition_type(self.type)
        self.lhs, divisor = f.operands((lhs, rhs))
        self.by_zero = self._equals(divisor, 0)
        self.by_minus_one = self._equals(divisor, -1) if signed else None
        unsafe = self._or(self.by_zero, self.by_minus_one)
        self.rhs = divisor if unsafe is None else self.choose(unsafe, self.splat(1), divisor)

    def _equals(self, divisor: str, value: int) -> str | None:
        """The condition that the divisor equals `value`, None for a condition known to be false."""
        literal = constant_value_of_operand(divisor)
        if literal is not None:
            return self.splat(1, "i1") if literal == value else None
        return self.f.emit_value(f"icmp eq {self.type} {divisor}, {self.splat(value)}")

    def _or(self, a: str | None, b: str | None) -> str | None:
        if a is None or b is None:
            return a or b
        return self.f.emit_value(f"or {self.condition} {a}, {b}")

    def splat(self, value: int, scalar: str | None = None) -> str:
        return splat_int(value, self.type if scalar is None else self.condition)

    def choose(self, condition: str, then: str, otherwise: str) -> str:
        return self.f.emit_value(f"select {self.condition} {condition}, {self.type} {then}, {self.type} {otherwise}")

    def apply(self, instruction: str) -> str:
        return self.f.emit_value(f"{instruction} {self.type} {self.lhs}, {self.rhs}")

    def finish(self, quotient: str, is_remainder: bool = False) -> str:
        """`quotient` (or remainder) corrected where the divisor was replaced. A remainder by 1 is 0 already."""
        if is_remainder:
            return quotient
        if self.by_minus_one is not None:
            negated = self.f.emit_value(f"sub {self.type} {self.splat(0)}, {self.lhs}")
            quotient = self.choose(self.by_minus_one, negated, quotient)
        if self.by_zero is not None:
            quotient = self.choose(self.by_zero, self.splat(0), quotient)
        return quotient

    def is_zero(self, value: str, negated: bool = False) -> str:
        return self.f.emit_value(f"icmp {'ne' if negated else 'eq'} {self.type} {value}, {self.splat(0)}")

    def is_negative(self, value: str) -> str:
        return self.f.emit_value(f"icmp slt {self.type} {value}, {self.splat(0)}")

    def adjust(self, quotient: str, condition: str, instruction: str) -> str:
        """`quotient` plus or minus 1 where `condition` holds, by `add` or `sub`."""
        step = self.f.emit_value(f"zext {self.condition} {condition} to {self.type}")
        return self.f.emit_value(f"{instruction} {self.type} {quotient}, {step}")


def _divide(f: LlvmFunctionEmitter, op: arith.DivSIOp) -> None:
    if bit_width(op.lhs.type) == 1:
        _divide_bits(f, op)
    else:
        _DIVIDE[type(op)](f, op)


def _divide_bits(f: LlvmFunctionEmitter, op: arith.DivSIOp) -> None:
    """Emits a division of single bits: the quotient is the dividend for the divisor 1 (equal to -1), and 0 for 0.

    The remainder is always 0.
    """
    lhs, rhs = f.operands((op.lhs, op.rhs)) if not isinstance(op, _REMAINDERS) else ("zeroinitializer",) * 2
    f.bind(op.result, f.emit_value(f"and {register_type(op.lhs.type)} {lhs}, {rhs}"))


def _division(f: LlvmFunctionEmitter, op: arith.DivSIOp) -> None:
    instruction = _DIVISIONS[type(op)]
    division = _Division(f, op, signed=instruction.startswith("s"))
    f.bind(op.result, division.finish(division.apply(instruction), is_remainder=instruction.endswith("rem")))


def _floor_division(f: LlvmFunctionEmitter, op: arith.FloorDivSIOp) -> None:
    divisor = constant_value_of_operand(f.operand(op.rhs))
    if divisor is not None and divisor > 0:
        f.bind(op.result, _floor_by_positive(f, op, divisor))
    else:
        _rounded_division(f, op, up=False)


def _floor_by_positive(f: LlvmFunctionEmitter, op: arith.FloorDivSIOp, divisor: int) -> str:
    """Divides the value or, if it is negative, its complement: neither overflows, and LLVM simplifies the code where
    the sign is known.
    """
    kind, lhs, width = register_type(op.lhs.type), f.operand(op.lhs), bit_width(op.lhs.type)
    if divisor & (divisor - 1) == 0:
        return f.emit_value(f"ashr {kind} {lhs}, {splat_int(divisor.bit_length() - 1, kind)}")
    sign = f.emit_value(f"ashr {kind} {lhs}, {splat_int(width - 1, kind)}")
    magnitude = f.emit_value(f"xor {kind} {lhs}, {sign}")
    return f.emit_value(f"xor {kind} {f.emit_value(f'sdiv {kind} {magnitude}, {splat_int(divisor, kind)}')}, {sign}")


def _ceil_division(f: LlvmFunctionEmitter, op: arith.CeilDivSIOp) -> None:
    _rounded_division(f, op, up=True)


def _rounded_division(f: LlvmFunctionEmitter, op: arith.FloorDivSIOp | arith.CeilDivSIOp, up: bool) -> None:
    division = _Division(f, op, signed=True)
    quotient, remainder = division.apply("sdiv"), division.apply("srem")
    signs = f.emit_value(f"xor {division.type} {remainder}, {division.rhs}")
    differ = division.is_negative(signs)
    if up:
        differ = f.emit_value(f"xor {division.condition} {differ}, {division.splat(1, 'i1')}")
    inexact = division.is_zero(remainder, negated=True)
    wrong = f.emit_value(f"and {division.condition} {inexact}, {differ}")
    f.bind(op.result, division.finish(division.adjust(quotient, wrong, "add" if up else "sub")))


def _unsigned_ceil_division(f: LlvmFunctionEmitter, op: arith.CeilDivUIOp) -> None:
    division = _Division(f, op, signed=False)
    quotient, remainder = division.apply("udiv"), division.apply("urem")
    f.bind(op.result, division.finish(division.adjust(quotient, division.is_zero(remainder, negated=True), "add")))


_DIVIDE: Lowerings = {
    **dict.fromkeys(_DIVISIONS, _division),
    arith.FloorDivSIOp: _floor_division,
    arith.CeilDivSIOp: _ceil_division,
    arith.CeilDivUIOp: _unsigned_ceil_division,
}


# shifts


def _shift(f: LlvmFunctionEmitter, op: arith.ShLIOp) -> None:
    instruction, kind, width = _SHIFTS[type(op)], register_type(op.result.type), bit_width(op.result.type)
    value, amount = f.operands(op.operands)
    literal = constant_value_of_operand(amount)
    if literal is not None and 0 <= literal < width:
        f.define(op.result, f"{instruction} {kind} {value}, {amount}")
    elif instruction == "ashr":
        most = f.emit_value(f.intrinsic("umin", kind, [(kind, amount), (kind, splat_int(width - 1, kind))]))
        f.define(op.result, f"ashr {kind} {value}, {most}")
    else:
        condition = condition_type(kind)
        fits = f.emit_value(f"icmp ult {kind} {amount}, {splat_int(width, kind)}")
        zero = splat_int(0, kind)
        safe = f.emit_value(f"select {condition} {fits}, {kind} {amount}, {kind} {zero}")
        shifted = f.emit_value(f"{instruction} {kind} {value}, {safe}")
        f.define(op.result, f"select {condition} {fits}, {kind} {shifted}, {kind} {zero}")


# Ops with several results


def _add_extended(f: LlvmFunctionEmitter, op: arith.AddUIExtendedOp) -> None:
    kind = register_type(op.sum.type)
    pair = f"{{ {kind}, {condition_type(kind)} }}"
    arguments = [(kind, operand) for operand in f.operands(op.operands)]
    both = f.emit_value(f.intrinsic("uadd.with.overflow", pair, arguments, overloads=[kind]))
    f.define(op.sum, f"extractvalue {pair} {both}, 0")
    f.define(op.overflow, f"extractvalue {pair} {both}, 1")


def _multiply_extended(f: LlvmFunctionEmitter, op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> None:
    kind, width = register_type(op.low.type), bit_width(op.low.type)
    wide = kind.replace(f"i{width}", f"i{2 * width}")
    extend = "sext" if isinstance(op, arith.MulSIExtendedOp) else "zext"
    lhs, rhs = (f.emit_value(f"{extend} {kind} {operand} to {wide}") for operand in f.operands(op.operands))
    product = f.emit_value(f"mul {wide} {lhs}, {rhs}")
    f.define(op.low, f"trunc {wide} {product} to {kind}")
    high = f.emit_value(f"lshr {wide} {product}, {splat_int(width, wide)}")
    f.define(op.high, f"trunc {wide} {high} to {kind}")


LOWERINGS: Lowerings = {
    arith.ConstantOp: _constant,
    **dict.fromkeys(_WRAPPING, _wrapping_arithmetic),
    **dict.fromkeys(_BITWISE, _bitwise),
    **dict.fromkeys(_INTEGER_EXTREMES, _integer_extreme),
    **dict.fromkeys(_FLOAT, _float_arithmetic),
    **dict.fromkeys(_FLOAT_EXTREMES, _float_extreme),
    **dict.fromkeys(_RESIZES, _resize),
    **dict.fromkeys(_SATURATING, _saturating_cast),
    **dict.fromkeys(_DIVIDE, _divide),
    **dict.fromkeys(_SHIFTS, _shift),
    arith.NegfOp: _negf,
    arith.CmpiOp: _cmpi,
    arith.CmpfOp: _cmpf,
    arith.SelectOp: _select,
    arith.IndexCastOp: _index_cast,
    arith.ExtFOp: _extf,
    arith.TruncFOp: _truncf,
    arith.BitcastOp: _bitcast,
    arith.AddUIExtendedOp: _add_extended,
    arith.MulUIExtendedOp: _multiply_extended,
    arith.MulSIExtendedOp: _multiply_extended,
}
