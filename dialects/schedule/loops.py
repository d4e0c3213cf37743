"""Primitives on loops: split, fusion, order, and kind."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerType, StringAttr, i64
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from ..tir.base import require, verify_mixed
from .base import INFERRED, BlockType, LoopType, ScheduleOp, loop, to_attribute


@irdl_op_definition
class SplitOp(ScheduleOp):
    """Split a loop into a nest of loops, one for each factor, outermost first; a guard if the factors do not divide it.

    Constraints
        (C1) one operand for each dynamic factor, and one result for each factor.
        (C2) at most one factor is inferred, the other constant ones are positive.

    Example
        %i_0, %i_1 = schedule.split %i, [?, 8] : !schedule.loop, !schedule.loop

    Source: `sch.split(loop, factors, preserve_unit_iters, disable_predication)`
    """

    name = "schedule.split"
    SYNTAX: ClassVar = ("loop", "factors")
    DEFAULTS: ClassVar = {"preserve_unit_iters": to_attribute(True), "disable_predication": to_attribute(False)}
    MIXED: ClassVar = {"factors": "dynamic_factors"}
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    loop = operand_def(LoopType)
    dynamic_factors = var_operand_def(i64)
    factors = prop_def(DenseArrayBase[IntegerType])
    preserve_unit_iters = prop_def(BoolAttr)
    disable_predication = prop_def(BoolAttr)
    loops = var_result_def(LoopType)

    def verify_(self) -> None:
        verify_mixed("(C1) factors", self.factors, self.dynamic_factors)
        count = len(self.factors)
        require(len(self.loops) == count, f"(C1) {len(self.loops)} results for {count} factors")
        _verify_factors(self.arguments()["factors"])


@irdl_op_definition
class FuseOp(ScheduleOp):
    """Fuse directly nested loops, outermost first, into one loop.

    Example
        %ij = schedule.fuse [%i, %j]

    Source: `sch.fuse(*loops, preserve_unit_iters)`
    """

    name = "schedule.fuse"
    SYNTAX: ClassVar = ("loops",)
    DEFAULTS: ClassVar = {"preserve_unit_iters": to_attribute(True)}
    RESULT: ClassVar = loop

    loops = var_operand_def(LoopType)
    preserve_unit_iters = prop_def(BoolAttr)
    result = result_def(LoopType)


@irdl_op_definition
class LoopPartitionOp(ScheduleOp):
    """Divide the iterations of a loop among several loops, which follow one another.

    factors: the numbers of iterations of the new loops; the rest is the last loop, if no factor is inferred.

    Constraints
        (C1) one operand for each dynamic factor, and one result for each factor; one more if no factor is inferred.
        (C2) at most one factor is inferred, the other constant ones are positive.

    Example
        %i0, %i1 = schedule.loop_partition %i, [?, 4] : !schedule.loop, !schedule.loop

    Source: `sch.loop_partition(loop, factors, preserve_unit_iters)`
    """

    name = "schedule.loop_partition"
    SYNTAX: ClassVar = ("loop", "factors")
    DEFAULTS: ClassVar = {"preserve_unit_iters": to_attribute(True)}
    MIXED: ClassVar = {"factors": "dynamic_factors"}
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    loop = operand_def(LoopType)
    dynamic_factors = var_operand_def(i64)
    factors = prop_def(DenseArrayBase[IntegerType])
    preserve_unit_iters = prop_def(BoolAttr)
    loops = var_result_def(LoopType)

    def verify_(self) -> None:
        verify_mixed("(C1) factors", self.factors, self.dynamic_factors)
        known = _verify_factors(self.arguments()["factors"])
        count = len(self.factors) + (INFERRED not in known)
        require(len(self.loops) == count, f"(C1) {len(self.loops)} results for {len(self.factors)} factors")


def _verify_factors(factors: list[Any]) -> list[int]:
    """Raises VerifyException unless at most one factor is inferred, and the other constant ones are positive; returns
    the constant ones."""
    known = [factor for factor in factors if isinstance(factor, int)]
    require(known.count(INFERRED) <= 1, "(C2) more than one factor is inferred")
    require(all(f > 0 or f == INFERRED for f in known), f"(C2) factors {known}, expected positive ones")
    return known


@irdl_op_definition
class MergeOp(ScheduleOp):
    """Merge loops of sibling nests into one loop, which contains their bodies in the order of the operands.

    Example
        %i_m = schedule.merge [%i, %i_1]

    Source: `sch.merge(*loops)`
    """

    name = "schedule.merge"
    SYNTAX: ClassVar = ("loops",)
    RESULT: ClassVar = loop

    loops = var_operand_def(LoopType)
    result = result_def(LoopType)


@irdl_op_definition
class ReorderOp(ScheduleOp):
    """Reorder loops of one nest, outermost first; other loops between them keep their positions.

    Example
        schedule.reorder [%k, %i]

    Source: `sch.reorder(*ordered_loops)`
    """

    name = "schedule.reorder"
    SYNTAX: ClassVar = ("ordered_loops",)

    ordered_loops = var_operand_def(LoopType)


@irdl_op_definition
class ReorderBlockIterVarOp(ScheduleOp):
    """Permute the axes of a block.

    Constraints
        (C1) new_order is a permutation of 0, 1, ...

    Example
        schedule.reorder_block_iter_var %C, [1, 0, 2]

    Source: `sch.reorder_block_iter_var(block, new_order)`
    """

    name = "schedule.reorder_block_iter_var"
    SYNTAX: ClassVar = ("block", "new_order")

    block = operand_def(BlockType)
    new_order = prop_def(DenseArrayBase[IntegerType])

    def verify_(self) -> None:
        order = list(self.new_order.get_values())
        require(sorted(order) == list(range(len(order))), f"(C1) {order} is not a permutation")


@irdl_op_definition
class AddUnitLoopOp(ScheduleOp):
    """Wrap a block or loop in a loop of one iteration.

    Example
        %u = schedule.add_unit_loop %C

    Source: `sch.add_unit_loop(block_or_loop)`
    """

    name = "schedule.add_unit_loop"
    SYNTAX: ClassVar = ("block_or_loop",)
    RESULT: ClassVar = loop

    block_or_loop = operand_def(BlockType | LoopType)
    result = result_def(LoopType)


@irdl_op_definition
class ParallelOp(ScheduleOp):
    """Run the iterations of a loop in parallel, on several threads.

    Example
        schedule.parallel %i

    Source: `sch.parallel(loop)`
    """

    name = "schedule.parallel"
    SYNTAX: ClassVar = ("loop",)

    loop = operand_def(LoopType)


@irdl_op_definition
class VectorizeOp(ScheduleOp):
    """Run the iterations of a loop as the lanes of vectors.

    Example
        schedule.vectorize %i_1

    Source: `sch.vectorize(loop)`
    """

    name = "schedule.vectorize"
    SYNTAX: ClassVar = ("loop",)

    loop = operand_def(LoopType)


@irdl_op_definition
class UnrollOp(ScheduleOp):
    """Unroll a loop.

    Example
        schedule.unroll %k

    Source: `sch.unroll(loop)`
    """

    name = "schedule.unroll"
    SYNTAX: ClassVar = ("loop",)

    loop = operand_def(LoopType)


@irdl_op_definition
class BindOp(ScheduleOp):
    """Bind a loop to a thread axis: each iteration runs as one thread, or one thread block, of a GPU.

    Example
        schedule.bind %i, "threadIdx.x"

    Source: `sch.bind(loop, thread_axis)`
    """

    name = "schedule.bind"
    SYNTAX: ClassVar = ("loop", "thread_axis")

    loop = operand_def(LoopType)
    thread_axis = prop_def(StringAttr)
