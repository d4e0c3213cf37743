"""Floats that are rounded, and become integers of at most 16 bits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isnan, nan

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ....core.comparisons import predicate_of
from ....core.dtypes import element_type_of
from ....dialects.tir import constant_value
from .numbers import F32, Facts, Number, Writer

Conversion = arith.FPToSIOp | arith.FPToUIOp

_MOST_BITS = 16
_MOST_OFFSET = 2.0**20
"""The greatest offset, so that a bound without the offset is below half of the numbers whose unit is 1."""
_LESS, _GREATER = ("olt", "ole"), ("ogt", "oge")


@dataclass(frozen=True)
class Rounded:
    """A float that is rounded to an integer. value: the float.  offset: the number that is added to the integer.  low,
    high: the bounds of the sum.  of_nan: the result for NaN."""

    value: SSAValue
    offset: float = 0.0
    low: float = -inf
    high: float = inf
    of_nan: float = nan

    def within(self, low: float, high: float, of_nan: float) -> Rounded:
        """The result within further bounds. of_nan: the number that they make of NaN."""
        chosen = of_nan if isnan(self.of_nan) else min(max(self.of_nan, low), high)
        return replace(self, low=min(max(self.low, low), high), high=min(max(self.high, low), high), of_nan=chosen)


def rounded(op: Conversion) -> Rounded | None:
    """The float of f32 that is rounded to an integer and then converted to an integer of at most 16 bits; None for
    other conversions. Bounds and an offset between are constant integers."""
    type = element_type_of(op.result.type)
    assert isinstance(type, IntegerType)
    if type.width.data > _MOST_BITS or element_type_of(op.input.type) != f32:
        return None
    found = _bounded(op.input)
    if found is None:
        return None
    found = found.within(*_range(op, type.width.data), 0.0)
    numbers = (found.low, found.high, found.of_nan, found.offset)
    return found if abs(found.offset) <= _MOST_OFFSET and all(map(float.is_integer, numbers)) else None


def _range(op: Conversion, bits: int) -> tuple[float, float]:
    half = 2.0 ** (bits - 1)
    return (-half, half - 1) if isinstance(op, arith.FPToSIOp) else (0.0, 2 * half - 1)


def _bounded(value: SSAValue) -> Rounded | None:
    """A rounded float with an offset and bounds; None for other values."""
    match value.owner:
        case math.RoundEvenOp() as op:
            return Rounded(op.operand)
        case arith.AddfOp() as op:
            for number, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                offset = constant_value(other)
                if offset is not None and isinstance(number.owner, math.RoundEvenOp):
                    return Rounded(number.owner.operand, offset=float(offset))
            return None
        case arith.SelectOp() as op:
            return _extreme(op)
        case _:
            return None


def _extreme(op: arith.SelectOp) -> Rounded | None:
    """The minimum or maximum of a bounded float and a constant; None for other choices."""
    comparison = op.cond.owner
    if not isinstance(comparison, arith.CmpfOp) or {comparison.lhs, comparison.rhs} != {op.lhs, op.rhs}:
        return None
    predicate = predicate_of(comparison)
    if predicate not in (*_LESS, *_GREATER):
        return None
    number, bound = (op.rhs, op.lhs) if constant_value(op.rhs) is None else (op.lhs, op.rhs)
    inner, limit = _bounded(number), constant_value(bound)
    if inner is None or limit is None or isnan(limit):
        return None
    is_minimum = (predicate in _LESS) == (op.lhs is comparison.lhs)
    low, high = (-inf, float(limit)) if is_minimum else (float(limit), inf)
    return inner.within(low, high, nan if number is op.rhs else float(limit))  # the comparison with NaN is false


def round_by_sum(op: Conversion, rounded: Rounded) -> None:
    """Replaces the conversion of a rounded float. The sum of the float, within bounds, and `F32.magic` is rounded to an
    integer, whose lowest bits are those of the integer without the offset."""
    writer = Writer(op, Facts(fma=False))
    x, low, high = Number(writer, rounded.value, F32), rounded.low - rounded.offset, rounded.high - rounded.offset
    if rounded.of_nan == rounded.high:
        inside = (x < high).select(x, high).at_least(low)
    else:
        inside = (x > low).select(x, low).at_most(high)
    result = writer.insert(arith.TruncIOp((inside + F32.magic).bits.value, op.result.type))
    scalar = element_type_of(op.result.type)
    if rounded.offset:
        result = writer.insert(arith.AddiOp(result, writer.constant(int(rounded.offset), scalar)))
    if rounded.of_nan not in (rounded.low, rounded.high):
        of_nan = writer.constant(int(rounded.of_nan), scalar)
        result = writer.insert(arith.SelectOp(x.compare("uno", x).value, of_nan, result))
    result.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(result)
    _erase_unused(op)


def _erase_unused(op: Operation) -> None:
    """Erases an operation without uses, and those that computed its operands only."""
    operands = list(op.operands)
    Rewriter.erase_op(op)
    for value in operands:
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent is not None and is_trivially_dead(owner):
            _erase_unused(owner)
