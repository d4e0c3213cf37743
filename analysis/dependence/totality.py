"""Totality: statements without excluded operations, for all values that they read."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...dialects.tir import DIVISIONS, SHIFTS, ForOp, IfOp, IfThenElseOp, LoadOp, WhileOp
from ...dialects.tir.tree import computing_ops

# Ops that are excluded for some second operands: zero, or more than the width of the type.
_PARTIAL = frozenset((*DIVISIONS, *SHIFTS))
_BRANCHING = frozenset((ForOp, IfOp, IfThenElseOp))


def is_total(op: Operation) -> bool:
    """Whether a statement executes no excluded operation (docs/semantics.md) for any loaded values, provided that the
    indices of its accesses do not depend on these."""
    outside = (inner for operand in op.operands for inner in computing_ops(operand))
    return not any(_may_fail(inner) for ops in (op.walk(), outside) for inner in ops)


def _may_fail(op: Operation) -> bool:
    """Whether loaded values decide that an op divides by zero, or that another op runs: such a condition may be all
    that keeps an index inside its buffer."""
    kind = type(op)
    if kind is WhileOp:
        return True
    if kind in _BRANCHING:
        return any(_depends_on_load(operand) for operand in op.operands)
    return kind in _PARTIAL and _depends_on_load(op.operands[1])


def _depends_on_load(value: SSAValue) -> bool:
    return any(isinstance(op, LoadOp) for op in computing_ops(value))
