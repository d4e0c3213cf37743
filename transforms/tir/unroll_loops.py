"""The pass `tir-unroll-loops`."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.index import Analyzer, Lin
from ...analysis.threads.axes import is_thread_loop, team_of, thread_axes_of
from ...analysis.threads.memories import is_local, memory_of
from ...core.dtypes import DType, dtype_of
from ...core.remarks import PassRemarks
from ...core.walking import count_ops, find_ops
from ...dialects.tir import ForOp, LaunchThreadOp, TirBuilder, is_speculatable
from ...dialects.tir.tree import captured_operands, is_pure_expression
from .known_branches import KnownBranches, Place

_remarks = PassRemarks("tir-unroll-loops")


@dataclass(frozen=True)
class TirUnrollLoopsPass(ModulePass):
    """Unrolls each `unrolled` loop completely: one copy of the body for every iteration, without the branches that the
    iteration does not take.

    A loop becomes a loop that runs its iterations in order where its trip count is unknown or more than `max-extent`,
    or where the copies would have more than `max-ops` operations. So does a loop around loops over threads whose memory
    is private to a thread only because all its uses are in one loop. Inner loops are unrolled first. Expressions
    that do not depend on the loop variable move before the loop, so that the copies share them, and equal ones become
    one; those with undefined behaviour for some operands stay.

    max-extent: the maximum number of iterations.  max-ops: the maximum number of operations of all copies of a body.

    Before
        tir.for unrolled "k" %k : i32 in [0 +: 2] {
          tir.store %x, %A[%k] : memref<2xf32>
        }

    After
        %0 = arith.constant 0 : i32
        tir.store %x, %A[%0] : memref<2xf32>
        %1 = arith.constant 1 : i32
        tir.store %x, %A[%1] : memref<2xf32>

    Must hold before: no tir.block, whose name would no longer be unique (`tir-resolve-blocks`).

    Gone after: unrolled loops within the limits.
    """

    name = "tir-unroll-loops"

    max_extent: int = 256
    max_ops: int = 2048

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in reversed(list(find_ops(op, ForOp))):  # inner ones first
            if loop.kind.data == "unrolled":
                self._unroll(loop)

    def _unroll(self, loop: ForOp) -> None:
        low, extent, step = loop.mixed_bounds
        if not isinstance(extent, int) or not isinstance(step, int):
            _keep(loop, "its number of iterations is not constant")
            return
        offsets = range(0, max(extent, 0), step)
        if len(offsets) > self.max_extent:
            _keep(loop, f"it has {len(offsets)} iterations, max-extent is {self.max_extent}")
            return
        if len(offsets) > 1 and _holds_memory_of_threads(loop):
            _keep(loop, "its copies would share memory that is private to a thread")
            return
        if len(offsets) > 1:
            _hoist_invariants(loop)
        ops = len(offsets) * count_ops(loop.body)
        if ops > self.max_ops:
            _keep(loop, f"the copies of its body would have {ops} operations, max-ops is {self.max_ops}")
            return
        _remarks.applied(loop, lambda: f"loop {loop.loop_var.data} is unrolled: {len(offsets)} copies of its body")
        builder = TirBuilder(InsertPoint.before(loop), loop.location)
        dtype = dtype_of(loop.variable.type)
        for offset in offsets:
            _copy_body(loop, _value(builder, low, offset, dtype))
        loop.detach()
        loop.erase()


def _keep(loop: ForOp, reason: str) -> None:
    """Reports a loop that stays a loop."""
    _remarks.missed(loop, lambda: f"loop {loop.loop_var.data} stays a loop: {reason}")


def _holds_memory_of_threads(loop: ForOp) -> bool:
    """Whether nested loops over threads would share memory that is private to a thread, once they are copied."""
    if team_of(loop) is not None or not any(is_thread_loop(op) for op in find_ops(loop, ForOp, LaunchThreadOp)):
        return False
    used = {memory_of(value) for value in captured_operands(loop) if isinstance(value.type, MemRefType)}
    memories = [memory for memory in used if memory is not None and not is_local(memory)]
    return any(thread_axes_of(memory) for memory in memories)


def _value(builder: TirBuilder, low: int | SSAValue, offset: int, dtype: DType) -> SSAValue:
    """The value of the loop variable in the iteration at `offset`."""
    if isinstance(low, int):
        return builder.const(low + offset, dtype)
    return low if offset == 0 else builder.binary("add", low, builder.const(offset, dtype))


def _copy_body(loop: ForOp, variable: SSAValue) -> None:
    """Copies the body of a loop before the loop, without the branches that are never taken for a value of the
    variable."""
    analyzer = Analyzer()
    with analyzer.assumptions():
        difference = analyzer.sub(Lin.of(loop.variable), analyzer.lin(variable))
        for fact in (difference, -difference):
            analyzer.assume_not_negative(fact)
        KnownBranches(analyzer).copy_block(loop.body.block, Place.before_op(loop), [variable])


def _hoist_invariants(loop: ForOp) -> None:
    """Moves the expressions in a loop that do not depend on its variable before the loop, one of equal expressions."""
    kept: dict[Hashable, SSAValue] = {}
    for op in list(loop.body.walk()):
        if (
            op.regions
            or not (is_pure_expression(op) and is_speculatable(op))
            or any(loop.is_ancestor(operand.owner) for operand in op.operands)
        ):
            continue
        key = type(op), op.results[0].type, tuple(op.operands), tuple(sorted(op.properties.items()))
        known = kept.get(key)
        if known is None:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(loop))
            kept[key] = op.results[0]
        else:
            op.results[0].replace_all_uses_with(known)
            op.detach()
            op.erase()
