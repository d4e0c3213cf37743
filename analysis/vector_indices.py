"""Vectors of integers as sums over the number of a lane.

    ramp(8*i, 1) // 58   # 4 lanes
    # (8*i + lane) // 58 for lane in 0..3

All vectors of a statement have the same lanes, so one variable denotes the number of the lane in each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from ..core.dtypes import dtype_of, mlir_type
from ..dialects.tir import FloormodOp, LoadOp, RampOp, StoreOp, constant_value
from .index import Analyzer, Lin


@dataclass(frozen=True)
class Lanes:
    """The lanes of a statement. variable: a vector of the statement, which as a term of a sum denotes the number of
    the lane.
    """

    analyzer: Analyzer
    variable: SSAValue

    @staticmethod
    def of(analyzer: Analyzer, op: LoadOp | StoreOp) -> Lanes | None:
        """The lanes of a load or store of several elements; None for one of a single element."""
        vectors = [*op.vector_indices, *([] if op.predicate is None else [op.predicate])]
        return next((Lanes(analyzer, value) for value in vectors if isinstance(value.type, VectorType)), None)

    @property
    def count(self) -> int:
        """The number of lanes."""
        return dtype_of(self.variable.type).lanes

    def sum(self, value: SSAValue) -> Lin | None:
        """The sum equal to an integer, or to a vector of integers at each lane; None for a vector of another form, or
        with elements that may wrap."""
        if not isinstance(value.type, VectorType):
            return self.analyzer.exact(value)
        lin = self._vector(value)
        element = mlir_type(dtype_of(value.type).with_lanes(1))
        return lin if lin is not None and self.analyzer.fits(lin, element) else None

    def _vector(self, value: SSAValue) -> Lin | None:
        number, op = constant_value(value), value.owner
        if isinstance(number, int):
            return Lin(number)
        if isinstance(op, RampOp):
            stride = constant_value(op.stride)
            return self.analyzer.exact(op.base) + Lin.of(self.variable) * stride if isinstance(stride, int) else None
        if isinstance(op, vector.BroadcastOp):
            return self.sum(op.source)
        rule = _RULES.get(type(op))
        if rule is None:
            return None
        lhs, rhs = (self.sum(operand) for operand in value.owner.operands)  # pyright: ignore[reportAttributeAccessIssue]
        return None if lhs is None or rhs is None else rule(self.analyzer, lhs, rhs)


def _quotient(analyzer: Analyzer, a: Lin, b: Lin) -> Lin | None:
    return analyzer.floordiv(a, b) if analyzer.is_provably("gt", b, 0) else None


def _remainder(analyzer: Analyzer, a: Lin, b: Lin) -> Lin | None:
    return analyzer.floormod(a, b) if analyzer.is_provably("gt", b, 0) else None


_RULES: dict[type[Any], Callable[[Analyzer, Lin, Lin], Lin | None]] = {
    arith.AddiOp: lambda _, a, b: a + b,
    arith.SubiOp: lambda _, a, b: a - b,
    arith.MuliOp: Analyzer.mul,
    arith.FloorDivSIOp: _quotient,
    FloormodOp: _remainder,
    arith.MinSIOp: Analyzer.minimum,
    arith.MaxSIOp: Analyzer.maximum,
}
