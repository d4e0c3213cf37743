"""The pass `convert-poly-to-tir`."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects.tir import TirBuilder
from stepwell.transforms.writing import each_element

from .dialect import EvalOp


class LowerEval(RewritePattern):
    """Computes c0 + x * (c1 + x * (c2 + ...)) for each element x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: EvalOp, rewriter: PatternRewriter) -> None:
        builder = TirBuilder(InsertPoint.before(op), op.location)
        with each_element(builder, "poly", op.source) as index:
            *lower, value = map(builder.const, op.coefficients)
            for coefficient in reversed(lower):
                value = builder.add(coefficient, builder.mul(builder.load(op.source, index), value))
            builder.store(value, op.target, index)
        rewriter.erase(op)


class ConvertPolyToTirPass(ModulePass):
    """Converts `poly` to loops and blocks."""

    name = "convert-poly-to-tir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(LowerEval()).rewrite_module(op)
