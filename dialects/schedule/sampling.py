"""Random choices of numbers and locations, each with its decision."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_result_def
from xdsl.traits import MemoryReadEffect

from ..tir.base import require
from .base import BlockType, LoopType, ScheduleOp, loop


@irdl_op_definition
class SampleCategoricalOp(ScheduleOp):
    """Choose one of several integers, with given probabilities.

    decision: the position of the chosen candidate, counted from 0.

    Constraints
        (C1) one probability for each candidate.
        (C2) decision is the position of a candidate.

    Example
        %v = schedule.sample_categorical [16, 64], [0.5, 0.5] {decision = 1}

    Source: `sch.sample_categorical(candidates, probs, decision)`
    """

    name = "schedule.sample_categorical"
    SYNTAX: ClassVar = ("candidates", "probs")
    RESULT: ClassVar = i64
    traits = traits_def(MemoryReadEffect())

    candidates = prop_def(DenseArrayBase[IntegerType])
    probs = prop_def(ArrayAttr[FloatAttr])
    decision = opt_prop_def(IntegerAttr[IntegerType])
    result = result_def(i64)

    def verify_(self) -> None:
        count = len(self.candidates)
        require(len(self.probs) == count, f"(C1) {len(self.probs)} probabilities for {count} candidates")
        if self.decision is not None:
            number = self.decision.value.data
            require(0 <= number < count, f"(C2) decision {number}, expected one of 0 to {count - 1}")


@irdl_op_definition
class SamplePerfectTileOp(ScheduleOp):
    """Choose factors whose product is the extent of a loop, the last factor not greater than a limit.

    decision: the factors.

    Constraints
        (C1) n results, and n factors in the decision.

    Example
        %a, %b = schedule.sample_perfect_tile %i, 2, 16 {decision = array<i64: 8, 4>} : i64, i64

    Source: `sch.sample_perfect_tile(loop, n, max_innermost_factor, decision)`
    """

    name = "schedule.sample_perfect_tile"
    SYNTAX: ClassVar = ("loop", "n", "max_innermost_factor")
    traits = traits_def(MemoryReadEffect())

    loop = operand_def(LoopType)
    n = prop_def(IntegerAttr[IntegerType])
    max_innermost_factor = prop_def(IntegerAttr[IntegerType])
    decision = opt_prop_def(DenseArrayBase[IntegerType])
    factors = var_result_def(i64)

    def verify_(self) -> None:
        _verify_tile(self.n, self.decision, len(self.factors))


@irdl_op_definition
class SamplePartitionedTileOp(ScheduleOp):
    """Choose factors whose product is the extent of a loop, the product of the last ones a multiple of a number.

    partition_pos: the position of the first of these factors.  innerpart_factor: the number.  decision: the factors.

    Constraints
        (C1) n results, and n factors in the decision.

    Example
        %a, %b = schedule.sample_partitioned_tile %i, 2, 1, 4 {decision = array<i64: 2, 8>} : i64, i64

    Source: `sch.sample_partitioned_tile(loop, n, partition_pos, innerpart_factor, decision)`
    """

    name = "schedule.sample_partitioned_tile"
    SYNTAX: ClassVar = ("loop", "n", "partition_pos", "innerpart_factor")
    traits = traits_def(MemoryReadEffect())

    loop = operand_def(LoopType)
    n = prop_def(IntegerAttr[IntegerType])
    partition_pos = prop_def(IntegerAttr[IntegerType])
    innerpart_factor = prop_def(IntegerAttr[IntegerType])
    decision = opt_prop_def(DenseArrayBase[IntegerType])
    factors = var_result_def(i64)

    def verify_(self) -> None:
        _verify_tile(self.n, self.decision, len(self.factors))


def _verify_tile(n: IntegerAttr[IntegerType], decision: DenseArrayBase[IntegerType] | None, results: int) -> None:
    """Raises VerifyException unless a choice of n factors has n results, and n factors in its decision."""
    count = n.value.data
    require(results == count, f"(C1) {results} results for n = {count}")
    if decision is not None:
        require(len(decision) == count, f"(C1) {len(decision)} factors in the decision for n = {count}")


@irdl_op_definition
class SampleComputeLocationOp(ScheduleOp):
    """Choose a loop as the location of a block, or the current location, or none, for inlining.

    decision: the index of the loop among those around the consumers; -1 for the current location, -2 for inlining.

    Example
        %l = schedule.sample_compute_location %B {decision = 1}

    Source: `sch.sample_compute_location(block, decision)`
    """

    name = "schedule.sample_compute_location"
    SYNTAX: ClassVar = ("block",)
    RESULT: ClassVar = loop
    traits = traits_def(MemoryReadEffect())

    block = operand_def(BlockType)
    decision = opt_prop_def(IntegerAttr[IntegerType])
    result = result_def(LoopType)
