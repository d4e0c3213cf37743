"""The pass `relax-inline-dataflow`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.walking import find_ops
from ...operators.relax import DataflowOp, OutputOp
from ..relay.graphs import erase, replace


class RelaxInlineDataflowPass(ModulePass):
    """Replaces dataflow regions by their operations.

    Before
        %1 = relax.dataflow -> tensor<8xf32> {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relax.output %0 : tensor<8xf32>
        }

    After
        %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>

    Must hold before: nothing.

    Gone after: dataflow regions.
    """

    name = "relax-inline-dataflow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for region in list(find_ops(op, DataflowOp)):
            inline_region(region)


def inline_region(region: DataflowOp) -> None:
    """Replaces a dataflow region by its operations."""
    block, last = region.body.block, region.body.block.last_op
    assert isinstance(last, OutputOp)
    values = list(last.values)
    erase(last)
    Rewriter.inline_block(block, InsertPoint.before(region))
    replace(region, values)
