"""Selections of elements that may be out of bounds, in programs that are lowered."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType
from xdsl.ir import Block, Operation, Region, SSAValue

from ....analysis.index import Analyzer
from ....core.walking import find_ops
from ....dialects.tir import IfThenElseOp, LoadOp, YieldOp
from ....dialects.tir.base import memref_type
from ....dialects.tir.tree import has_effect, is_expression_op
from ..ir.module import IRModule


def make_selects_lazy(mod: IRModule) -> IRModule:
    """A module whose selections (`tvm.tir.Select`) read the chosen operand alone where the other one may be out of
    bounds, as TVM's lowering does; the same module if it has none of these."""
    if mod.is_lowered or not any(_is_unsafe(op) for op in find_ops(mod.op, arith.SelectOp)):
        return mod
    result = IRModule(mod.op.clone(), mod.constants)
    for op in [each for each in find_ops(result.op, arith.SelectOp) if _is_unsafe(each)]:  # inner before outer
        _make_lazy(op)
    return result


def _is_unsafe(op: arith.SelectOp) -> bool:
    """Whether an operand reads an element whose index may be negative, or exceed a known extent."""
    if op.cond.type != IntegerType(1):
        return False
    operations = _operations(op.lhs, op.rhs)
    loads = [each for each in operations if isinstance(each, LoadOp)]
    if not loads or any(map(has_effect, operations)):
        return False
    analyzer = Analyzer()
    with analyzer.inside(op):
        return any(_may_exceed(analyzer, load) for load in loads)


def _may_exceed(analyzer: Analyzer, load: LoadOp) -> bool:
    for index, extent in zip(load.indices, memref_type(load.buffer).get_shape(), strict=True):
        if load.predicate is not None or not isinstance(index.type, IntegerType):
            return False
        low, high = analyzer.bounds(analyzer.exact(index))
        if low < 0 or (extent != DYNAMIC_INDEX and high >= extent):
            return True
    return False


def _operations(*values: SSAValue) -> list[Operation]:
    """The operations that compute some values, each once, operands first."""
    found: dict[Operation, None] = {}
    todo = [(value.owner, False) for value in reversed(values)]
    while todo:
        op, has_operands = todo.pop()
        if not isinstance(op, Operation) or op in found or not is_expression_op(op):
            continue
        if has_operands:
            found[op] = None
        else:
            todo += [(op, True), *((operand.owner, False) for operand in reversed(op.operands))]
    return list(found)


def _make_lazy(op: arith.SelectOp) -> None:
    """Replaces a selection by a conditional, into which its operands move."""
    regions = [Region(_yields(value)) for value in (op.lhs, op.rhs)]
    block = op.parent
    assert block is not None
    lazy = IfThenElseOp(op.cond, op.result.type, *regions)
    block.insert_op_before(lazy, op)
    op.result.replace_all_uses_with(lazy.result)
    for each in reversed([*_operations(op.lhs, op.rhs), op]):
        if not any(result.uses for result in each.results):
            each.detach()
            each.erase()


def _yields(value: SSAValue) -> Block:
    """A block that computes and yields a value."""
    block = Block()
    copies: dict[SSAValue, SSAValue] = {}
    for op in _operations(value):
        copy = op.clone(value_mapper=copies)
        block.add_op(copy)
        copies |= dict(zip(op.results, copy.results, strict=True))
    block.add_op(YieldOp(copies.get(value, value)))
    return block
