"""Constant folding of printed values: folds at least the expressions that the parser folds, so that printing a parsed
program reproduces its text."""

from __future__ import annotations

import struct
from typing import Any

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import MemRefType, f64
from xdsl.ir import Block, Operation, SSAValue

from ...core.comparisons import COMPARE, SIGNED_PREDICATES, UNSIGNED_PREDICATES, predicate_of
from ...core.dtypes import DType, dtype_of, mlir_type, wrap_int
from ...core.errors import UnsupportedError
from ..tir import (
    BINARY_NAMES,
    INT_BINARY,
    CastOp,
    HandleType,
    IfThenElseOp,
    ReinterpretOp,
    YieldOp,
    comparison_name,
    constant_value,
    fold_integers,
)
from .literals import is_exact, is_large_float

Number = int | float | None
"""The constant value of an expression (bools as 0 and 1), or None."""

_SIGNED = (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.MinSIOp, arith.MaxSIOp, arith.ShRSIOp)
_UNSIGNED = (arith.DivUIOp, arith.RemUIOp, arith.MinUIOp, arith.MaxUIOp, arith.ShRUIOp)


def tvmscript_unsupported_error(op: Any) -> UnsupportedError:
    """The error for an op without a form in TVMScript."""
    return UnsupportedError(f"{op.name} has no form in TVMScript, which exists for the tir landing only")


def operand_dtype(op: Operation) -> DType | None:
    """The type that the operands of an integer operator must be cast to if the signedness of the operator differs from
    the signedness of the operand type; None if both agree."""
    dtype = dtype_of(op.operands[0].type)
    predicate = predicate_of(op) if isinstance(op, arith.CmpiOp) else None
    if dtype.kind == "int" and (isinstance(op, _UNSIGNED) or predicate in UNSIGNED_PREDICATES):
        return DType("uint", dtype.bits, dtype.lanes)
    if dtype.kind == "uint" and (isinstance(op, _SIGNED) or predicate in SIGNED_PREDICATES):
        return DType("int", dtype.bits, dtype.lanes)
    if dtype.is_bool and (isinstance(op, (*_SIGNED, *_UNSIGNED)) or predicate in SIGNED_PREDICATES):
        raise tvmscript_unsupported_error(op)
    return None


class ConstantValues:
    """The constant values of expressions, computed once per value."""

    def __init__(self):
        self._found: dict[SSAValue, Number] = {}

    def __getitem__(self, value: SSAValue) -> Number:
        if value not in self._found:
            self._found[value] = self._find(value)
        return self._found[value]

    def yield_value(self, block: Block) -> Number:
        """The constant value that the region of an expression yields, or None."""
        last = block.last_op
        return self[last.value] if isinstance(last, YieldOp) else None

    def _find(self, value: SSAValue) -> Number:
        op = value.owner
        if isinstance(value.type, MemRefType | HandleType) or isinstance(op, Block):
            return None
        if (number := constant_value(value)) is not None:
            return number
        match op:
            case CastOp():
                return self._cast(op)
            case ReinterpretOp():
                return self._float_of_bits(op)
            case vector.BroadcastOp():
                return self[op.source]
            case IfThenElseOp():
                return self._logic(op)
            case math.AbsIOp():
                number = self[op.operand]
                return wrap_int(abs(number), dtype_of(value.type)) if isinstance(number, int) else None
            case _:
                return self._binary(op)

    def _cast(self, op: CastOp) -> Number:
        have, want = dtype_of(op.value.type), dtype_of(op.result.type)
        number = self[op.value]
        if not isinstance(number, int) or have.lanes != 1:
            return None
        if want.is_float:
            return float(number) if is_exact(number, want) else None
        return int(bool(number)) if want.is_bool else wrap_int(number, want)

    def _float_of_bits(self, op: ReinterpretOp) -> float | None:
        """The float64 of constant bits if it is finite and outside the range of float32, else None.

        A style without large literals prints a number outside this range as a reinterpretation of its bits.
        """
        bits = self[op.value]
        if not isinstance(bits, int) or op.result.type != f64:
            return None
        (number,) = struct.unpack("<d", struct.pack("<q", bits))
        return number if is_large_float(number) else None

    def _logic(self, op: IfThenElseOp) -> int | None:
        """The constant value of `a and b` or `a or b`; None for other conditional values."""
        if op.result.type != mlir_type("bool"):
            return None
        condition, then, orelse = self[op.condition], self.yield_value(op.then.block), self.yield_value(op.orelse.block)
        if orelse == 0 and condition is not None and then is not None:
            return int(bool(condition) and bool(then))
        if then == 1 and condition is not None and orelse is not None:
            return int(bool(condition) or bool(orelse))
        return None

    def _binary(self, op: Operation) -> int | None:
        name = comparison_name(op) if isinstance(op, arith.CmpiOp) else BINARY_NAMES.get(type(op))
        if name is None or (name not in INT_BINARY and name not in COMPARE) or len(op.operands) != 2:
            return None
        a, b = (self[v] for v in op.operands)
        if not isinstance(a, int) or not isinstance(b, int) or operand_dtype(op) is not None:
            return None
        dtype = dtype_of(op.results[0].type)
        if name in COMPARE:
            return int(COMPARE[name](a, b)) if dtype.lanes == 1 else None
        return fold_integers(name, a, b, dtype)
