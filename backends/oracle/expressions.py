"""Python text for every pure scalar op, and for vectors lane by lane.

Each rule maps the texts of the operands of one lane to the text of the result. Operations that Python lacks are
functions of `numerics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation

from ...core.comparisons import SIGNED_PREDICATES, UNSIGNED_PREDICATES, predicate_of
from ...core.dtypes import DType, dtype_of, int_range, wrap_int
from ...core.errors import UnsupportedError
from ...dialects.tir import (
    DIVISIONS,
    SHIFTS,
    CastOp,
    ConstOp,
    FloormodOp,
    HandleType,
    IntrinsicOp,
    MaxOp,
    MinOp,
)
from . import numerics

# Levels of precedence, from Python's grammar.
TERNARY, NOT, COMPARE, OR, XOR, AND, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(11)


@dataclass(frozen=True)
class PythonExpr:
    """A Python expression. unrounded: the expression before the last rounding to its float type, if any."""

    text: str
    binding: int = ATOM
    unrounded: PythonExpr | None = None

    def parenthesized(self, binding: int) -> str:
        """The text as an operand of at least precedence `binding`, in parentheses if necessary."""
        return self.text if self.binding >= binding else f"({self.text})"

    @property
    def is_simple(self) -> bool:
        """Whether the text is a name or a literal, which may be repeated."""
        return self.text.replace("_", "").replace(".", "").isalnum()


def infix(lhs: PythonExpr, operator: str, rhs: PythonExpr, binding: int) -> PythonExpr:
    """`lhs operator rhs` for a left-associative operator."""
    return PythonExpr(f"{lhs.parenthesized(binding)} {operator} {rhs.parenthesized(binding + 1)}", binding)


def call_text(function: str, *args: PythonExpr | str) -> PythonExpr:
    return PythonExpr(f"{function}({', '.join(a if isinstance(a, str) else a.text for a in args)})")


@dataclass(frozen=True)
class Lane:
    """One lane of a pure op: the op, its operands, the scalar types of operands and result, and whether an integer
    result is known to fit its type.
    """

    op: Operation
    args: Sequence[PythonExpr]
    sources: Sequence[DType]
    dtype: DType
    fits: bool = False

    def wrap(self, exact: PythonExpr) -> PythonExpr:
        """An integer wrapped to the range of the result type."""
        return exact if self.fits else wrap_text(exact, self.dtype)

    def unsigned(self, i: int) -> PythonExpr:
        """Integer operand `i` as the unsigned number with its bits."""
        dtype = self.sources[i]
        if dtype.kind != "int":
            return self.args[i]
        return PythonExpr(f"{self.args[i].parenthesized(AND)} & {2**dtype.bits - 1:#x}", AND)

    def round(self, exact: PythonExpr) -> PythonExpr:
        """A float rounded to the result type."""
        return round_text(exact, self.dtype)

    def with_sign(self, exact: PythonExpr) -> PythonExpr:
        """A float that has the absolute value of a number of the result type, and perhaps a sign that it lacks."""
        return exact if self.dtype.format.has_negative_zero else self.round(exact)


Rule: TypeAlias = Callable[[Lane], PythonExpr]


def wrap_text(exact: PythonExpr, dtype: DType) -> PythonExpr:
    """An integer of any size modulo 2**bits, in the range of `dtype`."""
    if dtype.is_bool:
        return PythonExpr(f"({exact.parenthesized(AND)} & 1) != 0", COMPARE)
    if dtype.kind == "uint":
        return PythonExpr(f"{exact.parenthesized(AND)} & {2**dtype.bits - 1:#x}", AND)
    half = 2 ** (dtype.bits - 1)
    return PythonExpr(f"({exact.parenthesized(SUM)} + {half:#x} & {2 * half - 1:#x}) - {half:#x}", SUM)


def round_text(exact: PythonExpr, dtype: DType) -> PythonExpr:
    """A float rounded to `dtype`; Python computes in f64."""
    match dtype.scalar.name:
        case "float64":
            return exact
        case "float32":
            return PythonExpr(f"f32({exact.text}).value", ATOM, exact)
        case name:
            return PythonExpr(f"{numerics.short_name(name)}({exact.text})", ATOM, exact)


def round_through_f32(exact: PythonExpr, dtype: DType) -> PythonExpr:
    """A float computed in f32 (f64 for f64) and rounded to `dtype`."""
    if dtype.bits <= 16:
        return round_text(PythonExpr(f"f32({exact.text}).value"), dtype)
    return round_text(exact, dtype)


# Integers


def _wrapping_infix(operator: str, binding: int) -> Rule:
    return lambda lane: lane.wrap(infix(lane.args[0], operator, lane.args[1], binding))


def _exact_infix(operator: str, binding: int) -> Rule:
    return lambda lane: infix(lane.args[0], operator, lane.args[1], binding)


def _plain_call(function: str) -> Rule:
    return lambda lane: call_text(function, *lane.args)


def _wrapping_call(function: str) -> Rule:
    return lambda lane: lane.wrap(call_text(function, *lane.args))


def _on_unsigned(rule: Callable[[PythonExpr, PythonExpr], PythonExpr]) -> Rule:
    """A rule on unsigned operands; the result has the same bits in the result type."""

    def unsigned(lane: Lane) -> PythonExpr:
        result = rule(lane.unsigned(0), lane.unsigned(1))
        return result if lane.dtype.kind != "int" else wrap_text(result, lane.dtype)

    return unsigned


def _ceil_quotient(lhs: PythonExpr, rhs: PythonExpr) -> PythonExpr:
    return PythonExpr(f"-(-{lhs.parenthesized(UNARY)} // {rhs.parenthesized(UNARY)})", UNARY)


def _shift_right_logically(lhs: PythonExpr, rhs: PythonExpr) -> PythonExpr:
    return infix(lhs, ">>", rhs, SHIFT)


def _leading_zeros(lane: Lane) -> PythonExpr:
    bits = lane.sources[0].bits
    return lane.wrap(PythonExpr(f"{bits} - ({lane.unsigned(0).text}).bit_length()", SUM))


def _bit_count(lane: Lane) -> PythonExpr:
    return lane.wrap(PythonExpr(f"({lane.unsigned(0).text}).bit_count()"))


def _trailing_zeros(lane: Lane) -> PythonExpr:
    return lane.wrap(call_text("trailing_zeros", lane.unsigned(0), str(lane.sources[0].bits)))


# Floats


def _float_infix(operator: str, binding: int) -> Rule:
    return lambda lane: lane.round(infix(lane.args[0], operator, lane.args[1], binding))


def _float_exact(function: str) -> Rule:
    """A function whose absolute value requires no rounding."""
    return lambda lane: lane.with_sign(call_text(function, *lane.args))


def _float_function(function: str) -> Rule:
    return lambda lane: round_through_f32(call_text(function, *lane.args), lane.dtype)


def _choice(operator: str) -> Rule:
    def choice(lane: Lane) -> PythonExpr:
        a, b = lane.args
        test = f"{a.parenthesized(OR)} {operator} {b.parenthesized(OR)}"
        return PythonExpr(f"{a.parenthesized(COMPARE)} if {test} else {b.parenthesized(COMPARE)}", TERNARY)

    return choice


def _power(lane: Lane) -> PythonExpr:
    return round_through_f32(call_text("power", *lane.args), lane.dtype)


def _fma(lane: Lane) -> PythonExpr:
    return call_text("fma", *lane.args, repr(lane.dtype.name))


# Comparisons

_CMPI = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_CMPF = {
    "false": "False",
    "oeq": "{a} == {b}",
    "ogt": "{a} > {b}",
    "oge": "{a} >= {b}",
    "olt": "{a} < {b}",
    "ole": "{a} <= {b}",
    "one": "{a} < {b} or {a} > {b}",
    "ord": "{a} == {a} and {b} == {b}",
    "ueq": "not ({a} < {b} or {a} > {b})",
    "ugt": "not {a} <= {b}",
    "uge": "not {a} < {b}",
    "ult": "not {a} >= {b}",
    "ule": "not {a} > {b}",
    "une": "{a} != {b}",
    "uno": "{a} != {a} or {b} != {b}",
    "true": "True",
}


def _compare_integers(lane: Lane) -> PythonExpr:
    assert isinstance(lane.op, arith.CmpiOp)
    predicate = predicate_of(lane.op)
    args = lane.args
    if predicate in UNSIGNED_PREDICATES:
        args = [lane.unsigned(0), lane.unsigned(1)]
    elif predicate in SIGNED_PREDICATES and lane.sources[0].kind != "int":
        args = [_as_signed(a, lane.sources[0]) for a in args]
    comparison = predicate[-2:]  # without the sign
    return PythonExpr(f"{args[0].parenthesized(OR)} {_CMPI[comparison]} {args[1].parenthesized(OR)}", COMPARE)


def _as_signed(value: PythonExpr, dtype: DType) -> PythonExpr:
    if dtype.is_bool:
        return PythonExpr(f"-{value.parenthesized(UNARY)}", UNARY)
    return wrap_text(value, DType("int", dtype.bits))


def _compare_floats(lane: Lane) -> PythonExpr:
    assert isinstance(lane.op, arith.CmpfOp)
    a, b = (x.parenthesized(OR) for x in lane.args)
    text = _CMPF[predicate_of(lane.op)].format(a=a, b=b)
    return PythonExpr(text, COMPARE if text.count(" ") == 2 else TERNARY)


def _select(lane: Lane) -> PythonExpr:
    condition, then, orelse = lane.args
    return PythonExpr(
        f"{then.parenthesized(NOT)} if {condition.parenthesized(NOT)} else {orelse.parenthesized(NOT)}", TERNARY
    )


# Conversions


def cast_text(value: PythonExpr, source: DType, target: DType, fits: bool) -> PythonExpr:
    """Implements `tir.cast`."""
    if source == target:
        return value
    if target.is_bool:
        return PythonExpr(f"{value.parenthesized(OR)} != 0", COMPARE)
    if not source.is_float and not target.is_float:
        if source.is_bool:
            return PythonExpr(f"+{value.parenthesized(UNARY)}", UNARY)
        return value if fits else wrap_text(value, target)
    if not target.is_float:
        low, high = int_range(target)
        return call_text("to_int", value, str(low), str(high))
    if not source.is_float:
        return _int_to_float(value, source, target)
    if target.format.represents(source.format):
        return PythonExpr(value.text, value.binding)  # the rounding to the narrower type remains part of the value
    return round_text(value, target) if source.bits < 64 or target.kind == "float" else round_through_f32(value, target)


def _int_to_float(value: PythonExpr, source: DType, target: DType) -> PythonExpr:
    """Rounds once to f64 or f32; smaller types are rounded from f32."""
    if target.bits == 64:
        return call_text("float", value)
    single = call_text("int_to_f32", value) if source.bits == 64 else PythonExpr(f"f32({value.text}).value")
    return single if target.bits == 32 else round_text(single, target)


def _cast(lane: Lane) -> PythonExpr:
    return cast_text(lane.args[0], lane.sources[0], lane.dtype, lane.fits)


def _signed_cast(lane: Lane) -> PythonExpr:
    """arith's casts that interpret a signless operand as signed: i1 is 0 or -1."""
    source = lane.sources[0]
    if source.is_bool:
        return cast_text(PythonExpr(f"-{lane.args[0].parenthesized(UNARY)}", UNARY), DType("int", 8), lane.dtype, True)
    return cast_text(lane.args[0], source, lane.dtype, False)


def _unsigned_cast(lane: Lane) -> PythonExpr:
    source = DType("uint", lane.sources[0].bits)
    return cast_text(lane.unsigned(0), lane.sources[0] if lane.sources[0].is_bool else source, lane.dtype, False)


def _truncate_integer(lane: Lane) -> PythonExpr:
    return wrap_text(lane.args[0], lane.dtype)


def _float_to_unsigned(lane: Lane) -> PythonExpr:
    number = call_text("to_int", lane.args[0], "0", str(2**lane.dtype.bits - 1))
    return wrap_text(number, lane.dtype) if lane.dtype.kind == "int" else number


def _float_to_signed(lane: Lane) -> PythonExpr:
    half = 2 ** (lane.dtype.bits - 1)
    return wrap_text(call_text("to_int", lane.args[0], str(-half), str(half - 1)), lane.dtype)


def _round_once(lane: Lane) -> PythonExpr:
    return lane.round(lane.args[0])


# tir.intrinsic


def _q_multiply_shift(lane: Lane) -> PythonExpr:
    return lane.wrap(call_text("q_multiply_shift", *lane.args))


def _classify(function: str, of_integer: str) -> Rule:
    return lambda lane: call_text(function, *lane.args) if lane.sources[0].is_float else PythonExpr(of_integer)


def _ldexp(lane: Lane) -> PythonExpr:
    exponent = lane.args[1]
    if lane.sources[1].is_float:
        exponent = call_text("to_int", exponent, "-100000", "100000")
    return lane.round(call_text("ldexp", lane.args[0], exponent))


def _fmod(lane: Lane) -> PythonExpr:
    if lane.dtype.is_float:
        return call_text("fmod", *lane.args)
    raise UnsupportedError(f"tir.intrinsic fmod on {lane.dtype}, expected floats")


_INTRINSICS: dict[str, Rule] = {
    "exp10": _float_function("exp10"),
    "sigmoid": _float_function("sigmoid"),
    "hypot": _float_function("hypot"),
    "ldexp": _ldexp,
    "nextafter": lambda lane: call_text("next_after", *lane.args, repr(lane.dtype.name)),
    "fmod": _fmod,
    "isnan": _classify("isnan", "False"),
    "isinf": _classify("isinf", "False"),
    "isfinite": _classify("isfinite", "True"),
    "isnullptr": lambda lane: PythonExpr(f"{lane.args[0].parenthesized(OR)} is None", COMPARE),
    "likely": lambda lane: lane.args[0],
    "q_multiply_shift": _q_multiply_shift,
}


def _intrinsic(lane: Lane) -> PythonExpr:
    assert isinstance(lane.op, IntrinsicOp)
    return _INTRINSICS[lane.op.intrinsic.data](lane)


RULES: dict[type[Operation], Rule] = {
    arith.AddiOp: _wrapping_infix("+", SUM),
    arith.SubiOp: _wrapping_infix("-", SUM),
    arith.MuliOp: _wrapping_infix("*", PRODUCT),
    arith.FloorDivSIOp: _wrapping_infix("//", PRODUCT),
    FloormodOp: _exact_infix("%", PRODUCT),
    arith.DivSIOp: _wrapping_call("trunc_div"),
    arith.RemSIOp: _plain_call("trunc_mod"),
    arith.CeilDivSIOp: lambda lane: lane.wrap(_ceil_quotient(*lane.args)),
    arith.DivUIOp: _on_unsigned(lambda a, b: infix(a, "//", b, PRODUCT)),
    arith.RemUIOp: _on_unsigned(lambda a, b: infix(a, "%", b, PRODUCT)),
    arith.CeilDivUIOp: _on_unsigned(_ceil_quotient),
    arith.MinSIOp: _plain_call("min"),
    arith.MaxSIOp: _plain_call("max"),
    arith.MinUIOp: _on_unsigned(lambda a, b: call_text("min", a, b)),
    arith.MaxUIOp: _on_unsigned(lambda a, b: call_text("max", a, b)),
    arith.AndIOp: _exact_infix("&", AND),
    arith.OrIOp: _exact_infix("|", OR),
    arith.XOrIOp: _exact_infix("^", XOR),
    arith.ShLIOp: _wrapping_infix("<<", SHIFT),
    arith.ShRSIOp: _exact_infix(">>", SHIFT),
    arith.ShRUIOp: _on_unsigned(_shift_right_logically),
    math.AbsIOp: _wrapping_call("abs"),
    math.CtPopOp: _bit_count,
    math.CountLeadingZerosOp: _leading_zeros,
    math.CountTrailingZerosOp: _trailing_zeros,
    math.IPowIOp: _wrapping_call("int_power"),
    arith.AddfOp: _float_infix("+", SUM),
    arith.SubfOp: _float_infix("-", SUM),
    arith.MulfOp: _float_infix("*", PRODUCT),
    arith.DivfOp: lambda lane: lane.round(call_text("divide", *lane.args)),
    arith.NegfOp: lambda lane: lane.with_sign(PythonExpr(f"-{lane.args[0].parenthesized(UNARY)}", UNARY)),
    MinOp: _choice("<"),
    MaxOp: _choice(">"),
    arith.MinimumfOp: _float_exact("minimum"),
    arith.MaximumfOp: _float_exact("maximum"),
    arith.MinnumfOp: _float_exact("min_num"),
    arith.MaxnumfOp: _float_exact("max_num"),
    math.AbsFOp: _float_exact("fabs"),
    math.CeilOp: _float_exact("ceil"),
    math.CopySignOp: _float_exact("copysign"),
    math.FloorOp: _float_exact("floor"),
    math.RoundOp: _float_exact("round_away"),
    math.RoundEvenOp: _float_exact("round_even"),
    math.TruncOp: _float_exact("trunc"),
    math.SqrtOp: lambda lane: lane.round(call_text("sqrt", *lane.args)),
    math.AcosOp: _float_function("acos"),
    math.AcoshOp: _float_function("acosh"),
    math.AsinOp: _float_function("asin"),
    math.AsinhOp: _float_function("asinh"),
    math.AtanOp: _float_function("atan"),
    math.Atan2Op: _float_function("atan2"),
    math.AtanhOp: _float_function("atanh"),
    math.CbrtOp: _float_function("cbrt"),
    math.CosOp: _float_function("cos"),
    math.CoshOp: _float_function("cosh"),
    math.ErfOp: _float_function("erf"),
    math.ExpOp: _float_function("exp"),
    math.Exp2Op: _float_function("exp2"),
    math.ExpM1Op: _float_function("expm1"),
    math.LogOp: _float_function("log"),
    math.Log10Op: _float_function("log10"),
    math.Log1pOp: _float_function("log1p"),
    math.Log2Op: _float_function("log2"),
    math.RsqrtOp: _float_function("rsqrt"),
    math.SinOp: _float_function("sin"),
    math.SinhOp: _float_function("sinh"),
    math.TanOp: _float_function("tan"),
    math.TanhOp: _float_function("tanh"),
    math.PowFOp: _power,
    math.FPowIOp: _power,
    math.FmaOp: _fma,
    vector.FMAOp: _fma,
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.SelectOp: _select,
    CastOp: _cast,
    arith.ExtFOp: _cast,
    arith.TruncFOp: _round_once,
    arith.TruncIOp: _truncate_integer,
    arith.ExtSIOp: _signed_cast,
    arith.SIToFPOp: _signed_cast,
    arith.IndexCastOp: _signed_cast,
    arith.ExtUIOp: _unsigned_cast,
    arith.UIToFPOp: _unsigned_cast,
    arith.FPToSIOp: _float_to_signed,
    arith.FPToUIOp: _float_to_unsigned,
    IntrinsicOp: _intrinsic,
}
"""The rule of each pure op, lane by lane."""

REPEATS = (MinOp, MaxOp, arith.CmpfOp, arith.CeilDivUIOp)
"""Ops whose rule repeats an operand: operands must be names."""


# The excluded behaviour of an op: its condition, as text, and its description

Exclusion: TypeAlias = Callable[[PythonExpr, DType], str]


def _is_zero(divisor: PythonExpr, _dtype: DType) -> str:
    return f"{divisor.parenthesized(OR)} == 0"


def _is_shift_out_of_range(amount: PythonExpr, dtype: DType) -> str:
    return f"not 0 <= {amount.parenthesized(OR)} < {dtype.bits}"


EXCLUDED_OPERANDS: dict[type[Operation], tuple[Exclusion, str]] = {
    **dict.fromkeys(DIVISIONS, (_is_zero, "division by zero")),
    **dict.fromkeys(SHIFTS, (_is_shift_out_of_range, "shift amount out of range")),
}
"""For ops with an excluded second operand: its condition and its description."""


# Constants


def number_text(value: bool | int | float, dtype: DType) -> PythonExpr:
    """A number of a scalar type."""
    if dtype.is_bool:
        return PythonExpr(str(bool(value & 1 if isinstance(value, int) else value)))
    if dtype.is_float:
        text = repr(numerics.round_to(dtype, float(value)))
        return PythonExpr(text, UNARY if text.startswith("-") else ATOM)
    text = str(wrap_int(int(value), dtype))
    return PythonExpr(text, UNARY if text.startswith("-") else ATOM)


def constant_text(op: arith.ConstantOp | ConstOp) -> PythonExpr:
    """The value of a constant op."""
    value, type = op.value, op.results[0].type
    match value:
        case StringAttr():
            return PythonExpr(repr(value.data))
        case IntegerAttr() | FloatAttr():
            return number_text(value.value.data, dtype_of(type))
        case DenseIntOrFPElementsAttr():
            dtype = dtype_of(type)
            lanes = cast("list[int | float]", list(value.get_values()))
            lanes = lanes * dtype.lanes if len(lanes) == 1 else lanes
            return PythonExpr(f"[{', '.join(number_text(v, dtype.scalar).text for v in lanes)}]")
        case _:
            raise UnsupportedError(f"{op.name} of {value}")


def scalar_dtype(type: Attribute) -> DType:
    """The scalar type of a value; a handle counts as uint64."""
    return DType("uint", 64) if isinstance(type, HandleType) else dtype_of(type).scalar
