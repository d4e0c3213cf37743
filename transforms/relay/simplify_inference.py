"""The pass `relay-simplify-inference`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.dtypes import parse_dtype
from ...core.walking import find_ops
from ...operators.relay import OperatorOp, RelayBuilder, dtype_of_tensor, shape_of
from .graphs import graphs_of, replace


class RelaySimplifyInferencePass(ModulePass):
    """Replaces `nn.batch_norm` by a product and a sum, and `nn.dropout` by its operand, as is valid for inference.

    The factor and the summand depend on gamma, beta, mean and variance alone, so `relay-fold-constants` folds them if
    these are constants. The result may round differently. Floats of 16 bits are computed in 32 bits, as the operator
    does. Norms by the mean and variance of the data are kernels, and stay.

    Before
        %0, %1, %2 = relay.nn.batch_norm(%x, %gamma, %beta, %mean, %var) : ...

    After
        %eps = relay.constant 1e-05 : tensor<f32>
        %0 = relay.add(%var, %eps) : ...
        %1 = relay.rsqrt(%0) : ...
        %scale = relay.multiply(%gamma, %1) : ...
        %2 = relay.multiply(%mean, %scale) : ...
        %shift = relay.subtract(%beta, %2) : ...
        %3 = relay.expand_dims(%scale) {axis = 1, num_newaxis = 2} : ...
        %4 = relay.multiply(%x, %3) : ...
        %5 = relay.expand_dims(%shift) {axis = 1, num_newaxis = 2} : ...
        %6 = relay.add(%4, %5) : ...

    Must hold before: nothing.

    Gone after: relay.nn.batch_norm, relay.nn.dropout.
    """

    name = "relay-simplify-inference"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            for inner in list(find_ops(func, OperatorOp)):
                if inner.operator.name == "nn.dropout":
                    replace(inner, inner.args)
                elif inner.operator.name == "nn.batch_norm":
                    replace(inner, _normalize(inner))


def _normalize(op: OperatorOp) -> Sequence[SSAValue]:
    """The replacements of the results of a `nn.batch_norm`."""
    builder = RelayBuilder(InsertPoint.before(op), location=op.location)
    dtype, kind = dtype_of_tensor(op.args[0]), _wide(op.args[0])
    data, gamma, beta, mean, variance = op.args
    rank = len(shape_of(data))
    trailing = rank - 1 - op.attribute_value("axis") % rank

    def along_axis(vector: SSAValue) -> SSAValue:
        """The vector, reshaped to broadcast along the axis of the data."""
        return builder.operator("expand_dims", vector, axis=1, num_newaxis=trailing) if trailing else vector

    shifted = builder.operator("add", builder.cast(variance, kind), builder.number(op.attribute_value("epsilon"), kind))
    scale = builder.operator("rsqrt", shifted)
    if op.attribute_value("scale"):
        scale = builder.operator("multiply", builder.cast(gamma, kind), scale)
    shift = builder.operator("multiply", builder.cast(mean, kind), scale)
    if op.attribute_value("center"):
        shift = builder.operator("subtract", builder.cast(beta, kind), shift)
    else:
        shift = builder.operator("negative", shift)
    scaled = builder.operator("multiply", builder.cast(data, kind), along_axis(scale))
    normalized = builder.operator("add", scaled, along_axis(shift))
    return [builder.cast(normalized, dtype), mean, variance]


def _wide(value: SSAValue) -> str:
    """The data type of the computation."""
    dtype = dtype_of_tensor(value)
    return "float32" if parse_dtype(dtype).is_small_float else dtype
