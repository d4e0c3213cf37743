"""Which statements do nothing that is excluded, whatever values they read."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from ...dialects.tir import DIVISIONS, SHIFTS, ForOp, IfOp, IfThenElseOp, LoadOp, WhileOp

# What is excluded for some second operands: zero, or more than the width of the type.
_PARTIAL = frozenset((*DIVISIONS, *SHIFTS))
_BRANCHING = frozenset((ForOp, IfOp, IfThenElseOp))


def is_total(op: Operation) -> bool:
    """Whether a statement does nothing that is excluded (docs/semantics.md) whatever the values are that it loads, if
    the indices of what it accesses do not depend on these."""
    outside = (inner for operand in op.operands for inner in _computing(operand))
    return not any(_may_fail(inner) for ops in (op.walk(), outside) for inner in ops)


def _may_fail(op: Operation) -> bool:
    """Whether what is loaded decides if an op divides by zero, or if something else runs, which may be all that keeps
    an index inside of its buffer."""
    kind = type(op)
    if kind is WhileOp:
        return True
    if kind in _BRANCHING:
        return any(_is_loaded(operand) for operand in op.operands)
    return kind in _PARTIAL and _is_loaded(op.operands[1])


def _is_loaded(value: SSAValue) -> bool:
    return any(isinstance(op, LoadOp) for op in _computing(value))


def _computing(value: SSAValue) -> Iterator[Operation]:
    todo = [value]
    while todo:
        op = todo.pop().owner
        if isinstance(op, Operation):
            for inner in op.walk():
                yield inner
                todo += inner.operands
