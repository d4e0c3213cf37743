"""Integer arithmetic on loop variables, sizes and parameters, lowered to type `index` where it provably does not wrap.

There the 64 bits of `index` yield the same results, and later computations (addresses, bounds, comparisons) need no
casts, which would hide from LLVM that neighbouring iterations access neighbouring elements. Values loaded from memory,
and arithmetic that may wrap, stay in the type the user wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import BlockArgument, Operation, SSAValue

from ....analysis.index import Analyzer, Lin
from ....core.comparisons import SIGNED_PREDICATES, UNSIGNED_PREDICATES, predicate_of
from ....core.dtypes import dtype_of
from ....dialects.tir import CastOp, FloormodOp, FuncOp, constant_value
from .types import BOOL
from .writer import Handlers, Index, UpstreamWriter

Handler: TypeAlias = Callable[[UpstreamWriter, Any], None]


def _is_index(w: UpstreamWriter, value: SSAValue) -> bool:
    """Whether a value is a constant, has an `index` already, or is a parameter."""
    if not isinstance(value.type, IntegerType) or dtype_of(value.type).is_bool:
        return False
    if value in w.indices or isinstance(constant_value(value), int):
        return True
    return isinstance(value, BlockArgument) and isinstance(value.owner.parent_op(), FuncOp)


def _are_indices(w: UpstreamWriter, values: Sequence[SSAValue]) -> bool:
    """Whether all values can be converted to `index`, and at least one has an `index` already."""
    return all(_is_index(w, v) for v in values) and any(v in w.indices for v in values)


def _bind(w: UpstreamWriter, op: Operation, index: Index) -> None:
    result = op.results[0]
    value = w.index(index)
    if value.name_hint is None:
        value.name_hint = result.name_hint
    w.indices[result] = value


_EXACT: dict[type[Operation], Callable[[Analyzer, Lin, Lin], Lin]] = {
    arith.AddiOp: lambda _, a, b: a + b,
    arith.SubiOp: lambda _, a, b: a - b,
    arith.MuliOp: Analyzer.mul,
}


def arithmetic(otherwise: Handler) -> Handler:
    """The lowering of addition, subtraction and multiplication."""

    def lower(w: UpstreamWriter, op: Operation) -> None:
        if not _are_indices(w, op.operands):
            otherwise(w, op)
            return
        a, b = (w.analyzer.exact(o) for o in op.operands)
        if not w.analyzer.fits(_EXACT[type(op)](w.analyzer, a, b), op.results[0].type):
            otherwise(w, op)
            return
        left, right = (w.index_of(o) for o in op.operands)
        if isinstance(op, arith.AddiOp):
            _bind(w, op, w.add(left, right))
        elif isinstance(op, arith.MuliOp):
            _bind(w, op, w.mul(left, right))
        else:
            _bind(w, op, w.op(arith.SubiOp, w.index(left), w.index(right)))

    return lower


def division(plain: type[Operation], otherwise: Handler) -> Handler:
    """The lowering of a quotient or remainder: `plain`, unsigned, for a nonnegative dividend and a positive divisor."""

    def lower(w: UpstreamWriter, op: Operation) -> None:
        lhs, rhs = op.operands
        if not (w.is_at_least(lhs, 0) and w.is_at_least(rhs, 1)):
            otherwise(w, op)
        elif _are_indices(w, op.operands):
            _bind(w, op, w.op(plain, w.index(w.index_of(lhs)), w.index(w.index_of(rhs))))
        else:
            w.bind(op.results[0], w.op(plain, w.value(lhs), w.value(rhs)))

    return lower


def extremum(otherwise: Handler) -> Handler:
    """The lowering of a minimum or maximum. One of unsigned numbers stays unsigned: they may exceed 2^63."""

    def lower(w: UpstreamWriter, op: Operation) -> None:
        if _are_indices(w, op.operands):
            _bind(w, op, w.op(type(op), *(w.index(w.index_of(o)) for o in op.operands)))
        else:
            otherwise(w, op)

    return lower


def conversion(otherwise: Handler) -> Handler:
    """The lowering of a conversion to an integer type that holds the value."""

    def lower(w: UpstreamWriter, op: Operation) -> None:
        (value,), result = op.operands, op.results[0]
        fits = (
            isinstance(result.type, IntegerType)
            and not dtype_of(result.type).is_bool
            and value in w.indices
            and w.analyzer.fits(w.analyzer.exact(value), result.type)
        )
        if fits:
            _bind(w, op, w.index_of(value))
        else:
            otherwise(w, op)

    return lower


def _comparison(otherwise: Handler) -> Handler:
    """The lowering of a comparison, signed or unsigned."""

    def lower(w: UpstreamWriter, op: Operation) -> None:
        assert isinstance(op, arith.CmpiOp)
        others = SIGNED_PREDICATES if dtype_of(op.lhs.type).kind == "uint" else UNSIGNED_PREDICATES
        if predicate_of(op) in others or not _are_indices(w, op.operands):
            otherwise(w, op)
            return
        operands = [w.index(w.index_of(o)) for o in op.operands]
        w.bind(op.result, w.make(arith.CmpiOp, operands, [BOOL], op.properties).result)

    return lower


def handlers(copy: Handler, floordiv: Handler, floormod: Handler, cast: Handler) -> Handlers:
    """The handlers of integer arithmetic; the arguments lower operations that are no index arithmetic."""
    return {
        **{op: arithmetic(copy) for op in _EXACT},
        arith.FloorDivSIOp: division(arith.DivUIOp, floordiv),
        arith.DivSIOp: division(arith.DivUIOp, copy),
        arith.DivUIOp: division(arith.DivUIOp, copy),
        FloormodOp: division(arith.RemUIOp, floormod),
        arith.RemSIOp: division(arith.RemUIOp, copy),
        arith.RemUIOp: division(arith.RemUIOp, copy),
        **dict.fromkeys((arith.MinSIOp, arith.MinUIOp, arith.MaxSIOp, arith.MaxUIOp), extremum(copy)),
        arith.CmpiOp: _comparison(copy),
        CastOp: conversion(cast),
    }
