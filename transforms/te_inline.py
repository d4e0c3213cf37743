"""`te-inline`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..core.dtypes import dtype_of
from ..dialects import te
from ..dialects.tir import TirBuilder


class TeInlinePass(ModulePass):
    """Write computed tensors into those that read them, where they are no reductions and no parameters.

    What is read several times is computed several times. A tensor that something else than an element of it is used of
    (a scan starts from it, a call takes it) stays.

    Before
        %B = te.compute "B" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
          %0 = te.read %A[%i] : tensor<8xf32>
          %1 = arith.addf %0, %0 : f32
          te.yield %1 : f32
        }
        %C = te.compute "C" (spatial "j" %j : i32 in [0 +: 8]) : tensor<8xf32> {
          %2 = te.read %B[%j] : tensor<8xf32>
          te.yield %2 : f32
        }

    After
        %C = te.compute "C" (spatial "j" %j : i32 in [0 +: 8]) : tensor<8xf32> {
          %0 = te.read %A[%j] : tensor<8xf32>
          %1 = arith.addf %0, %0 : f32
          te.yield %1 : f32
        }

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "te-inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # A producer comes before what reads it, so what is written into a reader has been done already.
        for compute in [c for c in op.walk() if isinstance(c, te.ComputeOp)]:
            if not compute.is_reduction and all(_is_read_only(tensor) for tensor in compute.tensors):
                _inline(compute)


def _is_read_only(tensor: SSAValue) -> bool:
    """Whether a tensor is used for its elements alone."""
    return all(isinstance(use.operation, te.ReadOp) for use in tensor.uses)


def _inline(op: te.ComputeOp) -> None:
    for n, tensor in enumerate(op.tensors):
        for use in list(tensor.uses):
            read = use.operation
            assert isinstance(read, te.ReadOp)
            read.result.replace_all_uses_with(_written(op, n, read))
            read.detach()
            read.erase()
    op.detach()
    op.erase()


def _written(op: te.ComputeOp, number: int, read: te.ReadOp) -> SSAValue:
    """The element that is read, computed in front of the read."""
    builder = TirBuilder(InsertPoint.before(read), read.location)
    values: dict[SSAValue, SSAValue] = {
        variable: builder.cast(index, dtype_of(variable.type))
        for variable, index in zip(op.variables, read.indices, strict=True)
    }
    last = op.body.block.last_op
    assert isinstance(last, te.YieldOp)
    needed = _needed(op, last.values[number])
    for inner in op.body.block.ops:
        if inner in needed:
            copy = inner.clone(values)
            for new, old in zip(copy.walk(), inner.walk(), strict=True):
                new.location = old.location
            builder.location = inner.location
            builder.insert(copy)
    return values.get(last.values[number], last.values[number])


def _needed(op: te.ComputeOp, value: SSAValue) -> set[Operation]:
    """The ops of a body that a value is computed by."""
    found, todo = set[Operation](), [value]
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and owner.parent is op.body.block and owner not in found:
            found.add(owner)
            todo += [operand for inner in owner.walk() for operand in inner.operands]
    return found
