"""Importers of operators that ONNX Runtime adds to quantized models, in its domain `com.microsoft`."""

from __future__ import annotations

from ...models.call import normalized_axis
from ...models.reductions import reduce_along
from ...models.shapes import permute_axes
from ...models.values import ModelTensor
from ..call import Call
from ..errors import OnnxUnsupportedError
from ..registry import importer
from .quantization import broadcast_parameter, broadcast_scale, dequantize_tensor, integer_product, quantize_tensor


def _numbers(call: Call, first: int) -> ModelTensor:
    """The floats that an operand represents, whose scale and zero point follow it; the zero point may be absent."""
    x = call.tensor(first)
    zero = call.optional(first + 2)
    zero = None if zero is None else broadcast_parameter(call, zero, x, 1)
    return dequantize_tensor(call, x, broadcast_parameter(call, call.tensor(first + 1), x, 1), zero)


def _quantize_numbers(call: Call, numbers: ModelTensor, first: int, dtype: str) -> ModelTensor:
    """The integers that represent floats. first: the number of the operand that is the scale; the zero point, which may
    be absent, follows it.  dtype: of the integers."""
    zero = call.optional(first + 1)
    zero = call.builder.scalar_constant(0, dtype) if zero is None else broadcast_parameter(call, zero, numbers, 1)
    return quantize_tensor(call, numbers, broadcast_parameter(call, call.tensor(first), numbers, 1), zero, dtype)


@importer("QLinearAdd", "QLinearMul", domain="com.microsoft")
def qlinear_arithmetic(call: Call) -> ModelTensor:
    name = {"QLinearAdd": "add", "QLinearMul": "multiply"}[call.op_type]
    return _quantize_numbers(call, call.op(name, _numbers(call, 0), _numbers(call, 3)), 6, call.tensor(0).dtype)


@importer("QLinearSigmoid", "QLinearLeakyRelu", domain="com.microsoft")
def qlinear_function(call: Call) -> ModelTensor:
    numbers = _numbers(call, 0)
    if call.op_type == "QLinearSigmoid":
        numbers = call.op("sigmoid", numbers)
    else:
        numbers = call.op("nn.leaky_relu", numbers, alpha=call.floating("alpha", 0.01))
    return _quantize_numbers(call, numbers, 3, call.tensor(0).dtype)


@importer("QLinearGlobalAveragePool", domain="com.microsoft")
def qlinear_global_average_pool(call: Call) -> ModelTensor:
    if call.integer("channels_last"):
        raise OnnxUnsupportedError("QLinearGlobalAveragePool: channels_last")
    numbers = _numbers(call, 0)
    return _quantize_numbers(
        call, reduce_along(call, "mean", numbers, range(2, numbers.rank), True), 3, call.tensor(0).dtype
    )


@importer("QLinearConcat", domain="com.microsoft")
def qlinear_concat(call: Call) -> ModelTensor:
    y_zero, parts = call.tensor(1), [_numbers(call, n) for n in range(2, len(call.tensors), 3)]
    joined = call.op("concatenate", *parts, axis=normalized_axis(call.integer("axis"), parts[0].rank))
    return _quantize_numbers(call, joined, 0, y_zero.dtype)


@importer("QGemm", domain="com.microsoft")
def qgemm(call: Call) -> ModelTensor:
    a, a_scale, a_zero, b, b_scale, b_zero = (call.tensor(n) for n in range(6))
    bias, y_scale, y_zero = call.optional(6), call.optional(7), call.optional(8)
    a = permute_axes(call, a, (1, 0)) if call.integer("transA") else a
    b = permute_axes(call, b, (1, 0)) if call.integer("transB") else b
    total = integer_product(call, a, a_zero, b, b_zero)
    total = total if bias is None else call.op("add", total, bias)
    alpha = call.builder.scalar_constant(call.floating("alpha", 1.0), "float32")
    factor = call.op(
        "multiply",
        call.op("multiply", broadcast_scale(call, a_scale, 2, 1), alpha),
        broadcast_scale(call, b_scale, 2, 1),
    )
    numbers = call.op("multiply", call.cast(total, "float32"), factor)
    if y_scale is None or y_zero is None:
        return numbers
    return quantize_tensor(
        call, numbers, broadcast_scale(call, y_scale, 2, 1), broadcast_scale(call, y_zero, 2, 1), y_zero.dtype
    )
