"""`convert-poly-to-tir`."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.core.dtypes import dtype_of
from stepwell.dialects.tir import Axis, TirBuilder
from stepwell.transforms.analysis.access_regions import buffer_shape, infer_accesses

from .dialect import EvalOp


class LowerEval(RewritePattern):
    """A loop for each dimension and a block in them, which computes c0 + x * (c1 + x * (c2 + ...))."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: EvalOp, rewriter: PatternRewriter) -> None:
        builder = TirBuilder(InsertPoint.before(op), op.location)
        shape = buffer_shape(op.source)
        with builder.loops([f"i{d}" for d in range(len(shape))], shape) as loops:
            axes = [Axis(f"v{d}", "spatial", 0, n, i) for d, (n, i) in enumerate(zip(shape, loops, strict=True))]
            with builder.block("poly", axes) as block:
                *lower, value = (builder.const(c.value.data, dtype_of(c.type)) for c in op.coefficients)
                for coefficient in reversed(lower):
                    x = builder.load(op.source, block.variables)
                    value = builder.add(coefficient, builder.mul(x, value))
                builder.store(value, op.target, block.variables)
        infer_accesses(block)
        rewriter.erase(op)


@dataclass(frozen=True)
class ConvertPolyToTirPass(ModulePass):
    """`poly` into loops and blocks."""

    name = "convert-poly-to-tir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(LowerEval()).rewrite_module(op)
