"""The meaning of the operations of `sat`, and their lowering."""

from xdsl.ir import SSAValue

from stepwell.core.dtypes import dtype_of, int_range
from stepwell.dialects.extensions import Extension, ScalarOperation, cuda_expression, llvm_intrinsic
from stepwell.dialects.tir import TirBuilder

from .dialect import AddOp, ClampOp


def add(op: AddOp, lhs: int, rhs: int) -> int:
    low, high = int_range(dtype_of(op.result.type).scalar)
    return min(max(lhs + rhs, low), high)


def add_on_gpu(builder: TirBuilder, op: AddOp) -> SSAValue:
    low, high = int_range(dtype_of(op.result.type).scalar)
    return cuda_expression(f"min(max({{0}} + {{1}} * 1LL, {low}LL), {high}LL)")(builder, op)


def clamp_by_extrema(builder: TirBuilder, op: ClampOp) -> SSAValue:
    low, high = (builder.const(bound.value.data, dtype_of(op.result.type)) for bound in (op.low, op.high))
    return builder.binary("min", builder.binary("max", op.value, low), high)


EXTENSION = Extension(
    [
        ScalarOperation(AddOp, add, llvm=llvm_intrinsic("llvm.sadd.sat"), cuda=add_on_gpu),
        ScalarOperation(ClampOp, ClampOp.clamp, lower=clamp_by_extrema),
    ]
)
