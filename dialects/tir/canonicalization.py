"""Patterns of `canonicalize` for `tir`: constants, and statements with constant conditions.

Range analysis is left to `tir-simplify`.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from ...core.dtypes import DType, dtype_of
from . import (
    AccessOp,
    AssertOp,
    BlockOp,
    CastOp,
    FloormodOp,
    ForOp,
    IfOp,
    IfThenElseOp,
    LaunchThreadOp,
    MaxOp,
    MinOp,
    WhileOp,
    YieldOp,
    constant_value,
)
from .fold import fold
from .operands import drop_predicate
from .static import make_static
from .tree import has_effect


class FoldConstants(RewritePattern):
    """Folds an operator on constants."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        value = fold(op)
        if value is not None:
            rewriter.replace(op, (), (value,))


class MakeBoundsStatic(RewritePattern):
    """Converts constant bounds from operands to attributes."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if make_static(op):
            rewriter.notify_op_modified(op)


class EraseIdentityCast(RewritePattern):
    """Erases a cast to the type of its operand, and a pair of casts to a type and back that is lossless."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        if op.value.type == op.result.type:
            rewriter.replace(op, (), (op.value,))
        elif isinstance(inner := op.value.owner, CastOp) and inner.value.type == op.result.type:
            if _holds(dtype_of(op.value.type), dtype_of(op.result.type)):
                rewriter.replace(op, (), (inner.value,))


def _holds(outer: DType, inner: DType) -> bool:
    """Whether casting from `inner` to `outer` and back is lossless for every number."""
    if inner.is_bool:
        return True
    if outer.is_bool:
        return False
    if outer.is_int and inner.is_int:
        return outer.bits >= inner.bits
    return outer.is_float and inner.is_float and outer.format.represents(inner.format)


class TakeKnownBranch(RewritePattern):
    """Replaces a `tir.if` on a constant by one of its branches."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: IfOp, rewriter: PatternRewriter, /) -> None:
        known = constant_value(op.condition)
        if known is not None:
            rewriter.inline_block((op.then if known else op.orelse).block, InsertPoint.before(op))
            rewriter.erase(op)


class TakeKnownChoice(RewritePattern):
    """Replaces a `tir.if_then_else` on a constant, or with equal values in both regions, by a value."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: IfThenElseOp, rewriter: PatternRewriter, /) -> None:
        known = constant_value(op.condition)
        if known is not None:
            block = (op.then if known else op.orelse).block
            last = _yield(block)
            value = last.value
            rewriter.erase(last)
            rewriter.inline_block(block, InsertPoint.before(op))
            rewriter.replace(op, (), (value,))
        elif (value := _only_value(op)) is not None:
            rewriter.replace(op, (), (value,))


def _yield(block: Block) -> YieldOp:
    last = block.last_op
    assert isinstance(last, YieldOp)
    return last


def _only_value(op: IfThenElseOp) -> SSAValue | None:
    """The value that both regions yield, if they contain nothing else."""
    then, orelse = _yield(op.then.block), _yield(op.orelse.block)
    if then.prev_op is None and orelse.prev_op is None and then.value is orelse.value:
        return then.value
    return None


class EraseDeadLoop(RewritePattern):
    """Erases a loop without iterations. Loops over threads stay: they state the number of threads."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ForOp, rewriter: PatternRewriter, /) -> None:
        extent = op.mixed_bounds[1]
        if isinstance(extent, int) and extent <= 0 and op.kind.data != "thread_binding":
            rewriter.erase(op)


class EraseDeadWhile(RewritePattern):
    """Erases a `tir.while` whose condition is initially false."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: WhileOp, rewriter: PatternRewriter, /) -> None:
        condition = op.condition.block
        if constant_value(_yield(condition).value) == 0 and not any(has_effect(inner) for inner in condition.ops):
            rewriter.erase(op)


class TakeKnownPredicate(RewritePattern):
    """Drops a constant true predicate, and erases a block whose predicate is false."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BlockOp, rewriter: PatternRewriter, /) -> None:
        known = None if op.predicate is None else constant_value(op.predicate)
        if known is None:
            return
        if known:
            drop_predicate(op)
            rewriter.notify_op_modified(op)
        else:
            rewriter.erase(op)


class EraseTrueAssert(RewritePattern):
    """Erases an assert of true."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AssertOp, rewriter: PatternRewriter, /) -> None:
        if constant_value(op.condition):
            rewriter.erase(op)


PATTERNS: dict[type[Operation], tuple[RewritePattern, ...]] = {
    AccessOp: (MakeBoundsStatic(),),
    AssertOp: (EraseTrueAssert(),),
    BlockOp: (MakeBoundsStatic(), TakeKnownPredicate()),
    CastOp: (FoldConstants(), EraseIdentityCast()),
    FloormodOp: (FoldConstants(),),
    ForOp: (MakeBoundsStatic(), EraseDeadLoop()),
    IfOp: (TakeKnownBranch(),),
    IfThenElseOp: (TakeKnownChoice(),),
    LaunchThreadOp: (MakeBoundsStatic(),),
    MaxOp: (FoldConstants(),),
    MinOp: (FoldConstants(),),
    WhileOp: (EraseDeadWhile(),),
}
"""The patterns of each operation."""
