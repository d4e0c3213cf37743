"""The pass `relay-copy-results`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...operators.relay import CallOp, ConstantOp, IfOp, OperatorOp, RelayBuilder, ReturnOp, YieldOp
from .graphs import graph_blocks, graphs_of


class RelayCopyResultsPass(ModulePass):
    """Copies results that their function or branch does not compute itself: parameters, constants, and repeated
    results.

    After the pass, each result is written by the operator that computes it. Scalar constants that are conditions, or
    arguments of calls, are copied too, because they are in no memory.

    Before
        relay.func @main("x" %x: tensor<8xf32>) {
          relay.return %x : tensor<8xf32>
        }

    After
        relay.func @main("x" %x: tensor<8xf32>) {
          %0 = relay.copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %0 : tensor<8xf32>
        }

    Must hold before: nothing.

    Gone after: results that no operator, call or branch of their block computes, and repeated results.
    """

    name = "relay-copy-results"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            for block in graph_blocks(func):
                for each in list(block.ops):
                    _copy(each)


def uncomputed_operands(op: Operation) -> list[int]:
    """The indices of the operands of an op without memory of their own: unwritten, or shared with another result."""
    values = list(op.operands)
    if isinstance(op, ReturnOp | YieldOp):
        return [n for n, value in enumerate(values) if not _is_computed_in_block_of(value, op) or value in values[:n]]
    if isinstance(op, CallOp | IfOp):
        return [n for n, value in enumerate(values) if _is_scalar(value)]
    return []


def _copy(op: Operation) -> None:
    builder = RelayBuilder(InsertPoint.before(op), location=op.location)
    for n in uncomputed_operands(op):
        op.operands[n] = builder.operator("copy", op.operands[n])


def _is_computed_in_block_of(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    return isinstance(owner, OperatorOp | CallOp | IfOp) and owner.parent is op.parent


def _is_scalar(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstantOp) and value.owner.array_name is None
