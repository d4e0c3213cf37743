"""`tir-unroll-loops`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..core.dtypes import DType, dtype_of
from ..dialects.tir import ForOp, TirBuilder


@dataclass(frozen=True)
class TirUnrollLoopsPass(ModulePass):
    """Write the body of each `unrolled` loop once for every iteration.

    A loop stays, and runs its iterations in order, where the number of iterations is not known or more than
    `max-extent`, or where the copies would be more than `max-ops` operations. Inner loops are unrolled first.

    Before
        tir.for unrolled "k" %k : i32 in [0 +: 2] {
          tir.store %x, %A[%k] : memref<2xf32>
        }

    After
        %0 = arith.constant 0 : i32
        tir.store %x, %A[%0] : memref<2xf32>
        %1 = arith.constant 1 : i32
        tir.store %x, %A[%1] : memref<2xf32>

    Must hold before: no tir.block, whose name would no longer be the only one (`tir-resolve-blocks`).

    Gone after: unrolled loops within the limits.
    """

    name = "tir-unroll-loops"

    max_extent: int = 256
    max_ops: int = 8192

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in reversed(list(op.walk())):  # inner ones first
            if isinstance(loop, ForOp) and loop.kind.data == "unrolled":
                self._unroll(loop)

    def _unroll(self, loop: ForOp) -> None:
        low, extent, step = loop.mixed_bounds
        if not isinstance(extent, int) or not isinstance(step, int):
            return
        offsets = range(0, max(extent, 0), step)
        if len(offsets) > self.max_extent or len(offsets) * sum(1 for _ in loop.body.walk()) > self.max_ops:
            return
        builder = TirBuilder(InsertPoint.before(loop), loop.location)
        dtype = dtype_of(loop.variable.type)
        for offset in offsets:
            _copy_body(loop, _value(builder, low, offset, dtype))
        loop.detach()
        loop.erase()


def _value(builder: TirBuilder, low: int | SSAValue, offset: int, dtype: DType) -> SSAValue:
    """The loop variable of an iteration."""
    if isinstance(low, int):
        return builder.const(low + offset, dtype)
    return low if offset == 0 else builder.binary("add", low, builder.const(offset, dtype))


def _copy_body(loop: ForOp, variable: SSAValue) -> None:
    source, target = loop.body.block, loop.parent_block()
    assert isinstance(target, Block)
    values: dict[SSAValue, SSAValue] = {loop.variable: variable}
    for inner in source.ops:
        target.insert_op_before(inner.clone(values), loop)
