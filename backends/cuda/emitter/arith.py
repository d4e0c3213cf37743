"""Lowering of the `arith` dialect, lane by lane on vectors.

The semantics that `backends.llvm.arith` adds to LLVM's are added to C++'s here, by helper functions where necessary:
integers wrap, division by zero yields 0, a shift by the width or more yields 0 or the sign, a float to integer
conversion saturates with NaN as 0, and `maxnumf`/`minnumf`/`maximumf`/`minimumf` order -0 below +0.

An `index` is computed in `int` or in `long long` (`expression.index_arithmetic`). An operation that depends on all 64
bits (unsigned division, comparison or shift of a possibly negative `index`) is computed in `long long`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, MemRefType
from xdsl.ir import Attribute, Operation

from ....core.comparisons import SIGNED_PREDICATES, UNSIGNED_PREDICATES, predicate_of
from ....core.dtypes import dtype_of, element_type_of, float_format, is_small_float
from ....core.intervals import (
    bit_and,
    bit_or,
    floordiv,
    maximum,
    minimum,
    signed_range,
    truncmod,
    within,
    wrap,
)
from ...llvm.arith import refuse_small_float
from ...llvm.types import bit_width, is_bool, lane_count
from .expression import (
    INT,
    LONG,
    UNSIGNED,
    WIDTHS,
    CudaExpr,
    binary,
    call,
    cast,
    exact_arithmetic,
    from_unsigned,
    index_arithmetic,
    integer_literal,
    negate,
    negate_condition,
    select,
    to_unsigned,
    widen,
    wrapping_arithmetic,
)
from .function import CudaFunctionEmitter, Lowering, Lowerings
from .types import BFLOAT, BITS, HALF, constant_literals, is_index, low_bits, mask_bits, memory_type, scalar_type

Build = Callable[[CudaFunctionEmitter, Any, list[CudaExpr]], CudaExpr]
"""Builds the expression of an operation on scalars, or on one lane of its operands."""

_SYMBOLS = {arith.AddiOp: "+", arith.SubiOp: "-", arith.MuliOp: "*"}
_BITWISE = {arith.AndIOp: "&", arith.OrIOp: "|", arith.XOrIOp: "^"}
_ON_BOOLS = {"+": "!=", "-": "!=", "*": "&&", "&": "&&", "|": "||", "^": "!="}
_FLOAT = {arith.AddfOp: "+", arith.SubfOp: "-", arith.MulfOp: "*", arith.DivfOp: "/"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def elementwise(build: Build) -> Lowering:
    """The lowering of an operation by `build`, once or for each lane. A scalar operand beside vectors is
    used for all lanes.
    """

    def lower(f: CudaFunctionEmitter, op: Operation) -> None:
        (result,), count = op.results, lane_count(op.results[0].type)
        if count is None:
            f.define(result, build(f, op, f.operands(op.operands)))
            return
        columns = [
            [f.as_repeatable(f.operand(operand), operand.name_hint)] * count
            if lane_count(operand.type) is None
            else list(f.lanes(operand))
            for operand in op.operands
        ]
        f.define_lanes(result, [build(f, op, list(row)) for row in zip(*columns, strict=True)])

    return lower


def _constant(f: CudaFunctionEmitter, op: arith.ConstantOp) -> None:
    value = constant_literals(op.value)
    f.bind(op.result, value if isinstance(value, CudaExpr) else tuple(value))


def helper_suffix(type: Attribute) -> str:
    """The name of a type in helper functions: i32, f64."""
    scalar = scalar_type(type)
    return f"i{WIDTHS[scalar]}" if scalar in WIDTHS else {"float": "f32", "double": "f64"}[scalar]


def integer_helper_suffix(value: CudaExpr) -> str:
    """The name of the type of an integer expression in helper functions."""
    return f"i{WIDTHS[value.type]}"


# integers


def common_width(values: list[CudaExpr], type: Attribute) -> tuple[CudaExpr, CudaExpr]:
    """The two operands, of equal width: `index` operands are widened to 64 bits if either needs 64 bits."""
    lhs, rhs = values
    if is_index(type) and LONG in (lhs.type, rhs.type):
        return widen(lhs), widen(rhs)
    return lhs, rhs


def unsigned_operands(values: list[CudaExpr], type: Attribute) -> tuple[CudaExpr, CudaExpr]:
    """The two operands for use as unsigned numbers: an `index` may be an `int` only if it is not negative."""
    if is_index(type) and not all(value.is_nonnegative for value in values):
        return widen(values[0]), widen(values[1])
    return common_width(values, type)


def _wrapping_arithmetic(_f: CudaFunctionEmitter, op: arith.AddiOp, values: list[CudaExpr]) -> CudaExpr:
    type, symbol, (lhs, rhs) = op.result.type, _SYMBOLS[class_of(op)], values
    if is_bool(type):
        return binary(_ON_BOOLS[symbol], lhs, rhs, "bool")
    if is_index(type):
        return index_arithmetic(symbol, lhs, rhs)
    if any(flag.value == "nsw" for flag in op.overflow_flags.data):
        return exact_arithmetic(symbol, lhs, rhs, scalar_type(type))
    return wrapping_arithmetic(symbol, lhs, rhs, scalar_type(type))


def class_of(op: Operation) -> Any:
    """The class of an operation, as a key of any table."""
    return type(op)


def _bitwise(_f: CudaFunctionEmitter, op: arith.AndIOp, values: list[CudaExpr]) -> CudaExpr:
    symbol = _BITWISE[class_of(op)]
    lhs, rhs = common_width(values, op.result.type)
    if is_bool(op.result.type):
        return _logical(_ON_BOOLS[symbol], lhs, rhs)
    result = binary(symbol, lhs, rhs, lhs.type)
    rule = bit_and if symbol == "&" else bit_or
    return replace(result, range=rule(lhs.bounds, rhs.bounds))


def _logical(symbol: str, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    """`&&`, `||` or `!=` of bools; `!=` to true is `!`."""
    if symbol == "!=" and "true" in (lhs.text, rhs.text):
        return negate_condition(lhs if rhs.text == "true" else rhs)
    return binary(symbol, lhs, rhs, "bool")


def _signed_extreme(_f: CudaFunctionEmitter, op: Operation, values: list[CudaExpr]) -> CudaExpr:
    function = "min" if isinstance(op, arith.MinSIOp) else "max"
    lhs, rhs = common_width(values, op.results[0].type)
    if is_bool(op.results[0].type):  # true is -1
        return binary("||" if function == "min" else "&&", lhs, rhs, "bool")
    return min_or_max(function, lhs, rhs)


def min_or_max(function: str, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    """`min` or `max` of two numbers of one type."""
    range = (minimum if function == "min" else maximum)(lhs.bounds, rhs.bounds)
    result = call(function, lhs.type, *(_exact_argument(value) for value in (lhs, rhs)), range=range)
    return replace(result, multiple=gcd(lhs.multiple, rhs.multiple))


def _exact_argument(value: CudaExpr) -> CudaExpr:
    """An argument of an overloaded function, with an exact type: the suffix of a 64-bit literal, `int`
    for narrow types.
    """
    if value.type == LONG and value.literal is not None:
        return integer_literal(value.literal, LONG)
    return replace(cast(INT, value, value.bounds), type=value.type) if WIDTHS[value.type] < 32 else value


def _unsigned_extreme(_f: CudaFunctionEmitter, op: Operation, values: list[CudaExpr]) -> CudaExpr:
    function, type = "min" if isinstance(op, arith.MinUIOp) else "max", op.results[0].type
    lhs, rhs = unsigned_operands(values, type)
    if is_bool(type):
        return binary("&&" if function == "min" else "||", lhs, rhs, "bool")
    if lhs.is_nonnegative and rhs.is_nonnegative:
        return min_or_max(function, lhs, rhs)
    unsigned = UNSIGNED[max(WIDTHS[lhs.type], 32)]
    operands = [to_unsigned(value) for value in (lhs, rhs)]
    if WIDTHS[lhs.type] < 32:
        operands = [cast(unsigned, value) for value in operands]
    return from_unsigned(call(function, unsigned, *operands), lhs.type)


def _compare_integers(_f: CudaFunctionEmitter, op: arith.CmpiOp, values: list[CudaExpr]) -> CudaExpr:
    predicate, type = predicate_of(op), op.operands[0].type
    symbol = _COMPARISONS[predicate[-2:]]  # without the sign
    if is_bool(type):
        return _compare_bools(symbol, values, signed=predicate in SIGNED_PREDICATES)
    if predicate not in UNSIGNED_PREDICATES:
        lhs, rhs = (value.wide or value for value in values) if _is_wide(values) else values
        return binary(symbol, lhs, rhs, "bool")
    lhs, rhs = unsigned_operands(values, type)
    if not (lhs.is_nonnegative and rhs.is_nonnegative):
        lhs, rhs = to_unsigned(lhs), to_unsigned(rhs)
    return binary(symbol, lhs, rhs, "bool")


def _is_wide(values: list[CudaExpr]) -> bool:
    return LONG in (value.type for value in values)


def _compare_bools(symbol: str, values: list[CudaExpr], signed: bool) -> CudaExpr:
    """Compares bools as the numbers 0 and 1, or as 0 and -1 if signed."""
    lhs, rhs = reversed(values) if signed else values
    return _logical(symbol, lhs, rhs) if symbol == "!=" else binary(symbol, lhs, rhs, "bool")


# division


def _nonzero(value: CudaExpr) -> bool:
    low, high = value.bounds
    return low > 0 or high < 0


def _divides_safely(lhs: CudaExpr, rhs: CudaExpr) -> bool:
    """Whether a signed division neither divides by 0 nor overflows."""
    return _nonzero(rhs) and (
        rhs.bounds[0] > -1 or rhs.bounds[1] < -1 or lhs.bounds[0] > signed_range(WIDTHS[lhs.type])[0]
    )


def _quotient(lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    """`lhs / rhs`, where the division is defined."""
    result = _trim(binary("/", lhs, rhs, lhs.type))
    if not (lhs.is_nonnegative and rhs.bounds[0] > 0):
        return result
    range = floordiv(lhs.bounds, rhs.bounds)
    divisor = rhs.literal
    exact = divisor is not None and lhs.multiple % divisor == 0
    return replace(result, range=range, multiple=lhs.multiple // divisor if exact and divisor is not None else 1)


def _remainder(lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    """`lhs % rhs`, where the division is defined."""
    result = _trim(binary("%", lhs, rhs, lhs.type))
    if rhs.bounds[0] <= 0:
        return result
    range = truncmod(lhs.bounds, rhs.bounds)
    return replace(result, range=range, multiple=gcd(lhs.multiple, rhs.multiple))


def _trim(value: CudaExpr) -> CudaExpr:
    """A result in a narrow type of a computation in `int`; only smallest / -1 is out of range."""
    return value if WIDTHS[value.type] >= 32 else cast(value.type, value)


def _call_helper(f: CudaFunctionEmitter, name: str, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    return call(f.helper(f"{name}_{integer_helper_suffix(lhs)}"), lhs.type, lhs, rhs)


def _bool_arithmetic(_f: CudaFunctionEmitter, op: Operation, values: list[CudaExpr]) -> CudaExpr:
    """Arithmetic on 0 and -1 (or 1): a quotient is the dividend where the divisor is not 0, a remainder is 0, and a
    shift by 1 shifts out all bits (but for the sign).
    """
    lhs, rhs = values
    match op:
        case arith.RemSIOp() | arith.RemUIOp():
            return integer_literal(0, "bool")
        case arith.ShLIOp() | arith.ShRUIOp():
            return binary("&&", lhs, negate_condition(rhs), "bool")
        case arith.ShRSIOp():
            return lhs
        case _:
            return binary("&&", lhs, rhs, "bool")


def _division(build: Callable[[CudaFunctionEmitter, CudaExpr, CudaExpr], CudaExpr], *, signed: bool) -> Build:
    """A division by `build`, on operands of one type."""

    def divide(f: CudaFunctionEmitter, op: Operation, values: list[CudaExpr]) -> CudaExpr:
        type = op.results[0].type
        if is_bool(type):
            return _bool_arithmetic(f, op, values)
        return build(f, *(common_width(values, type) if signed else unsigned_operands(values, type)))

    return divide


def _divsi(f: CudaFunctionEmitter, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    return _quotient(lhs, rhs) if _divides_safely(lhs, rhs) else _call_helper(f, "div", lhs, rhs)


def _remsi(f: CudaFunctionEmitter, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    return _remainder(lhs, rhs) if _divides_safely(lhs, rhs) else _call_helper(f, "rem", lhs, rhs)


def _floordivsi(f: CudaFunctionEmitter, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    if lhs.is_nonnegative and rhs.bounds[0] > 0:
        return _quotient(lhs, rhs)
    divisor = rhs.literal
    if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        return _shift_right(lhs, integer_literal(divisor.bit_length() - 1))
    return _call_helper(f, "floordiv", lhs, rhs)


def _ceildivsi(f: CudaFunctionEmitter, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    return _call_helper(f, "ceildiv", lhs, rhs)


def _divui(f: CudaFunctionEmitter, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    return _unsigned_division(f, "/", "divu", _quotient, lhs, rhs)


def _remui(f: CudaFunctionEmitter, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    return _unsigned_division(f, "%", "remu", _remainder, lhs, rhs)


def _unsigned_division(
    f: CudaFunctionEmitter,
    symbol: str,
    helper: str,
    natural: Callable[[CudaExpr, CudaExpr], CudaExpr],
    lhs: CudaExpr,
    rhs: CudaExpr,
) -> CudaExpr:
    if not _nonzero(rhs):
        return _call_helper(f, helper, lhs, rhs)
    if lhs.is_nonnegative and rhs.is_nonnegative:
        return natural(lhs, rhs)
    return from_unsigned(binary(symbol, to_unsigned(lhs), to_unsigned(rhs), UNSIGNED[WIDTHS[lhs.type]]), lhs.type)


def _ceildivui(f: CudaFunctionEmitter, lhs: CudaExpr, rhs: CudaExpr) -> CudaExpr:
    return _call_helper(f, "ceildivu", lhs, rhs)


# shifts


def _shift_right(value: CudaExpr, amount: CudaExpr) -> CudaExpr:
    result = binary(">>", value, amount, value.type)
    n = amount.literal
    return replace(result, range=(value.bounds[0] >> n, value.bounds[1] >> n)) if n is not None else result


def _shift(f: CudaFunctionEmitter, op: Operation, values: list[CudaExpr]) -> CudaExpr:
    type = op.results[0].type
    if is_bool(type):
        return _bool_arithmetic(f, op, values)
    value, amount = unsigned_operands(values, type) if not isinstance(op, arith.ShRSIOp) else common_width(values, type)
    fits = amount.is_nonnegative and amount.bounds[1] < WIDTHS[value.type]
    match op:
        case arith.ShLIOp() if amount.literal is not None and fits and amount.literal < 62:
            return _shift_left(op, value, amount.literal)
        case arith.ShRSIOp() if fits:
            return _shift_right(value, amount)
        case arith.ShRUIOp() if fits and value.is_nonnegative:
            return _shift_right(value, amount)
        case arith.ShRUIOp() if fits:
            bits = UNSIGNED[WIDTHS[value.type]]
            return from_unsigned(binary(">>", to_unsigned(value), amount, bits), value.type)
        case _:
            return _call_helper(f, _SHIFTS[class_of(op)], value, amount)


_SHIFTS = {arith.ShLIOp: "shl", arith.ShRUIOp: "shru", arith.ShRSIOp: "shrs"}


def _shift_left(op: Operation, value: CudaExpr, amount: int) -> CudaExpr:
    """Shifts left as a product with a power of two."""
    low, high = value.bounds
    type = value.type
    if is_index(op.results[0].type):
        return index_arithmetic("*", value, integer_literal(2**amount))
    if low >= 0 and high << amount <= signed_range(WIDTHS[type])[1]:
        shifted = binary("<<", value, integer_literal(amount), type)
        return replace(shifted, range=(low << amount, high << amount), multiple=value.multiple << amount)
    if WIDTHS[type] < 32:
        return cast(type, binary("<<", to_unsigned(value), integer_literal(amount), INT))
    return from_unsigned(binary("<<", to_unsigned(value), integer_literal(amount), UNSIGNED[WIDTHS[type]]), type)


# floats


def _float_arithmetic(_f: CudaFunctionEmitter, op: arith.AddfOp, values: list[CudaExpr]) -> CudaExpr:
    refuse_small_float(op)
    lhs, rhs = values
    return binary(_FLOAT[class_of(op)], lhs, rhs, lhs.type)


_FLOAT_EXTREMES = {
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    arith.MaxnumfOp: "maxnum",
    arith.MinnumfOp: "minnum",
}


def _float_extreme(f: CudaFunctionEmitter, op: Operation, values: list[CudaExpr]) -> CudaExpr:
    refuse_small_float(op)
    return call(
        f.helper(f"{_FLOAT_EXTREMES[class_of(op)]}_{helper_suffix(op.results[0].type)}"), values[0].type, *values
    )


def bits_of_small_float(value: CudaExpr) -> CudaExpr:
    """The bits of a float of at most 16 bits as an unsigned number."""
    if value.type == BITS:
        return value
    return call("__half_as_ushort" if value.type == HALF else "__bfloat16_as_ushort", "unsigned short", value)


def small_float_of_bits(bits: CudaExpr, type: str) -> CudaExpr:
    """The float of at most 16 bits with the given bits."""
    if type == BITS:
        return bits if bits.type == BITS else cast(BITS, bits)
    function = {HALF: "__ushort_as_half", BFLOAT: "__ushort_as_bfloat16"}[type]
    return call(function, type, bits)


def sign_bit(op: Operation) -> int:
    """The mask of the sign bit of the result type of `op`, a small float. Raises UnsupportedError for a
    type without -0.
    """
    known = float_format(op.results[0].type)
    if known is None or not known.has_negative_zero:
        refuse_small_float(op)
    assert known is not None
    return 1 << known.semantics.sign_shift


def bits_constant(bits: int, type: str) -> CudaExpr:
    """A constant operand for the bits of a small float."""
    return CudaExpr(f"0x{bits:0{2 if type == BITS else 4}x}", 16, INT)


def _negf(_f: CudaFunctionEmitter, op: arith.NegfOp, values: list[CudaExpr]) -> CudaExpr:
    (value,) = values
    if not is_small_float(op.result.type):
        return negate(value)
    return small_float_of_bits(
        binary("^", bits_of_small_float(value), bits_constant(sign_bit(op), value.type), INT), value.type
    )


def _compare_floats(f: CudaFunctionEmitter, op: arith.CmpfOp, values: list[CudaExpr]) -> CudaExpr:
    refuse_small_float(op)
    predicate, (lhs, rhs) = predicate_of(op), values
    if predicate in _FLOAT_COMPARISONS:
        return binary(_FLOAT_COMPARISONS[predicate], lhs, rhs, "bool")
    if predicate in _NEGATED:
        return negate_condition(binary(_NEGATED[predicate], lhs, rhs, "bool"))
    if predicate in ("false", "true"):
        return integer_literal(predicate == "true", "bool")
    lhs, rhs = f.as_repeatable(lhs), f.as_repeatable(rhs)
    match predicate:
        case "one" | "ueq":
            differ = binary("||", binary("<", lhs, rhs, "bool"), binary(">", lhs, rhs, "bool"), "bool")
            return differ if predicate == "one" else negate_condition(differ)
        case "ord":
            return binary("&&", binary("==", lhs, lhs, "bool"), binary("==", rhs, rhs, "bool"), "bool")
        case _:  # "uno"
            return binary("||", binary("!=", lhs, lhs, "bool"), binary("!=", rhs, rhs, "bool"), "bool")


_FLOAT_COMPARISONS = {"oeq": "==", "ogt": ">", "oge": ">=", "olt": "<", "ole": "<=", "une": "!="}
_NEGATED = {"ugt": "<=", "uge": "<", "ult": ">=", "ule": ">"}
"""The unordered predicates, by the comparison they negate."""


# selection


def _select(f: CudaFunctionEmitter, op: arith.SelectOp) -> None:
    type = op.result.type
    if not isinstance(type, MemRefType):
        _select_values(f, op)
        return
    condition = f.as_repeatable(f.operand(op.cond))
    pairs = zip(f.components(op.lhs), f.components(op.rhs), strict=True)
    parts = [f.local(select(condition, lhs, rhs), op.result.name_hint) for lhs, rhs in pairs]
    f.bind(op.result, f.assemble(type, parts))


def _choose(_f: CudaFunctionEmitter, op: arith.SelectOp, values: list[CudaExpr]) -> CudaExpr:
    condition, then, otherwise = values
    result = select(condition, then, otherwise)
    if then.type in WIDTHS and WIDTHS[then.type] < 32:
        return replace(result, type=scalar_type(op.result.type))
    return result


_select_values = elementwise(_choose)


# casts


def _extsi(_f: CudaFunctionEmitter, op: arith.ExtSIOp, values: list[CudaExpr]) -> CudaExpr:
    (value,), type = values, scalar_type(op.result.type)
    if type == BITS or value.type == BITS:
        return _resize_small(op, _signed_bits(value, bit_width(op.input.type)))
    if value.type == "bool":
        return select(value, integer_literal(-1, type), integer_literal(0, type))
    return cast(type, value, value.bounds)


def _signed_bits(value: CudaExpr, bits: int) -> CudaExpr:
    """The signed number in a bool or in the low `bits` bits."""
    if value.type == "bool":
        return select(value, integer_literal(-1), integer_literal(0))
    whole = signed_range(bits)
    if value.literal is not None:
        return integer_literal(wrap(value.literal, whole))
    shifted = binary("<<", value, integer_literal(8 - bits), INT)
    return replace(binary(">>", cast("signed char", shifted), integer_literal(8 - bits), INT), range=whole)


def _resize_small(op: arith.ExtSIOp, value: CudaExpr) -> CudaExpr:
    """An `int` as the result of a cast from or to an integer of less than a byte."""
    bits = low_bits(op.result.type)
    return mask_bits(value, bits) if bits is not None else cast(scalar_type(op.result.type), value, value.range)


def _extui(_f: CudaFunctionEmitter, op: arith.ExtUIOp, values: list[CudaExpr]) -> CudaExpr:
    (value,), type = values, scalar_type(op.result.type)
    if value.type == BITS:
        return cast(type, value, (0, (1 << bit_width(op.input.type)) - 1))
    if value.type == "bool":
        return cast(type, value, (0, 1))
    if value.is_nonnegative:
        return cast(type, value, value.bounds)
    return cast(type, to_unsigned(value), (0, 2 ** WIDTHS[value.type] - 1))


def narrow(value: CudaExpr, type: str) -> CudaExpr:
    """The low bits of an integer, as a number of a type of at most its width."""
    if value.type == type:
        return value
    if type == "bool":
        return binary("!=", binary("&", value, integer_literal(1), INT), integer_literal(0), "bool")
    fits = within(value.bounds, signed_range(WIDTHS[type]))
    source = value.unsigned if value.unsigned is not None and not fits else value
    return cast(type, source, value.bounds if fits else None)


def _trunci(_f: CudaFunctionEmitter, op: arith.TruncIOp, values: list[CudaExpr]) -> CudaExpr:
    bits = low_bits(op.result.type)
    if bits is not None:
        return mask_bits(values[0], bits)
    return narrow(values[0], scalar_type(op.result.type))


def _index_cast(_f: CudaFunctionEmitter, op: arith.IndexCastOp, values: list[CudaExpr]) -> CudaExpr:
    (value,), type = values, scalar_type(op.result.type)
    if is_index(op.result.type):
        if value.literal is not None:
            return integer_literal(value.literal)
        if value.type == "bool":
            return select(value, integer_literal(-1), integer_literal(0))
        return value if WIDTHS[value.type] >= 32 else cast(INT, value, value.bounds)
    if value.literal is not None and type != "bool":
        return _literal(value.literal, type)
    if WIDTHS[type] == 64:
        return widen(value)
    return replace(value, wide=None) if value.type == type else narrow(value, type)


def _literal(value: int, type: str) -> CudaExpr:
    return integer_literal(wrap(value, signed_range(WIDTHS[type])), type)


def _sitofp(_f: CudaFunctionEmitter, op: arith.SIToFPOp, values: list[CudaExpr]) -> CudaExpr:
    refuse_small_float(op)
    (value,), type = values, scalar_type(op.result.type)
    if value.type == "bool":
        value = select(value, integer_literal(-1, INT), integer_literal(0, INT))
    return cast(type, widen(value) if value.wide is not None else value)


def _uitofp(_f: CudaFunctionEmitter, op: arith.UIToFPOp, values: list[CudaExpr]) -> CudaExpr:
    refuse_small_float(op)
    (value,), type = values, scalar_type(op.result.type)
    if value.type == "bool" or value.is_nonnegative:
        return cast(type, value)
    return cast(type, to_unsigned(widen(value) if is_index(op.input.type) else value))


def _to_integer(sign: str) -> Build:
    def convert(f: CudaFunctionEmitter, op: Operation, values: list[CudaExpr]) -> CudaExpr:
        refuse_small_float(op)
        (value,), type = values, scalar_type(op.results[0].type)
        if type == "bool":  # 0 and -1, or 0 and 1
            bound = CudaExpr("-1", 15, value.type) if sign == "s" else CudaExpr("1", 16, value.type)
            return binary("<=" if sign == "s" else ">=", value, bound, "bool")
        return call(f.helper(f"to_{sign}{WIDTHS[type]}_{helper_suffix(op.operands[0].type)}"), type, value)

    return convert


def _extf(f: CudaFunctionEmitter, op: arith.ExtFOp, values: list[CudaExpr]) -> CudaExpr:
    (value,), type = values, scalar_type(op.result.type)
    if not is_small_float(op.input.type):
        return cast(type, value)
    result = _from_small(f, value, op.input.type)
    if is_small_float(op.result.type):
        return _to_small(f, result, op.result.type)
    return result if type == "float" else cast(type, result)


def _from_small(f: CudaFunctionEmitter, value: CudaExpr, type: Attribute) -> CudaExpr:
    """A float of at most 16 bits as `float`, exactly."""
    if value.type == BITS:
        return call(f.helper(f"extend_{dtype_of(element_type_of(type))}"), "float", value)
    return call(_HALF_TO_FLOAT[value.type], "float", value)


def _to_small(f: CudaFunctionEmitter, value: CudaExpr, type: Attribute) -> CudaExpr:
    """The float of at most 16 bits nearest to a `float`."""
    small = scalar_type(type)
    if small == BITS:
        return call(f.helper(f"round_{dtype_of(element_type_of(type))}"), BITS, value)
    return call(_FLOAT_TO_HALF[small], small, value)


_HALF_TO_FLOAT = {HALF: "__half2float", BFLOAT: "__bfloat162float"}
_FLOAT_TO_HALF = {HALF: "__float2half_rn", BFLOAT: "__float2bfloat16_rn"}


def _truncf(f: CudaFunctionEmitter, op: arith.TruncFOp, values: list[CudaExpr]) -> CudaExpr:
    """Truncates an f64 to a small float by an f32 rounded to odd, so the result is rounded once."""
    (value,) = values
    if not is_small_float(op.result.type):
        return cast(scalar_type(op.result.type), value)
    if is_small_float(op.input.type):
        value = _from_small(f, value, op.input.type)
    elif isinstance(element_type_of(op.input.type), Float64Type):
        value = call(f.helper("round_to_odd"), "float", value)
    return _to_small(f, value, op.result.type)


_BITCASTS = {
    ("int", "float"): "__int_as_float",
    ("float", "int"): "__float_as_int",
    ("long long", "double"): "__longlong_as_double",
    ("double", "long long"): "__double_as_longlong",
}


def bitcast(value: CudaExpr, type: str) -> CudaExpr:
    """The bits of a scalar as a type of the same width."""
    if value.type == type:
        return value
    if (value.type, type) in _BITCASTS:
        return call(_BITCASTS[value.type, type], type, value)
    if value.type == BITS or type == BITS:
        return cast(type, value)
    if value.type in _HALF_TO_FLOAT:
        bits = bits_of_small_float(value)
        return small_float_of_bits(bits, type) if type in _HALF_TO_FLOAT else cast(type, bits)
    return small_float_of_bits(to_unsigned(value), type)


def _bitcast_values(_f: CudaFunctionEmitter, op: arith.BitcastOp, values: list[CudaExpr]) -> CudaExpr:
    (value,) = values
    return bitcast(widen(value) if is_index(op.input.type) else value, scalar_type(op.result.type))


def _bitcast(f: CudaFunctionEmitter, op: arith.BitcastOp) -> None:
    """Casts a scalar, a vector, or the element type of a buffer, by its pointer."""
    if not isinstance(op.result.type, MemRefType):
        elementwise(_bitcast_values)(f, op)
        return
    source = f.buffer(op.input)
    pointer = cast_pointer(f, source.pointer, memory_type(op.result.type.element_type), source.const)
    f.bind(op.result, replace(source, pointer=f.local(pointer, op.result.name_hint)))


def cast_pointer(f: CudaFunctionEmitter, pointer: CudaExpr, element: str, const: bool) -> CudaExpr:
    """A pointer cast to elements of another type."""
    type = f.module.use_type(f"{'const ' if const else ''}{element}*")
    return CudaExpr(f"reinterpret_cast<{type}>({pointer.text})", 16, type)


# operations with several results


def _columns(f: CudaFunctionEmitter, op: Operation) -> list[tuple[CudaExpr, CudaExpr]]:
    lhs, rhs = op.operands
    if lane_count(lhs.type) is None:
        return [(f.as_repeatable(f.operand(lhs)), f.as_repeatable(f.operand(rhs)))]
    return [(f.as_repeatable(a), f.as_repeatable(b)) for a, b in zip(f.lanes(lhs), f.lanes(rhs), strict=True)]


def _define_rows(f: CudaFunctionEmitter, op: Operation, rows: list[tuple[CudaExpr, CudaExpr]]) -> None:
    for result, values in zip(op.results, zip(*rows, strict=True), strict=True):
        if lane_count(result.type) is None:
            f.define(result, values[0])
        else:
            f.define_lanes(result, values)


def _wide_index(op: Operation, values: tuple[CudaExpr, CudaExpr]) -> tuple[CudaExpr, CudaExpr]:
    return (widen(values[0]), widen(values[1])) if is_index(op.operands[0].type) else values


def _add_extended(f: CudaFunctionEmitter, op: arith.AddUIExtendedOp) -> None:
    rows: list[tuple[CudaExpr, CudaExpr]] = []
    for row in _columns(f, op):
        lhs, rhs = _wide_index(op, row)
        if lhs.type == "bool":
            rows.append((binary("!=", lhs, rhs, "bool"), binary("&&", lhs, rhs, "bool")))
            continue
        total = f.as_repeatable(wrapping_arithmetic("+", lhs, rhs, lhs.type), op.sum.name_hint)
        rows.append((total, binary("<", to_unsigned(total), to_unsigned(lhs), "bool")))
    _define_rows(f, op, rows)


def _multiply_extended(f: CudaFunctionEmitter, op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> None:
    signed = isinstance(op, arith.MulSIExtendedOp)
    rows: list[tuple[CudaExpr, CudaExpr]] = []
    for row in _columns(f, op):
        lhs, rhs = _wide_index(op, row)
        if lhs.type == "bool":  # -1 * -1 is 1, whose upper bit is 0
            rows.append((binary("&&", lhs, rhs, "bool"), integer_literal(0, "bool")))
        else:
            rows.append((wrapping_arithmetic("*", lhs, rhs, lhs.type), _upper_half(lhs, rhs, signed)))
    _define_rows(f, op, rows)


def _upper_half(lhs: CudaExpr, rhs: CudaExpr, signed: bool) -> CudaExpr:
    bits = WIDTHS[lhs.type]
    if bits == 64:
        if signed:
            return call("__mul64hi", LONG, lhs, rhs)
        return from_unsigned(call("__umul64hi", UNSIGNED[64], to_unsigned(lhs), to_unsigned(rhs)), LONG)
    wide = LONG if signed else UNSIGNED[64]
    a, b = (cast(wide, value if signed else to_unsigned(value)) for value in (lhs, rhs))
    return cast(lhs.type, binary(">>", binary("*", a, b, wide), integer_literal(bits), wide))


LOWERINGS: Lowerings = {
    arith.ConstantOp: _constant,
    **dict.fromkeys(_SYMBOLS, elementwise(_wrapping_arithmetic)),
    **dict.fromkeys(_BITWISE, elementwise(_bitwise)),
    **dict.fromkeys((arith.MinSIOp, arith.MaxSIOp), elementwise(_signed_extreme)),
    **dict.fromkeys((arith.MinUIOp, arith.MaxUIOp), elementwise(_unsigned_extreme)),
    **dict.fromkeys(_FLOAT, elementwise(_float_arithmetic)),
    **dict.fromkeys(_FLOAT_EXTREMES, elementwise(_float_extreme)),
    **dict.fromkeys(_SHIFTS, elementwise(_shift)),
    arith.DivSIOp: elementwise(_division(_divsi, signed=True)),
    arith.RemSIOp: elementwise(_division(_remsi, signed=True)),
    arith.FloorDivSIOp: elementwise(_division(_floordivsi, signed=True)),
    arith.CeilDivSIOp: elementwise(_division(_ceildivsi, signed=True)),
    arith.DivUIOp: elementwise(_division(_divui, signed=False)),
    arith.RemUIOp: elementwise(_division(_remui, signed=False)),
    arith.CeilDivUIOp: elementwise(_division(_ceildivui, signed=False)),
    arith.NegfOp: elementwise(_negf),
    arith.CmpiOp: elementwise(_compare_integers),
    arith.CmpfOp: elementwise(_compare_floats),
    arith.SelectOp: _select,
    arith.ExtSIOp: elementwise(_extsi),
    arith.ExtUIOp: elementwise(_extui),
    arith.TruncIOp: elementwise(_trunci),
    arith.IndexCastOp: elementwise(_index_cast),
    arith.SIToFPOp: elementwise(_sitofp),
    arith.UIToFPOp: elementwise(_uitofp),
    arith.FPToSIOp: elementwise(_to_integer("s")),
    arith.FPToUIOp: elementwise(_to_integer("u")),
    arith.ExtFOp: elementwise(_extf),
    arith.TruncFOp: elementwise(_truncf),
    arith.BitcastOp: _bitcast,
    arith.AddUIExtendedOp: _add_extended,
    arith.MulUIExtendedOp: _multiply_extended,
    arith.MulSIExtendedOp: _multiply_extended,
}
