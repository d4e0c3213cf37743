"""Importers of operators on quantized tensors: integers and small floats that represent floats."""

from __future__ import annotations

from ....core.dtypes import int_range, parse_dtype
from ...models.call import normalized_axis
from ...models.shapes import permute_axes
from ...models.values import ModelTensor, known_integers, require_dtype
from ..call import Call
from ..errors import OnnxError
from ..registry import importer
from .elementwise import convert_dtype, dtype_of_code, nan_propagating_extreme
from .images import convolve
from .nn import matrix_product


def broadcast_parameter(call: Call, number: ModelTensor, data: ModelTensor, axis: int) -> ModelTensor:
    """Reshapes scales or zero points for broadcasting to `data`: one scalar, or one element for each index of an axis
    or for each block."""
    if number.rank == 0 or (number.rank == 1 and number.shape == (1,) and call.integer("block_size") == 0):
        return call.builder.reshape(number, []) if number.rank else number
    axis = normalized_axis(axis, data.rank)
    if number.rank == 1 and not call.integer("block_size"):
        return _along_axis(call, number, data.rank, axis)
    size = call.integer("block_size")
    if size == 0 or number.rank != data.rank:
        raise OnnxError(f"{call.op_type}: a scale of shape {list(number.shape)} for {list(data.shape)}")
    extent = known_integers([data.shape[axis]], "a block of")[0]
    wide = call.op("repeat", number, repeats=size, axis=axis)
    return call.op("strided_slice", wide, begin=[0], end=[extent], axes=[axis]) if wide.shape[axis] != extent else wide


def _along_axis(call: Call, number: ModelTensor, rank: int, axis: int) -> ModelTensor:
    return call.builder.reshape(number, [number.extents[0] if d == axis else 1 for d in range(rank)])


def quantize_tensor(call: Call, x: ModelTensor, scale: ModelTensor, zero: ModelTensor, dtype: str) -> ModelTensor:
    """`round(x / scale) + zero`, clamped to the range of a data type. scale, zero: broadcastable to `x`."""
    ratio = call.op("divide", x, scale)
    if parse_dtype(dtype).is_float:
        wide = call.widen_small_floats(ratio)
        return convert_dtype(call, call.op("add", wide, call.cast(zero, wide.dtype)), dtype)
    wide = call.cast(ratio, "float64") if dtype in ("int32", "uint32") else call.widen_small_floats(ratio)
    rounded = call.op("add", call.op("round", wide), call.cast(zero, wide.dtype))
    low, high = int_range(parse_dtype(dtype))
    number = call.builder.scalar_constant
    inside = nan_propagating_extreme(
        call, "Min", number(high, wide.dtype), nan_propagating_extreme(call, "Max", number(low, wide.dtype), rounded)
    )
    return call.cast(inside, dtype)


def dequantize_tensor(call: Call, x: ModelTensor, scale: ModelTensor, zero: ModelTensor | None) -> ModelTensor:
    """`(x - zero) * scale`, in the data type of `scale`."""
    wide = call.cast(x, "float32" if x.is_float else "int64" if x.dtype in ("int32", "uint32") else "int32")
    if zero is not None:
        wide = call.op("subtract", wide, call.cast(zero, wide.dtype))
    return call.cast(call.op("multiply", call.cast(wide, "float32"), call.widen_small_floats(scale)), scale.dtype)


@importer("QuantizeLinear")
def quantize_linear(call: Call) -> ModelTensor:
    x, scale, zero = call.tensor(0), call.tensor(1), call.optional(2)
    code = call.integer("output_dtype")
    dtype = zero.dtype if zero is not None else dtype_of_code(code) if code else "uint8"
    require_dtype(dtype)
    if x.dtype == "int32":
        x = call.cast(x, "float32")
    axis = call.integer("axis", 1)
    scale = call.cast(broadcast_parameter(call, scale, x, axis), x.dtype)
    zeros = call.builder.scalar_constant(0, dtype) if zero is None else broadcast_parameter(call, zero, x, axis)
    return quantize_tensor(call, x, scale, zeros, dtype)


_NARROW = ("int8", "uint8", "int16", "uint16")
"""The integers whose differences from a zero point are of int32."""


@importer("DequantizeLinear")
def dequantize_linear(call: Call) -> ModelTensor:
    x, scale, zero = call.tensor(0), call.tensor(1), call.optional(2)
    axis = call.integer("axis", 1)
    require_dtype(x.dtype)
    is_plain = scale.rank <= 1 and not call.integer("block_size") and not call.integer("output_dtype")
    if is_plain and scale.dtype == "float32" and x.dtype in _NARROW:
        zero = call.builder.scalar_constant(0, x.dtype) if zero is None else zero
        parameters = [each if _is_vector(each) else call.builder.reshape(each, []) for each in (scale, zero)]
        along = normalized_axis(axis, x.rank) if any(map(_is_vector, parameters)) else -1
        return call.op("qnn.dequantize", x, *parameters, axis=along)
    placed = None if zero is None else broadcast_parameter(call, zero, x, axis)
    result = dequantize_tensor(call, x, broadcast_parameter(call, scale, x, axis), placed)
    code = call.integer("output_dtype")
    return call.cast(result, dtype_of_code(code)) if code else result


@importer("MatMulInteger")
def matmul_integer(call: Call) -> ModelTensor:
    return integer_product(call, call.tensor(0), call.optional(2), call.tensor(1), call.optional(3))


def integer_product(
    call: Call, a: ModelTensor, a_zero: ModelTensor | None, b: ModelTensor, b_zero: ModelTensor | None
) -> ModelTensor:
    """The int32 product of two quantized matrices, or batches of these."""
    zeros = [_number_of(call, a_zero, a), b_zero if _is_vector(b_zero) else _number_of(call, b_zero, b)]
    known = [zero for zero in zeros if zero is not None]
    if a.rank < 2 or b.rank != 2 or len(known) < 2:
        a = _subtract_zero_point(call, a, a_zero, a.rank - 2)
        return matrix_product(call, a, _subtract_zero_point(call, b, b_zero, b.rank - 1))
    return call.op("qnn.dense", a, permute_axes(call, b, (1, 0)), *known, *_scales(call))


def _is_vector(zero: ModelTensor | None) -> bool:
    """Whether there is a zero point, or a scale, for each of several rows or columns."""
    return zero is not None and zero.rank == 1 and zero.shape != (1,)


def _number_of(call: Call, zero: ModelTensor | None, data: ModelTensor) -> ModelTensor | None:
    """The zero point of all elements as a tensor of rank 0; None for several zero points."""
    if zero is None:
        return call.builder.scalar_constant(0, data.dtype)
    if zero.rank and zero.shape != (1,):
        return None
    return call.builder.reshape(zero, []) if zero.rank else zero


def _scales(call: Call) -> list[ModelTensor]:
    """The scales of operands of products, whose results do not depend on them."""
    return [call.builder.scalar_constant(1, "float32")] * 2


def _integer_convolution(
    call: Call, x: ModelTensor, x_zero: ModelTensor | None, w: ModelTensor, w_zero: ModelTensor | None
) -> ModelTensor:
    """The int32 convolution of a quantized image with quantized weights."""
    zeros = [_number_of(call, x_zero, x), w_zero if _is_vector(w_zero) else _number_of(call, w_zero, w)]
    known = [zero for zero in zeros if zero is not None]
    if x.rank != 4 or len(known) < 2 or any(n < 0 for n in call.integers("pads") or ()):
        return convolve(call, _subtract_zero_point(call, x, x_zero, 1), _subtract_zero_point(call, w, w_zero, 0))
    return convolve(call, x, w, "qnn.conv2d", *known, *_scales(call))


def _subtract_zero_point(call: Call, data: ModelTensor, zero: ModelTensor | None, axis: int) -> ModelTensor:
    """Subtracts the zero point from integers; the result is int32."""
    wide = call.cast(data, "int32")
    if zero is None:
        return wide
    return call.op("subtract", wide, call.cast(broadcast_scale(call, zero, data.rank, axis), "int32"))


@importer("QLinearMatMul")
def qlinear_matmul(call: Call) -> ModelTensor:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = call.tensors
    total = integer_product(call, a, a_zero, b, b_zero)
    scale_a = broadcast_scale(call, a_scale, total.rank, total.rank - 2)
    scale_b = broadcast_scale(call, b_scale, total.rank, total.rank - 1)
    return _requantize(call, total, [scale_a, scale_b], y_scale, y_zero)


def broadcast_scale(call: Call, scale: ModelTensor, rank: int, axis: int) -> ModelTensor:
    """Reshapes a scale or a zero point, or those along an axis, for broadcasting to a tensor of a rank."""
    if _is_vector(scale):
        return _along_axis(call, scale, rank, axis)
    return call.builder.reshape(scale, []) if scale.rank == 1 else scale


def _requantize(
    call: Call, values: ModelTensor, scales: list[ModelTensor], y_scale: ModelTensor, y_zero: ModelTensor
) -> ModelTensor:
    """Converts int32 values quantized by the product of `scales` to integers quantized by `y_scale` and `y_zero`."""
    factor = call.op("multiply", *(call.widen_small_floats(each) for each in scales))
    factor = call.op(
        "divide", factor, broadcast_scale(call, call.widen_small_floats(y_scale), values.rank, values.rank - 1)
    )
    one = call.builder.scalar_constant(1, "float32")
    x = call.op("multiply", call.cast(values, "float32"), factor)
    return quantize_tensor(call, x, one, broadcast_scale(call, y_zero, values.rank, values.rank - 1), y_zero.dtype)


@importer("ConvInteger")
def conv_integer(call: Call) -> ModelTensor:
    return _integer_convolution(call, call.tensor(0), call.optional(2), call.tensor(1), call.optional(3))


@importer("QLinearConv")
def qlinear_conv(call: Call) -> ModelTensor:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (call.tensor(n) for n in range(8))
    bias = call.optional(8)
    total = _integer_convolution(call, x, x_zero, w, w_zero)
    if bias is not None:
        total = call.op("nn.bias_add", total, bias, axis=1)
    scales = [broadcast_scale(call, x_scale, total.rank, 1), broadcast_scale(call, w_scale, total.rank, 1)]
    return _requantize(call, total, scales, y_scale, y_zero)
