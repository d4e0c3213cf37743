"""Dataflow regions and branches."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect

from ...dialects.tir.base import TirOp, require
from ...dialects.tir.directives import TypedValues, YieldingBody
from .functions import YieldOp, describe, impure_ops
from .types import PrimType


@irdl_op_definition
class DataflowOp(TirOp):
    """A region without side effects and branches, whose operations may be executed in any order of their dependences.

    Constraints
        (C1) no operation in the region has side effects, and none is a branch.
        (C2) the region ends in relax.output of values of the types of the results.

    Example
        %1 = relax.dataflow -> tensor<8xf32> {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relax.output %0 : tensor<8xf32>
        }

    Source: `with R.dataflow():` (DataflowBlock)
    """

    name = "relax.dataflow"

    body = region_def("single_block")
    outputs = var_result_def(Attribute)

    traits = traits_def(RecursiveMemoryEffect())
    custom_directives = (YieldingBody,)
    assembly_format = "(`->` type($outputs)^):(` `)? attr-dict-with-keyword custom<YieldingBody>($body)"

    def __init__(self, types: Sequence[Attribute], body: Region):
        super().__init__(regions=[body], result_types=[types])

    def verify_(self) -> None:
        effect = next(impure_ops(self.body), None)
        require(effect is None, f"(C1) {effect and describe(effect)} in a dataflow region")
        require(not any(isinstance(op, IfOp) for op in self.body.walk()), "(C1) relax.if in a dataflow region")
        last = self.body.block.last_op
        got = [value.type for value in last.values] if isinstance(last, OutputOp) else None
        types = [output.type for output in self.outputs]
        require(got == types, f"(C2) the region ends in values of {got}, expected {types}")


@irdl_op_definition
class OutputOp(TirOp):
    """Returns the outputs of a dataflow region, which following operations may use.

    Example
        relax.output %0 : tensor<8xf32>, %1 : tensor<4xf32>

    Source: `R.output(x, y)`
    """

    name = "relax.output"

    values = var_operand_def(Attribute)

    traits = traits_def(IsTerminator(), Pure())
    custom_directives = (TypedValues,)
    assembly_format = "custom<TypedValues>($values, type($values)) attr-dict-with-keyword"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])


@irdl_op_definition
class IfOp(TirOp):
    """Computes the value of the first branch if the condition holds, else that of the second branch.

    Constraints
        (C1) the condition is a bool without dimensions, or a number that is a bool.
        (C2) each branch ends in a relax.yield of a value of the type of the result.

    Example
        %1 = relax.if %c : tensor<i1> -> tensor<8xf32> {
          relax.yield %x : tensor<8xf32>
        } else {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relax.yield %0 : tensor<8xf32>
        }

    Source: `if c: ... else: ...`
    """

    name = "relax.if"

    condition = operand_def(Attribute)
    then = region_def("single_block")
    orelse = region_def("single_block")
    output = result_def(Attribute)

    traits = traits_def(RecursiveMemoryEffect())
    custom_directives = (YieldingBody,)
    assembly_format = (
        "$condition `:` type($condition) `->` type($output) attr-dict-with-keyword "
        "custom<YieldingBody>($then) `else` custom<YieldingBody>($orelse)"
    )

    def __init__(self, condition: SSAValue, type: Attribute, then: Region, orelse: Region):
        super().__init__(operands=[condition], regions=[then, orelse], result_types=[type])

    def verify_(self) -> None:
        type = self.condition.type
        is_flag = type == TensorType(i1, []) or (isinstance(type, PrimType) and type.dtype == i1)
        require(is_flag, f"(C1) condition of type {type}, expected tensor<i1>")
        for branch in (self.then, self.orelse):
            last = branch.block.last_op
            got = last.value.type if isinstance(last, YieldOp) else None
            require(got == self.output.type, f"(C2) a branch yields {got}, expected {self.output.type}")
