"""Expressions without names: lazy logic, and equality of computed values."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ...core.dtypes import dtype_of
from ...dialects.tir import BINARY_NAMES, IfThenElseOp, LetOp, LoadOp, StoreOp, constant_value
from ...dialects.tir.tree import has_effect
from ..index import Analyzer
from ..index.conditions import yielded_values


def strip_lets(value: SSAValue) -> SSAValue:
    """A value with its `tir.let` names looked through."""
    while isinstance(op := value.owner, LetOp):
        value = op.value
    return value


def lazy_logical_operands(value: SSAValue) -> tuple[str, SSAValue, SSAValue] | None:
    """("and" or "or", operands) of a bool of the form `if a then b else false` or `if a then true else b`, else
    None."""
    op = value.owner
    if not isinstance(op, IfThenElseOp) or not dtype_of(value.type).is_bool:
        return None
    then, orelse = yielded_values(op)
    if constant_value(orelse) == 0:
        return "and", op.condition, then
    return ("or", op.condition, orelse) if constant_value(then) == 1 else None


def logical_operands(value: SSAValue) -> tuple[str, SSAValue, SSAValue] | None:
    """("and" or "or", operands) of a bool, lazy or not, else None."""
    op = value.owner
    if isinstance(op, arith.AndIOp | arith.OrIOp) and dtype_of(value.type).is_bool:
        return BINARY_NAMES[type(op)], op.lhs, op.rhs
    return lazy_logical_operands(value)


def has_same_indices(analyzer: Analyzer, load: LoadOp, store: StoreOp) -> bool:
    """Whether a load and a store have the same indices."""
    pairs = zip(load.indices, store.indices, strict=True)
    return all(is_same_value(analyzer, a, b) for a, b in pairs)


def runs_before(op: Operation, store: StoreOp) -> bool:
    """Whether an op precedes a store in its block, or encloses the store."""
    block = store.parent
    ancestor = None if block is None else block.find_ancestor_op_in_block(op)
    return ancestor is None or ancestor.is_before_in_block(store)


def is_same_value(analyzer: Analyzer, a: SSAValue, b: SSAValue) -> bool:
    """Whether two values of one instance are the same number, provided that no store is in between."""
    a, b = strip_lets(a), strip_lets(b)
    if a is b:
        return True
    if a.type != b.type:
        return False
    if dtype_of(a.type).lanes == 1 and dtype_of(a.type).kind == "int" and analyzer.same(a, b):
        return True
    x, y = a.owner, b.owner
    if not isinstance(x, Operation) or not isinstance(y, Operation) or x.regions or type(x) is not type(y):
        return False
    if x.properties != y.properties or len(x.operands) != len(y.operands) or has_effect(x):
        return False
    return all(
        p is q if isinstance(p.type, MemRefType) else is_same_value(analyzer, p, q)
        for p, q in zip(x.operands, y.operands, strict=True)
    )
