"""Copies of regions without the branches that are never taken."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ...analysis.index import Analyzer
from ...dialects.tir import IfOp, IfThenElseOp, YieldOp


def copy_known_branches(op: Operation, copy: Operation, analyzer: Analyzer, values: dict[SSAValue, SSAValue]) -> None:
    """Fills the regions of `copy` with the operations of `op`. A branch or lazy choice whose condition the analyzer
    decides, under its assumptions, is replaced by the operations of the side that it takes.

    values: the values of the copies by their originals; the copied values are added.
    """
    for source, target in zip(op.regions, copy.regions, strict=True):
        for block in source.blocks:
            target.add_block(new := Block(arg_types=block.arg_types))
            for old, argument in zip(block.args, new.args, strict=True):
                values[old] = argument
                argument.name_hint = old.name_hint
            for inner in block.ops:
                _copy_op(inner, new, analyzer, values)


def _copy_op(op: Operation, target: Block, analyzer: Analyzer, values: dict[SSAValue, SSAValue]) -> None:
    known = analyzer.decide(op.condition) if isinstance(op, IfOp | IfThenElseOp) else None
    if known is None:
        target.add_op(copy := op.clone_without_regions(values))
        copy_known_branches(op, copy, analyzer, values)
        return
    assert isinstance(op, IfOp | IfThenElseOp)
    for inner in (op.then if known else op.orelse).block.ops:
        if isinstance(inner, YieldOp):
            values[op.results[0]] = values.get(inner.value, inner.value)
        else:
            _copy_op(inner, target, analyzer, values)
