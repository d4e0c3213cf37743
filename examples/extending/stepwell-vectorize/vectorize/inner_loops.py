"""The pass `vectorize-inner-loops`."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from stepwell.analysis.dependence import carried_dependence
from stepwell.core.remarks import PassRemarks
from stepwell.dialects.tir import ForOp, TirBuilder

_remarks = PassRemarks("vectorize-inner-loops")


@dataclass(frozen=True)
class VectorizeInnerLoop(RewritePattern):
    """for i in range(n)  ->  for i_0 in range(n // lanes): for i_1 in vectorized(lanes), with i = i_0 * lanes + i_1."""

    lanes: int

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ForOp, rewriter: PatternRewriter) -> None:
        low, extent, step = op.mixed_bounds
        if op.kind.data != "serial" or op.annotations is not None or (low, step) != (0, 1):
            return
        if not isinstance(extent, int) or extent % self.lanes:
            return
        if any(isinstance(inner, ForOp) for inner in op.body.walk()):
            return
        name, dependence = op.loop_var.data, carried_dependence(op)
        if dependence is not None:
            _remarks.missed(op, lambda: f"loop {name} stays serial: {dependence}")
            return
        _remarks.applied(op, lambda: f"loop {name} becomes vectors of {self.lanes} lanes")
        builder = TirBuilder(InsertPoint.before(op), op.location)
        with builder.loops([f"{name}_0"], [extent // self.lanes], type=op.variable.type) as (outer,):
            with builder.loops([f"{name}_1"], [self.lanes], type=op.variable.type, kind="vectorized") as (inner,):
                index = builder.add(builder.mul(outer, self.lanes), inner)
                rewriter.inline_block(op.body.block, builder.point, [index])
        rewriter.erase(op)


@dataclass(frozen=True)
class VectorizeInnerLoopsPass(ModulePass):
    """Runs innermost serial loops with independent iterations and a multiple of `lanes` iterations as vectors."""

    name = "vectorize-inner-loops"

    lanes: int = 8

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.lanes < 1:
            raise PassFailedException(f"{self.name}: lanes is {self.lanes}, expected a positive number")
        PatternRewriteWalker(VectorizeInnerLoop(self.lanes)).rewrite_module(op)
