"""Intervals of integer values, so that generated code wraps and checks only where necessary."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from ...core.dtypes import DType, dtype_of, int_range
from ...dialects.tir import CastOp, ConstOp, FloormodOp, HandleType, IntrinsicOp, LetOp, Mixed, RampOp

Interval: TypeAlias = tuple[int, int]
"""The minimum and maximum."""


# The oracle does not use `core.intervals`, on purpose: programs are compared with the results of the oracle, and a bug
# in shared arithmetic would be in both. The rules here are a second opinion.


def _hull(*numbers: int) -> Interval:
    return min(numbers), max(numbers)


def _product(a: Interval, b: Interval) -> Interval:
    return _hull(a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])


def _floor_quotient(a: Interval, b: Interval) -> Interval | None:
    if b[0] <= 0:
        return None
    return _hull(a[0] // b[0], a[0] // b[1], a[1] // b[0], a[1] // b[1])


def _floor_remainder(a: Interval, b: Interval) -> Interval | None:
    if b[0] <= 0:
        return None
    return a if 0 <= a[0] and a[1] < b[0] else (0, b[1] - 1)


def _if_nonnegative(rule: Callable[[Interval, Interval], Interval | None]) -> Callable[..., Interval | None]:
    return lambda a, b: rule(a, b) if a[0] >= 0 else None


def _bitwise_and(a: Interval, b: Interval) -> Interval | None:
    return (0, min(a[1], b[1])) if a[0] >= 0 and b[0] >= 0 else None


def _shift_right(a: Interval, b: Interval) -> Interval | None:
    return _hull(a[0] >> b[0], a[0] >> b[1], a[1] >> b[0], a[1] >> b[1]) if 0 <= b[0] and b[1] < 64 else None


def _shift_left(a: Interval, b: Interval) -> Interval | None:
    return _product(a, (1 << b[0], 1 << b[1])) if 0 <= b[0] and b[1] < 64 else None


_BINARY: dict[type[Operation], Callable[[Interval, Interval], Interval | None]] = {
    arith.AddiOp: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    arith.SubiOp: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    arith.MuliOp: _product,
    arith.FloorDivSIOp: _floor_quotient,
    arith.DivUIOp: _if_nonnegative(_floor_quotient),
    arith.DivSIOp: _if_nonnegative(_floor_quotient),
    FloormodOp: _floor_remainder,
    arith.RemUIOp: _if_nonnegative(_floor_remainder),
    arith.RemSIOp: _if_nonnegative(_floor_remainder),
    arith.MinSIOp: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    arith.MaxSIOp: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    arith.AndIOp: _bitwise_and,
    arith.ShLIOp: _shift_left,
    arith.ShRSIOp: _shift_right,
}


class OpIntervals:
    """The intervals of integer values. `assume` adds facts that ops do not show."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Interval] = {}
        self._below: dict[SSAValue, SSAValue] = {}

    def assume(self, value: SSAValue, interval: Interval, below: SSAValue | None = None) -> None:
        """Assumes that `value` lies in `interval`, and in [0, below) if `below` is given."""
        low, high = int_range(dtype_of(value.type).scalar)
        if low <= interval[0] and interval[1] <= high:
            self._known[value] = interval
        if below is not None:
            self._below[value] = below

    def assume_equal(self, value: SSAValue, other: SSAValue) -> None:
        """Assumes that `value` equals `other`."""
        self._known[value] = self.interval_of(other)
        if other in self._below:
            self._below[value] = self._below[other]

    def interval_of(self, value: Mixed) -> Interval:
        """The interval of `value`; for a vector, of all its lanes."""
        if isinstance(value, int):
            return value, value
        if value not in self._known:
            low, high = int_range(dtype_of(value.type).scalar)
            exact = self.unwrapped_interval(value.owner) if isinstance(value.owner, Operation) else None
            fits = exact is not None and low <= exact[0] and exact[1] <= high
            self._known[value] = exact if exact is not None and fits else (low, high)
        return self._known[value]

    def fits(self, op: Operation) -> bool:
        """Whether the result of an integer op requires no wrapping."""
        exact = self.unwrapped_interval(op)
        if exact is None:
            return False
        low, high = int_range(dtype_of(op.results[0].type).scalar)
        return low <= exact[0] and exact[1] <= high

    def upper_bound(self, value: Mixed) -> SSAValue | None:
        """The exclusive upper bound of a `value` known to lie in [0, bound), else None."""
        return None if isinstance(value, int) else self._below.get(value)

    def unwrapped_interval(self, op: Operation) -> Interval | None:
        """The interval of the result of an op before wrapping; None if unknown."""
        if type(op) in _BINARY and not _is_unsigned_view(op):
            return _BINARY[type(op)](self.interval_of(op.operands[0]), self.interval_of(op.operands[1]))
        match op:
            case arith.ConstantOp(value=IntegerAttr() as attr) | ConstOp(value=IntegerAttr() as attr):
                number = attr.value.data & 1 if dtype_of(op.results[0].type).is_bool else attr.value.data
                return number, number
            case CastOp() | LetOp() | vector.BroadcastOp():
                return self._of_integer(op.operands[0])
            case IntrinsicOp() if op.intrinsic.data == "likely":
                return self._of_integer(op.operands[0])
            case RampOp():
                base, stride = self.interval_of(op.base), self.interval_of(op.stride)
                low, high = _product(stride, (0, op.lanes - 1))
                return base[0] + low, base[1] + high
            case arith.SelectOp() if self._of_integer(op.lhs) is not None:
                return _hull(*self.interval_of(op.lhs), *self.interval_of(op.rhs))
            case _:
                return None

    def _of_integer(self, value: SSAValue) -> Interval | None:
        if isinstance(value.type, HandleType):
            return None
        dtype: DType = dtype_of(value.type)
        return None if dtype.is_float else self.interval_of(value)


def _is_unsigned_view(op: Operation) -> bool:
    """Whether `op` is unsigned on signless operands, whose intervals are signed."""
    unsigned = isinstance(op, arith.DivUIOp | arith.RemUIOp)
    return unsigned and dtype_of(op.operands[0].type).kind == "int"
