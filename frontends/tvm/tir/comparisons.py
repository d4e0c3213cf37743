"""Comparisons in the order that TVM's simplifier chooses: `1 <= i`, not `i >= 1`."""

from __future__ import annotations

from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS, CmpfOp, CmpiOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from ....core.walking import find_ops
from ....dialects.tir import BlockOp, LetOp

_REVERSE = {"ge": "le", "gt": "lt"}


def order_comparisons(module: ModuleOp) -> None:
    """Replaces `a >= b` by `b <= a`, and `a > b` by `b < a`, in the blocks of a module. Those of a reduction of
    several values, whose blocks have lets, stay."""
    for block in find_ops(module, BlockOp):
        if not any(isinstance(op, LetOp) for op in block.body.block.ops):
            for op in block.body.block.walk():
                _order(op)


def _order(op: object) -> None:
    if not isinstance(op, CmpiOp | CmpfOp):
        return
    names = CMPI_COMPARISON_OPERATIONS if isinstance(op, CmpiOp) else CMPF_COMPARISON_OPERATIONS
    kind, name = names[op.predicate.value.data][0], names[op.predicate.value.data][1:]
    if name in _REVERSE:
        op.predicate = IntegerAttr(names.index(kind + _REVERSE[name]), op.predicate.type)
        op.operands[0], op.operands[1] = op.operands[1], op.operands[0]


__all__ = ["order_comparisons"]
