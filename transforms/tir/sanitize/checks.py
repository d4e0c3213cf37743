"""Emission of checks: assertions before an operation, except for conditions that the ranges of values prove."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....analysis.index import Analyzer
from ....core.assertions import PLACEHOLDER, UNDEFINED_BEHAVIOR
from ....core.diagnostics import where
from ....core.dtypes import DType, dtype_of
from ....dialects.tir import AssertOp, Mixed, Operand, TirBuilder, constant_value

INT64 = DType("int", 64)


class Checks:
    """Emits assertions of undefined behaviour in one function.

    function: its name, for operations without a source location.  count: the number of assertions emitted so far.
    """

    def __init__(self, function: str, analyzer: Analyzer):
        self.function, self.analyzer, self.count = function, analyzer, 0

    def builder(self, op: Operation) -> TirBuilder:
        """A builder of operations before `op`, with its location."""
        return TirBuilder(InsertPoint.before(op), op.location)

    def require(
        self, builder: TirBuilder, op: Operation, condition: SSAValue, text: str, values: Sequence[SSAValue] = ()
    ) -> None:
        """Emits the assertion of a condition; its message has the location and the name of `op`, as the oracle's.

        The condition is assumed to hold for later checks in the current scope of the analyzer.
        """
        message = f"{where(op) or f'{self.function}: '}{op.name}: {text}"
        builder.insert(AssertOp(condition, message, UNDEFINED_BEHAVIOR, values))
        self.count += 1
        self.analyzer.assume(condition)

    def bounds_condition(self, builder: TirBuilder, value: SSAValue, low: Mixed, end: Mixed) -> SSAValue | None:
        """The condition that an integer lies in [low, end), without a half that is known; None if all of it is."""
        exact = self.analyzer.exact(value)
        halves = [
            builder.binary(name, *_comparable(builder, value, bound))
            for name, bound in (("ge", low), ("lt", end))
            if not self.analyzer.is_provably(name, exact, self.analyzer.exact(bound))
        ]
        return None if not halves else builder.conjunction(halves)


def _comparable(builder: TirBuilder, value: SSAValue, bound: Mixed) -> tuple[SSAValue, Operand]:
    """Two integers in a type that represents both; 64 bits if they differ in type."""
    if isinstance(bound, int) and value.type == IntegerType(32) and abs(bound) < 2**31:
        return value, bound
    if isinstance(bound, SSAValue) and bound.type == value.type:
        return value, bound
    return wide(builder, value), wide(builder, bound)


def wide(builder: TirBuilder, value: Mixed) -> SSAValue:
    """An integer in 64 bits."""
    return builder.const(value, INT64) if isinstance(value, int) else builder.cast(value, INT64)


def describe(numbers: Sequence[Mixed]) -> tuple[list[str], list[SSAValue]]:
    """The texts of numbers in a message, and the values of their placeholders."""
    known = [number if isinstance(number, int) else constant_value(number) for number in numbers]
    texts = [PLACEHOLDER if number is None else str(number) for number in known]
    return texts, [n for n, k in zip(numbers, known, strict=True) if k is None and isinstance(n, SSAValue)]


def spell_name(name: str) -> str:
    """A name of the program in a message with values, where placeholders have a meaning."""
    return name.replace(PLACEHOLDER, "{ }")


def integer_dtype(value: SSAValue) -> DType | None:
    """The data type of a signed scalar integer; None for any other value."""
    if not isinstance(value.type, IntegerType):
        return None
    dtype = dtype_of(value.type)
    return dtype if dtype.kind == "int" else None
