"""A package with an operation for each kind of lowering, and for each fault of a definition."""

import math
from typing import Any, ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerType, MemRefType, StringAttr, f64
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.universe import Universe

from stepwell.dialects.extensions import (
    Extension,
    ScalarOperation,
    Statement,
    cuda_expression,
    external_function,
    llvm_intrinsic,
)
from stepwell.dialects.schedule import LoopType, ScheduleOp
from stepwell.dialects.tir import TirBuilder
from stepwell.transforms.writing import each_element


class Unary(IRDLOperation):
    """An operation of one operand, with a result of its type."""

    x = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, x: SSAValue):
        super().__init__(operands=[x], result_types=[x.type])


def unary(op_name: str) -> type[Unary]:
    return irdl_op_definition(type(op_name, (Unary,), {"name": f"own.{op_name}", "__module__": __name__}))


@irdl_op_definition
class ScalarOnlyOp(IRDLOperation):
    """The number of ones in the bits of a scalar."""

    name = "own.ones"
    x = operand_def(base(IntegerType))
    result = result_def(base(IntegerType))
    traits = traits_def(Pure())

    def __init__(self, x: SSAValue):
        super().__init__(operands=[x], result_types=[x.type])


@irdl_op_definition
class BareOp(IRDLOperation):
    """An operation that has the constructor of its base class."""

    name = "own.bare"
    x = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class SumOp(IRDLOperation):
    """The sum of any number of operands, times a factor."""

    name = "own.sum"
    args = var_operand_def()
    factor = prop_def(FloatAttr)
    label = opt_prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, args: list[SSAValue], factor: float = 1.0, label: str | None = None):
        properties: dict[str, Attribute | None] = {"factor": FloatAttr(factor, f64)}
        properties["label"] = None if label is None else StringAttr(label)
        super().__init__(operands=[args], properties=properties, result_types=[args[0].type])


@irdl_op_definition
class FillOp(IRDLOperation):
    """Stores a number to all elements of a buffer."""

    name = "own.fill"
    target = operand_def(base(MemRefType))
    value = operand_def()

    def __init__(self, target: SSAValue, value: SSAValue):
        super().__init__(operands=[target, value])


def build_sum(builder: TirBuilder, op: SumOp) -> SSAValue:
    total = op.args[0]
    for each in op.args[1:]:
        total = builder.add(total, each)
    return builder.mul(total, builder.const(op.factor.value.data, "float32"))


def fill(op: FillOp, target: Any, value: Any) -> None:
    target[...] = value


def build_fill(builder: TirBuilder, op: FillOp) -> None:
    with each_element(builder, "fill", op.target) as index:
        builder.store(op.value, op.target, index)


EXTENSION = Extension(
    [
        ScalarOperation(
            unary("cbrt"), lambda op, x: math.cbrt(x), llvm=external_function("cbrtf"), cuda=cuda_expression("cbrtf({0})")
        ),
        ScalarOperation(unary("half"), lambda op, x: x // 2, cuda=cuda_expression("{0} >> 1"), llvm=lambda b, op: op.x),
        ScalarOperation(ScalarOnlyOp, lambda op, x: (x & 0xFFFFFFFF).bit_count(), lower=llvm_intrinsic("llvm.ctpop")),
        ScalarOperation(
            SumOp, lambda op, *args: sum(args) * op.factor.value.data, lower=build_sum
        ),
        ScalarOperation(BareOp, lambda op, x: x, lower=lambda b, op: op.x),
        ScalarOperation(unary("gpu_only"), lambda op, x: x, cuda=cuda_expression("{0}")),
        ScalarOperation(unary("unknown"), lambda op, x: x, lower=llvm_intrinsic("llvm.no_such_intrinsic")),
        ScalarOperation(unary("mistyped"), lambda op, x: x, lower=llvm_intrinsic("llvm.fabs")),
        ScalarOperation(unary("other_type"), lambda op, x: x, lower=lambda b, op: b.const(1, "int64")),
        ScalarOperation(unary("raising"), lambda op, x: x, lower=lambda b, op: op.no_such_field),
        ScalarOperation(unary("endless"), lambda op, x: x, lower=lambda b, op: b.insert(type(op)(op.x)).result),
        ScalarOperation(unary("too_large"), lambda op, x: 2**40, lower=lambda b, op: op.x),
        ScalarOperation(unary("no_number"), lambda op, x: "one", lower=lambda b, op: op.x),
        ScalarOperation(unary("failing"), lambda op, x: 1 // 0, lower=lambda b, op: op.x),
        Statement(FillOp, fill, build_fill),
    ],
    primitives="own_primitives",
    importers="own_importers",
)

@irdl_op_definition
class RenameLoopOp(ScheduleOp):
    """Gives a loop another name: `own.rename_loop %i, "n"`."""

    name = "own.rename_loop"
    SYNTAX: ClassVar = ("loop", "to")
    loop = operand_def(LoopType)
    to = prop_def(StringAttr)


@irdl_op_definition
class UnknownStepOp(ScheduleOp):
    """An instruction that nothing applies."""

    name = "own.unknown_step"


Own = Dialect("own", [*(each.op for each in EXTENSION.definitions), RenameLoopOp, UnknownStepOp])
UNIVERSE = Universe(all_dialects={"own": lambda: Own})
