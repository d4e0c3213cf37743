"""Checks of integer arithmetic: divisors, shift amounts, and overflow in index expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Operation, SSAValue

from ....analysis.index import Analyzer, Lin
from ....core.dtypes import DType, dtype_of, int_range
from ....dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AllocateOp,
    BlockOp,
    BufferOp,
    FloormodOp,
    ForOp,
    FuncOp,
    IfThenElseOp,
    LetOp,
    LoadOp,
    StoreOp,
    TirBuilder,
    YieldOp,
    constant_value,
)
from ....dialects.tir.tree import is_pure_expression
from .checks import INT64, Checks, describe, integer_dtype, wide

# Divisions and shifts


def check_division(checks: Checks, op: Operation) -> None:
    """Emits the check that no lane of a divisor is 0."""
    divisor = op.operands[1]
    low, high = (1, 1) if constant_value(divisor) else _bounds(checks, divisor)
    if low <= 0 <= high:
        builder = checks.builder(op)
        condition = _all_lanes(builder, builder.binary("ne", divisor, builder.const(0, dtype_of(divisor.type))))
        checks.require(builder, op, condition, "division by zero")


def check_shift(checks: Checks, op: Operation) -> None:
    """Emits the check that each lane of a shift amount is in [0, bits)."""
    amount = op.operands[1]
    dtype = dtype_of(amount.type)
    low, high = _bounds(checks, amount)
    builder = checks.builder(op)
    halves: list[SSAValue] = []
    if low < 0:
        halves.append(builder.binary("ge", amount, builder.const(0, dtype)))
    if high >= dtype.bits:
        halves.append(builder.binary("lt", amount, builder.const(dtype.bits, dtype)))
    if halves:
        condition = builder.conjunction([_all_lanes(builder, half) for half in halves])
        checks.require(builder, op, condition, "shift amount out of range")


def _bounds(checks: Checks, value: SSAValue) -> tuple[int, int]:
    """The range of an integer; of a vector, that of its type unless it is a constant."""
    number = constant_value(value)
    if isinstance(number, int):
        return number, number
    if isinstance(value.type, VectorType):
        return int_range(dtype_of(value.type).scalar)
    return checks.analyzer.bounds(checks.analyzer.exact(value))


def _all_lanes(builder: TirBuilder, condition: SSAValue) -> SSAValue:
    """Whether a condition holds in all lanes."""
    return builder.conjunction([lane_of(builder, condition, n) for n in range(dtype_of(condition.type).lanes)])


def lane_of(builder: TirBuilder, value: SSAValue, lane: int) -> SSAValue:
    """A lane of a vector; the value itself if it is a scalar."""
    return builder.shuffle([value], [lane]) if isinstance(value.type, VectorType) else value


# Overflow


_REDUCTIONS = (
    arith.RemSIOp, arith.RemUIOp, FloormodOp, arith.AndIOp, arith.MinSIOp, arith.MinUIOp, arith.MaxSIOp, arith.MaxUIOp,
)  # fmt: skip
"""Operators that reduce any number to a range, as a hash does: their operands may wrap on purpose."""


def values_of_indices(func: FuncOp) -> set[SSAValue]:
    """The integers that the indices, extents and loop bounds of a function are computed from, these included; without
    the operands of remainders, masks, minima and maxima."""
    pending = [v for op in func.walk() for v in _indices(op) if isinstance(v.type, IntegerType)]
    values = set(pending)
    while pending:
        op = pending.pop().owner
        for value in _sources(op) if isinstance(op, Operation) else ():
            if value not in values and integer_dtype(value) is not None:
                values.add(value)
                pending.append(value)
    return values


def _indices(op: Operation) -> Iterable[SSAValue]:
    match op:
        case LoadOp() | StoreOp() | AddressOfOp():
            return op.indices
        case ForOp():
            return op.bounds
        case BlockOp():
            return [*op.bindings, *op.domains]
        case BufferOp() | AccessPtrOp():
            return op.operands
        case AllocateOp():
            return op.extents
        case _:
            return ()


def _sources(op: Operation) -> Iterable[SSAValue]:
    """The operands whose values are part of the result of an expression."""
    if isinstance(op, IfThenElseOp):
        return [region.block.last_op.value for region in op.regions if isinstance(region.block.last_op, YieldOp)]
    is_part = isinstance(op, LetOp) or is_pure_expression(op)
    return op.operands if is_part and not isinstance(op, _REDUCTIONS) else ()


def check_overflow(checks: Checks, op: Operation) -> None:
    """Emits the check that the result of a sum, difference, product or quotient of signed scalars is exact."""
    dtype = integer_dtype(op.results[0]) if len(op.results) == 1 else None
    if dtype is None:
        return
    if isinstance(op, arith.DivSIOp | arith.FloorDivSIOp | arith.CeilDivSIOp):
        _check_quotient(checks, op, dtype)
    elif type(op) in _RING:
        _check_ring(checks, op, dtype)


def _check_ring(checks: Checks, op: Operation, dtype: DType) -> None:
    """Emits the check of a sum, difference or product."""
    name, sign, exact, fits = _RING[type(op)]
    a, b = (checks.analyzer.exact(value) for value in op.operands)
    if checks.analyzer.fits(exact(checks.analyzer, a, b), op.results[0].type):
        return
    builder = checks.builder(op)
    condition = _fits_wide(builder, name, op, dtype) if dtype.bits < 64 else fits(builder, op)
    _require_exact(checks, builder, op, condition, sign, dtype)


def _require_exact(
    checks: Checks, builder: TirBuilder, op: Operation, condition: SSAValue, sign: str, dtype: DType
) -> None:
    (a, b), values = describe(op.operands)
    checks.require(builder, op, condition, f"{a} {sign} {b} overflows {dtype} in the computation of an index", values)


def _fits_wide(builder: TirBuilder, name: str, op: Operation, dtype: DType) -> SSAValue:
    """Whether a result of less than 64 bits is the result in 64 bits."""
    exact = builder.binary(name, *(wide(builder, value) for value in op.operands))
    low, high = int_range(dtype)
    ends = [
        builder.binary("ge", exact, builder.const(low, INT64)),
        builder.binary("le", exact, builder.const(high, INT64)),
    ]
    return builder.conjunction(ends)


def _sum_fits(builder: TirBuilder, op: Operation) -> SSAValue:
    """Whether a sum of 64 bits does not have the opposite sign of both operands."""
    a, b = op.operands
    total = builder.add(a, b)
    signs = builder.binary("and", builder.binary("xor", a, total), builder.binary("xor", b, total))
    return builder.binary("ge", signs, builder.const(0, INT64))


def _difference_fits(builder: TirBuilder, op: Operation) -> SSAValue:
    """Whether a difference of 64 bits has the sign of the minuend if the operands differ in sign."""
    a, b = op.operands
    signs = builder.binary("and", builder.binary("xor", a, b), builder.binary("xor", a, builder.sub(a, b)))
    return builder.binary("ge", signs, builder.const(0, INT64))


def _product_fits(builder: TirBuilder, op: Operation) -> SSAValue:
    """Whether a product of 64 bits, divided by a factor other than 0, is the other factor."""
    a, b = op.operands
    zero = builder.const(0, INT64)

    def divides() -> SSAValue:
        back = builder.binary("eq", builder.binary("truncdiv", builder.mul(a, b), a), b)
        return builder.binary("and", back, _is_not_smallest_by_minus_one(builder, b, a, INT64))

    return builder.logical("or", builder.binary("eq", a, zero), divides)


_Exact: TypeAlias = Callable[[Analyzer, Lin, Lin], Lin]
_Fits: TypeAlias = Callable[[TirBuilder, Operation], SSAValue]

_RING: dict[type[Operation], tuple[str, str, _Exact, _Fits]] = {
    arith.AddiOp: ("add", "+", Analyzer.add, _sum_fits),
    arith.SubiOp: ("sub", "-", Analyzer.sub, _difference_fits),
    arith.MuliOp: ("mul", "*", Analyzer.mul, _product_fits),
}
"""For each operator its name, its sign in messages, its exact result, and whether a result of 64 bits is exact."""


def _check_quotient(checks: Checks, op: Operation, dtype: DType) -> None:
    a, b = op.operands
    low, _ = _bounds(checks, a)
    least, most = _bounds(checks, b)
    if low > int_range(dtype)[0] or not least <= -1 <= most:
        return
    builder = checks.builder(op)
    _require_exact(checks, builder, op, _is_not_smallest_by_minus_one(builder, a, b, dtype), "/", dtype)


def _is_not_smallest_by_minus_one(builder: TirBuilder, a: SSAValue, b: SSAValue, dtype: DType) -> SSAValue:
    smallest, minus_one = builder.const(int_range(dtype)[0], dtype), builder.const(-1, dtype)
    return builder.binary("or", builder.binary("ne", a, smallest), builder.binary("ne", b, minus_one))
