"""Replacement of the operands of ops in place: results, attributes and location remain."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Operation, SSAValue

from . import BlockOp, LoadOp, StoreOp


def set_operands(op: Operation, groups: Sequence[Sequence[SSAValue]]) -> None:
    """Replaces the operands of an op with operand segments."""
    op.operands = [operand for group in groups for operand in group]
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(group) for group in groups])


def redirect_access(op: LoadOp | StoreOp, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    """Makes a load or a store access other elements, or another buffer with the same type of elements."""
    value = [[op.value]] if isinstance(op, StoreOp) else []
    set_operands(op, [*value, [buffer], indices, [] if op.predicate is None else [op.predicate]])


def drop_mask(op: LoadOp | StoreOp) -> None:
    """Makes a load or a store access the elements of all lanes."""
    value = [[op.value]] if isinstance(op, StoreOp) else []
    set_operands(op, [*value, [op.buffer], op.indices, []])


def drop_predicate(op: BlockOp) -> None:
    """Removes the predicate of a block."""
    set_operands(op, [op.bindings, op.domains, []])
