"""C++ expressions: text, precedence, and known facts about integer values.

The facts decide three questions: whether an operation cannot overflow and so needs no detour through unsigned numbers,
whether an `index` fits `int`, and whether an address is aligned.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

from ....core import intervals
from ....core.intervals import Interval, hull, intersect, signed_range, within, wrap

PRIMARY, UNARY, MULTIPLY, ADD, SHIFT, COMPARE, EQUAL, CONDITIONAL, SPACED = 16, 15, 13, 12, 11, 10, 9, 3, 15
"""Levels of precedence. An operand of a shift or a bitwise operation has parentheses unless it is unary or primary."""

_LEVELS = {
    "*": MULTIPLY, "/": MULTIPLY, "%": MULTIPLY, "+": ADD, "-": ADD, "<<": SHIFT, ">>": SHIFT, "<": COMPARE,
    "<=": COMPARE, ">": COMPARE, ">=": COMPARE, "==": EQUAL, "!=": EQUAL, "&": 8, "^": 7, "|": 6, "&&": 5, "||": 4,
}  # fmt: skip
_OPERANDS = {
    **dict.fromkeys(("<<", ">>", "&", "^", "|"), (SPACED, SPACED)),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), (SHIFT, SHIFT)),
    "&&": (5, 6),
    "||": (EQUAL, EQUAL),
}
"""The required levels of both operands, where they differ from those of the operator."""

WIDTHS = {"bool": 1, "signed char": 8, "short": 16, "int": 32, "long long": 64}
"""The integer types of values, and their bits."""

INTEGERS = {bits: name for name, bits in WIDTHS.items()}
UNSIGNED = {8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "unsigned long long"}

INT, LONG = "int", "long long"

_SIMPLE = re.compile(r"-?[\w.]+")

_OPERATIONS: dict[str, tuple[Callable[[int, int], int], Callable[[Interval, Interval], Interval]]] = {
    "+": (operator.add, intervals.add),
    "-": (operator.sub, intervals.sub),
    "*": (operator.mul, intervals.mul),
}
"""A sum, difference or product of numbers, and of their ranges."""


@dataclass(frozen=True)
class CudaExpr:
    """A C++ expression without side effects. `type`: the type of a variable for its value."""

    text: str
    level: int
    type: str
    range: Interval | None = None
    """Inclusive bounds of an integer."""
    multiple: int = 1
    """A divisor of an integer; 0 if the integer is 0."""
    reads: bool = False
    """Whether the expression reads memory: then it must be computed before the next write."""
    unsigned: CudaExpr | None = None
    """The same bits as an unsigned number, if the value was computed as one."""
    wide: CudaExpr | None = None
    """The number in 64 bits, of an `index` that fits `int` only because it came from i32."""

    @cached_property
    def simple(self) -> bool:
        """Whether the expression is a name or a literal."""
        return _SIMPLE.fullmatch(self.text) is not None

    @property
    def literal(self) -> int | None:
        """The value of a known integer, else None."""
        return self.range[0] if self.range is not None and self.range[0] == self.range[1] else None

    @property
    def bounds(self) -> Interval:
        """The range of an integer, by default the range of its type."""
        return self.range if self.range is not None else signed_range(WIDTHS[self.type])

    @property
    def is_nonnegative(self) -> bool:
        """Whether an integer is known to be nonnegative."""
        return self.bounds[0] >= 0

    def parenthesized(self, level: int) -> str:
        """The text as an operand of at least precedence `level`, in parentheses if necessary."""
        return self.text if self.level >= level else f"({self.text})"

    def as_variable(self, name: str) -> CudaExpr:
        """A variable with the value."""
        return replace(self, text=name, level=PRIMARY, reads=False, unsigned=None, wide=None)


def variable_expr(text: str, type: str, range: Interval | None = None, multiple: int = 1) -> CudaExpr:
    """A variable."""
    return CudaExpr(text, PRIMARY, type, range, multiple)


def integer_literal(value: int, type: str | None = None) -> CudaExpr:
    """An integer literal; without a type, an `index` of the narrowest type."""
    if type == "bool":
        return CudaExpr("true" if value & 1 else "false", PRIMARY, type)
    low, high = signed_range(32)
    fits = low <= value <= high
    suffix = "" if fits and type != LONG else "LL"
    lowest = -(2**63) if suffix else low
    text = f"({lowest + 1}{suffix} - 1)" if value == lowest else f"{value}{suffix}"
    level = UNARY if value < 0 and value != lowest else PRIMARY
    return CudaExpr(text, level, type or (INT if fits else LONG), (value, value), abs(value))


def binary(symbol: str, lhs: CudaExpr, rhs: CudaExpr, type: str, *, flat: bool = False) -> CudaExpr:
    """`lhs symbol rhs` with as few parentheses as possible; flat: no parentheses around a sum on the right of a sum."""
    level = _LEVELS[symbol]
    left, right = _OPERANDS.get(symbol, (level, level if flat else level + 1))
    if symbol in "&|^" and f" {symbol} " in lhs.text and lhs.level == level:
        left = level
    return CudaExpr(
        f"{lhs.parenthesized(left)} {symbol} {rhs.parenthesized(right)}",
        level,
        type,
        (0, 1) if type == "bool" else None,
        reads=lhs.reads or rhs.reads,
    )


def cast(type: str, value: CudaExpr, range: Interval | None = None) -> CudaExpr:
    """`(type)value`."""
    return CudaExpr(
        f"({type}){value.parenthesized(UNARY)}", UNARY, type, range, value.multiple if range else 1, value.reads
    )


def call(function: str, type: str, *arguments: CudaExpr, range: Interval | None = None) -> CudaExpr:
    """`function(arguments)`, of a function without effects."""
    text = ", ".join(argument.text for argument in arguments)
    return CudaExpr(f"{function}({text})", PRIMARY, type, range, reads=any(argument.reads for argument in arguments))


def negate(value: CudaExpr) -> CudaExpr:
    """`-value`."""
    text = f"({value.text})" if value.text.startswith("-") else value.parenthesized(UNARY)
    return CudaExpr(f"-{text}", UNARY, value.type, reads=value.reads)


def negate_condition(value: CudaExpr) -> CudaExpr:
    """`!value`."""
    return CudaExpr(f"!{value.parenthesized(UNARY)}", UNARY, "bool", reads=value.reads)


def select(condition: CudaExpr, then: CudaExpr, otherwise: CudaExpr) -> CudaExpr:
    """`condition ? then : otherwise`."""
    text = f"{condition.parenthesized(4)} ? {then.parenthesized(4)} : {otherwise.parenthesized(CONDITIONAL)}"
    type, range = common_type(then.type, otherwise.type), None
    if type in WIDTHS and type != "bool":
        range = hull(then.bounds, otherwise.bounds)
    reads = condition.reads or then.reads or otherwise.reads
    return CudaExpr(text, CONDITIONAL, type, range, gcd(then.multiple, otherwise.multiple), reads)


def common_type(*types: str) -> str:
    """The type that holds values of all `types`, which differ only where an `index` is `int` or `long long`."""
    return LONG if LONG in types else types[0]


def unwrapped_range(symbol: str, lhs: Interval, rhs: Interval) -> Interval:
    """The range of a sum, difference or product that does not wrap."""
    return _OPERATIONS[symbol][1](lhs, rhs)


def result_divisor(symbol: str, lhs: CudaExpr, rhs: CudaExpr) -> int:
    """A divisor of a sum, difference or product."""
    return lhs.multiple * rhs.multiple if symbol == "*" else gcd(lhs.multiple, rhs.multiple)


def fold_constants(symbol: str, a: int, b: int) -> int:
    return _OPERATIONS[symbol][0](a, b)


def exact_arithmetic(symbol: str, lhs: CudaExpr, rhs: CudaExpr, type: str, *, flat: bool = False) -> CudaExpr:
    """A sum, difference or product in `type` that is known not to overflow."""
    range = unwrapped_range(symbol, lhs.bounds, rhs.bounds)
    if symbol == "+" and rhs.literal is not None and rhs.literal < 0:
        symbol, rhs = "-", integer_literal(-rhs.literal, type)
    text = binary(symbol, lhs, rhs, type, flat=flat and symbol == "+")
    return replace(text, range=intersect(range, signed_range(WIDTHS[type])), multiple=result_divisor(symbol, lhs, rhs))


def widen(value: CudaExpr) -> CudaExpr:
    """An `index` in 64 bits."""
    if value.type == LONG:
        return value
    if value.literal is not None:
        return integer_literal(value.literal, LONG)
    return value.wide or replace(cast(LONG, value, value.bounds), multiple=value.multiple)


def index_arithmetic(symbol: str, lhs: CudaExpr, rhs: CudaExpr, *, flat: bool = False) -> CudaExpr:
    """A sum, difference or product of `index` values. Two `int` operands yield `int`, even if
    the ranges do not prove that the result fits (the numbers then came from i32); `wide` of such a result is its value
    in 64 bits. flat: see `binary`.
    """
    a, b = lhs.literal, rhs.literal
    if a is not None and b is not None:
        return integer_literal(wrap(fold_constants(symbol, a, b), signed_range(64)))
    if b == (1 if symbol == "*" else 0):
        return lhs
    if a == (1 if symbol == "*" else 0) and symbol != "-":
        return rhs
    if symbol == "*" and (a == 0 or b == 0):
        return integer_literal(0)
    range = unwrapped_range(symbol, lhs.bounds, rhs.bounds)
    whole = signed_range(32)
    if LONG in (lhs.type, rhs.type):
        lhs, rhs = (value.wide or value for value in (lhs, rhs))
        return exact_arithmetic(symbol, lhs, rhs, LONG, flat=flat)
    result = exact_arithmetic(symbol, lhs, rhs, INT, flat=flat)
    if within(range, whole) and lhs.wide is None and rhs.wide is None:
        return result
    if lhs.wide is not None or lhs.literal is None:
        wide = exact_arithmetic(symbol, widen(lhs), rhs.wide or rhs, LONG, flat=flat)
    else:
        wide = exact_arithmetic(symbol, lhs, widen(rhs), LONG, flat=flat)
    return replace(result, wide=wide) if intersect(range, whole) else wide


def to_unsigned(value: CudaExpr) -> CudaExpr:
    """The same bits as an unsigned number of the same width."""
    bits = WIDTHS[value.type]
    if value.literal is not None:
        suffix = "ull" if bits == 64 else "u"
        return CudaExpr(f"{value.literal % 2**bits}{suffix}", PRIMARY, UNSIGNED[bits])
    return value.unsigned or cast(UNSIGNED[bits], value)


def from_unsigned(value: CudaExpr, type: str, range: Interval | None = None) -> CudaExpr:
    """The signed number with the bits of an unsigned number."""
    return replace(cast(type, value), range=range, unsigned=value)


def wrapping_arithmetic(symbol: str, lhs: CudaExpr, rhs: CudaExpr, type: str) -> CudaExpr:
    """A sum, difference or product of integers that wraps at the width of `type`."""
    bits = WIDTHS[type]
    whole = signed_range(bits)
    a, b = lhs.literal, rhs.literal
    if a is not None and b is not None:
        return integer_literal(wrap(fold_constants(symbol, a, b), whole), type)
    range = unwrapped_range(symbol, lhs.bounds, rhs.bounds)
    if within(range, whole):
        return exact_arithmetic(symbol, lhs, rhs, type)
    if bits < 32:  # `int` holds the exact result
        return cast(type, binary(symbol, lhs, rhs, INT))
    if symbol == "+" and b is not None and b < 0:
        symbol, rhs = "-", integer_literal(-b, LONG if bits == 64 else INT) if b != whole[0] else rhs
    left = to_unsigned(lhs)
    right = rhs.unsigned or (to_unsigned(rhs) if rhs.literal is not None else rhs)
    return from_unsigned(binary(symbol, left, right, UNSIGNED[bits]), type)
