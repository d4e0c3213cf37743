"""The pass `relay-quantize-products`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...module import constants_of
from ...operators.relay import ConstantOp, OperatorOp, RelayBuilder, constant_array, dtype_of_tensor, shape_of
from .graphs import erase, erase_unused, graphs_of, operator_at, replace, splat_number
from .pack_quantized import QuantizedProduct

_remarks = PassRemarks("relay-quantize-products")

Array = Any

ROUNDING = 2.0**-21
"""The greatest relative error of a constant that integers represent: those of its conversion to a float and of the
scale."""
LARGEST = 2**30
"""The greatest integer that is added to sums."""

_PRODUCTS = {"nn.dense": "qnn.dense", "nn.matmul": "qnn.dense", "nn.conv2d": "qnn.conv2d"}


@dataclass(frozen=True)
class RelayQuantizeProductsPass(ModulePass):
    """Computes products of dequantized integers as products of the integers, whose results are dequantized.

    Supported are `nn.dense`, `nn.matmul` and `nn.conv2d` of float32 whose data are the result of `qnn.dequantize` with
    one scale and zero point, and whose weights are constants of `qnn.dequantize` with one scale, or one for each row,
    if the product of the integers has a form with bytes (`relay-pack-quantized`). Sums of integers are exact; those of
    the floats are rounded, so that results differ by rounding. A constant for each row that is added to the product,
    and that integers with the scale of the product represent, is added to the integers. A quotient of such products, of
    dequantized integers, and of sums of these, by a positive constant, as of `QuantizeLinear`, becomes a quotient of
    the scales and of what is added.

    Before
        %0 = relay.qnn.dequantize(%x, %s, %z) : (tensor<8x32xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x32xf32>
        %1 = relay.qnn.dequantize(%w, %t, %y) : (tensor<64x32xi8>, tensor<f32>, tensor<i8>) -> tensor<64x32xf32>
        %2 = relay.nn.dense(%0, %1) : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>

    After
        %0 = relay.qnn.dense(%x, %w, %z, %y, %s, %t) : (tensor<8x32xui8>, tensor<64x32xi8>, tensor<ui8>, tensor<i8>,
            tensor<f32>, tensor<f32>) -> tensor<8x64xi32>
        %1 = relay.cast(%0) {dtype = "float32"} : (tensor<8x64xi32>) -> tensor<8x64xf32>
        %2 = relay.multiply(%s, %t) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        %3 = relay.multiply(%1, %2) : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>

    Must hold before: constants are not folded (`relay-fold-constants`), or dequantized weights are constants already.

    Gone after: nothing.
    """

    name = "relay-quantize-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            for inner in list(find_ops(func, OperatorOp)):
                if inner.operator.name in _PRODUCTS:
                    _quantize(inner, RelayBuilder(InsertPoint.before(inner), constants_of(op), inner.location))
            for inner in list(find_ops(func, OperatorOp)):
                if inner.operator.name == "divide":
                    _divide_scales(inner, RelayBuilder(InsertPoint.before(inner), constants_of(op), inner.location))


def _quantize(op: OperatorOp, builder: RelayBuilder) -> None:
    data, weight = (_Dequantized.of(value) for value in op.args)
    if data is None or weight is None or (op.operator.name == "nn.matmul" and op.attribute_value("transpose_a")):
        return
    if op.operator.name == "nn.matmul" and not op.attribute_value("transpose_b"):
        weight = weight.transposed()
    reason = _lack(data, weight)
    if reason:
        _remarks.missed(op, lambda: f"the product is computed with floats: {reason}")
        return
    values = weight.value
    if weight.is_transposed:
        assert isinstance(values.owner, ConstantOp)
        array = constant_array(values.owner, builder.constants)
        if array is None:
            return
        values = builder.constant(np.ascontiguousarray(array.T), "transposed")
    kept = {} if op.operator.name == "nn.matmul" else _attributes(op)
    operands = [data.value, values, data.zero, weight.zero, data.scale, weight.scale]
    made = builder.operator(_PRODUCTS[op.operator.name], *operands, **kept)
    assert isinstance(made.owner, OperatorOp)
    reason = QuantizedProduct(made.owner, builder).lack()
    if reason:
        _remarks.missed(op, lambda: f"the product is computed with floats: {reason}")
        erase(made.owner)
        return
    scale = weight.scale
    if shape_of(scale) and op.operator.name == "nn.conv2d":
        scale = builder.operator("expand_dims", scale, axis=1, num_newaxis=2)
    scale = builder.operator("multiply", data.scale, scale)
    made = _add_bias(op, builder, made, [data.scale, weight.scale])
    _remarks.applied(op, lambda: "the product is computed with the integers that its operands represent")
    replace(op, [builder.operator("multiply", builder.operator("cast", made, dtype="float32"), scale)])


def _add_bias(op: OperatorOp, builder: RelayBuilder, sums: SSAValue, scales: Sequence[SSAValue]) -> SSAValue:
    """Adds a constant for each row, which is added to the product, to the sums of integers, and erases the operator
    that adds it. Returns the sums, unchanged if integers do not represent the constant up to rounding.

    scales: of data and weights, whose product is the scale of the integers.
    """
    users = [use.operation for use in op.outputs[0].uses]
    arrays = [constant_array(each.owner, builder.constants) for each in scales if isinstance(each.owner, ConstantOp)]
    if len(users) != 1 or not isinstance(user := users[0], OperatorOp) or len(arrays) < len(scales):
        return sums
    inner = 2 if op.operator.name == "nn.conv2d" else 0  # the axes after that of the rows
    bias = _bias_of(user, op.outputs[0], inner, builder)
    if bias is None or any(array is None for array in arrays):
        return sums
    scale = prod(np.asarray(array, "float64") for array in arrays)
    if not np.all(scale):
        return sums
    integers = np.rint(bias / scale)
    if (abs(integers * scale - bias) > ROUNDING * abs(bias)).any() or (abs(integers) > LARGEST).any():
        return sums
    replace(user, [op.outputs[0]])
    if not integers.any():
        return sums
    rows = integers.reshape(-1, *[1] * inner).astype("int32")
    return builder.operator("add", sums, builder.constant(rows, "integer_bias"))


def _bias_of(user: OperatorOp, product: SSAValue, inner: int, builder: RelayBuilder) -> Array | None:
    """The constant vector that an operator adds to a product, along the axis before the `inner` last axes; None for
    other operators."""
    if user.operator.name not in ("add", "nn.bias_add") or user.args[0] is not product:
        return None
    added = user.args[1]
    array = constant_array(added.owner, builder.constants) if isinstance(added.owner, ConstantOp) else None
    if array is None:
        return None
    rank = len(shape_of(product))
    if user.operator.name == "nn.bias_add":
        is_along = user.attribute_value("axis") % rank == rank - inner - 1
    else:
        is_along = array.size == 1 or (array.ndim > inner and array.shape[-inner - 1] == array.size)
    return array.reshape(-1).astype("float64") if is_along else None


# Quotients


def _divide_scales(op: OperatorOp, builder: RelayBuilder) -> None:
    """Replaces a quotient by a positive constant, such as the scale of the integers that the floats become, by the same
    operators on divided scales and constants, so that no element is divided."""
    value, divisor = op.args
    number = splat_number(divisor)
    is_positive = number is not None and number > 0 and shape_of(divisor) == ()
    if is_positive and not isinstance(value.owner, ConstantOp) and _is_scaled(value):
        _remarks.applied(op, lambda: "the scales of the operands are divided")
        replace(op, [_quotient(value, divisor, builder)])
        erase_unused(value)


def _is_scaled(value: SSAValue) -> bool:
    """Whether a value is computed from numbers with scales, and from constants, by operators that a division of all of
    them passes through. Other operators than that which dequantizes have no other user."""
    op = value.owner
    if isinstance(op, ConstantOp):
        return True
    if not isinstance(op, OperatorOp) or dtype_of_tensor(value) != "float32":
        return False
    name = op.operator.name
    if name == "qnn.dequantize":
        return shape_of(op.args[1]) == ()
    if len(list(value.uses)) > 1:
        return False
    match name:
        case "multiply":
            sums = operator_at(op.args[0], "cast")
            return sums is not None and _is_product(sums.args[0])
        case "nn.relu":
            return _is_scaled(op.args[0])
        case "add" | "nn.bias_add":
            return all(map(_is_scaled, op.args))
        case _:
            return False


def _is_product(value: SSAValue) -> bool:
    """Whether a value is the product of quantized integers, or a product and a bias."""
    biased = operator_at(value, "add")
    return operator_at(value if biased is None else biased.args[0], *_PRODUCTS.values()) is not None


def _quotient(value: SSAValue, divisor: SSAValue, builder: RelayBuilder) -> SSAValue:
    """The quotient of a value for which `_is_scaled` holds."""
    op = value.owner
    if isinstance(op, ConstantOp):
        return builder.operator("divide", value, divisor)
    assert isinstance(op, OperatorOp)
    match op.operator.name:
        case "multiply" | "qnn.dequantize":
            number, scale, *others = op.args
            args = [number, builder.operator("divide", scale, divisor), *others]
        case _:
            args = [_quotient(arg, divisor, builder) for arg in op.args]
    return builder.operator(op.operator.name, *args, **op.attribute_values)


def _attributes(op: OperatorOp) -> dict[str, object]:
    """The attributes of a product, but for the data type of its result."""
    return {name: value for name, value in op.attribute_values.items() if name != "out_dtype"}


@dataclass(frozen=True)
class _Dequantized:
    """Floats that integers represent. value: the integers.  zero, scale: their parameters.  axis: the axis along which
    the parameters vary, if they are vectors.  is_transposed: whether the floats are a transposed matrix."""

    value: SSAValue
    zero: SSAValue
    scale: SSAValue
    axis: int
    is_transposed: bool = False

    @staticmethod
    def of(value: SSAValue) -> _Dequantized | None:
        """The integers of the floats `value`, or None."""
        op = value.owner
        if not isinstance(op, OperatorOp):
            return None
        if op.operator.name == "transpose" and len(shape_of(value)) == 2:
            inner = _Dequantized.of(op.args[0])
            order = op.attribute_value("axes")
            return inner if inner is None or list(order or (1, 0)) == [0, 1] else inner.transposed()
        if op.operator.name != "qnn.dequantize" or dtype_of_tensor(value) != "float32":
            return None
        integers, scale, zero = op.args
        return _Dequantized(integers, zero, scale, op.attribute_value("axis") % max(len(shape_of(integers)), 1))

    def transposed(self) -> _Dequantized:
        return _Dequantized(self.value, self.zero, self.scale, 1 - self.axis, not self.is_transposed)


def _lack(data: _Dequantized, weight: _Dequantized) -> str:
    """The reason why the parameters of operands do not permit a product of integers, "" if they do."""
    if data.is_transposed or shape_of(data.scale) or shape_of(data.zero):
        return "data are transposed, or have several scales or zero points"
    if not isinstance(weight.value.owner, ConstantOp):
        return "weights are no constants"
    if weight.axis and (shape_of(weight.scale) or shape_of(weight.zero)):
        return "scales of weights are not along their rows"
    return ""
