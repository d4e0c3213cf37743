"""Constant folding of operators, exact in the types of the operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.comparisons import COMPARE, UNSIGNED_PREDICATES, predicate_of
from ...core.dtypes import DType, dtype_of, int_range, nearest_float, wrap_int
from . import BINARY_NAMES, INT_BINARY, CastOp, HandleType, MaxOp, MinOp, TirBuilder, comparison_name, constant_value
from .builder import fold_integers

_FLOAT: dict[type[Operation], Callable[[float, float], float]] = {
    arith.AddfOp: lambda a, b: a + b,
    arith.SubfOp: lambda a, b: a - b,
    arith.MulfOp: lambda a, b: a * b,
    arith.DivfOp: lambda a, b: a / b,
    MinOp: lambda a, b: a if a < b else b,
    MaxOp: lambda a, b: a if a > b else b,
}


def fold(op: Operation) -> SSAValue | None:
    """The constant result of a scalar operator on constants, inserted before `op`; None if it does not fold.

    Not folded: division by zero, shifts beyond the width, and infinite or NaN results.
    """
    if len(op.results) != 1 or not op.operands or isinstance(op.results[0].type, VectorType | HandleType):
        return None
    handler = _FOLD.get(type(op))
    if handler is None:
        return None
    numbers = [constant_value(o) for o in op.operands]
    if any(n is None or isinstance(o.type, VectorType) for n, o in zip(numbers, op.operands, strict=True)):
        return None
    number = handler(op, *numbers)
    if number is None:
        return None
    return TirBuilder(InsertPoint.before(op), op.location).const(number, dtype_of(op.results[0].type))


def _fold_integers(op: Operation, a: int, b: int) -> int | None:
    name, dtype = BINARY_NAMES[type(op)], dtype_of(op.results[0].type)
    if not isinstance(op, INT_BINARY[name][dtype.kind == "uint"]):
        return None  # an unsigned operator on signed numbers, or the reverse
    return fold_integers(name, a, b, dtype)


def _fold_floats(op: Operation, a: float, b: float) -> float | None:
    """Computes in f64 and rounds once to the type. The result equals that of arithmetic in the type (or in f32 for the
    16-bit types), because f64 has more than twice the bits."""
    if isinstance(op, arith.DivfOp) and b == 0:
        return None
    return _finite_or_none(_FLOAT[type(op)](a, b), dtype_of(op.results[0].type))


def _finite_or_none(number: float, dtype: DType) -> float | None:
    return number if math.isfinite(number) and nearest_float(number, dtype) is not None else None


def _fold_comparison(op: arith.CmpiOp | arith.CmpfOp, a: float, b: float) -> bool | None:
    name = comparison_name(op)
    if name is None or math.isnan(a) or math.isnan(b):
        return None
    if isinstance(op, arith.CmpiOp) and min(a, b) < 0 and predicate_of(op) in UNSIGNED_PREDICATES:
        return None  # compares the bits of signed numbers as unsigned ones
    return COMPARE[name](a, b)


def _fold_cast(op: CastOp, number: float) -> float | bool | None:
    source, target = dtype_of(op.value.type), dtype_of(op.result.type)
    if target.is_bool:
        return number != 0
    if isinstance(number, float):
        return _round(number, source, target) if target.is_float else _truncate(number, target)
    if not target.is_float:
        return wrap_int(number, target)
    # The integer is exact in the type that the conversion starts from, so only one rounding happens.
    return _finite_or_none(float(number), target) if abs(number) <= 2 ** (24 if target.bits <= 16 else 53) else None


def _round(number: float, source: DType, target: DType) -> float | None:
    through_f32 = source.bits == 64 and target.bits <= 16  # two roundings
    return None if through_f32 else _finite_or_none(number, target)


def _truncate(number: float, target: DType) -> int:
    low, high = int_range(target)
    if math.isnan(number):
        return 0
    return low if number <= low else high if number >= high else int(number)


_FOLD: dict[type[Any], Callable[..., float | bool | None]] = {
    **{op: _fold_integers for pair in INT_BINARY.values() for op in pair},
    **{op: _fold_floats for op in _FLOAT},
    arith.CmpiOp: _fold_comparison,
    arith.CmpfOp: _fold_comparison,
    CastOp: _fold_cast,
}
