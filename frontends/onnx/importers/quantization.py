"""Integers, and small floats, that stand for floats."""

from __future__ import annotations

from ....core.dtypes import int_range, parse_dtype
from ..call import Call, axis_in
from ..errors import OnnxError
from ..registry import importer
from ..values import Tensor, known_numbers, require_dtype
from .elementwise import converted, dtype_of_code, extreme_of
from .images import convolved
from .nn import product


def beside(call: Call, number: Tensor, data: Tensor, axis: int) -> Tensor:
    """Scales or zero points in a shape that goes together with data: one, or one for each place of an axis or block."""
    if number.rank == 0 or (number.rank == 1 and number.shape == (1,) and call.integer("block_size") == 0):
        return call.builder.reshape(number, []) if number.rank else number
    axis = axis_in(axis, data.rank)
    if number.rank == 1 and not call.integer("block_size"):
        return _placed(call, number, data.rank, axis)
    size = call.integer("block_size")
    if size == 0 or number.rank != data.rank:
        raise OnnxError(f"{call.op_type}: a scale of shape {list(number.shape)} for {list(data.shape)}")
    extent = known_numbers([data.shape[axis]], "a block of")[0]
    wide = call.op("repeat", number, repeats=size, axis=axis)
    return call.op("strided_slice", wide, begin=[0], end=[extent], axes=[axis]) if wide.shape[axis] != extent else wide


def _placed(call: Call, number: Tensor, rank: int, axis: int) -> Tensor:
    return call.builder.reshape(number, [number.extents[0] if d == axis else 1 for d in range(rank)])


def quantized(call: Call, x: Tensor, scale: Tensor, zero: Tensor, dtype: str) -> Tensor:
    """`round(x / scale) + zero`, the nearest number of a data type. scale, zero: in shapes that go together with x."""
    ratio = call.op("divide", x, scale)
    if parse_dtype(dtype).is_float:
        wide = call.widened(ratio)
        return converted(call, call.op("add", wide, call.cast(zero, wide.dtype)), dtype)
    wide = call.cast(ratio, "float64") if dtype in ("int32", "uint32") else call.widened(ratio)
    rounded = call.op("add", call.op("round", wide), call.cast(zero, wide.dtype))
    low, high = int_range(parse_dtype(dtype))
    number = call.builder.number
    inside = extreme_of(
        call, "Min", number(high, wide.dtype), extreme_of(call, "Max", number(low, wide.dtype), rounded)
    )
    return call.cast(inside, dtype)


def dequantized(call: Call, x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    """`(x - zero) * scale`, in the data type of scale."""
    wide = call.cast(x, "float32" if x.is_float else "int64" if x.dtype in ("int32", "uint32") else "int32")
    if zero is not None:
        wide = call.op("subtract", wide, call.cast(zero, wide.dtype))
    return call.cast(call.op("multiply", call.cast(wide, "float32"), call.widened(scale)), scale.dtype)


@importer("QuantizeLinear")
def quantize_linear(call: Call) -> Tensor:
    x, scale, zero = call.tensor(0), call.tensor(1), call.optional(2)
    code = call.integer("output_dtype")
    dtype = zero.dtype if zero is not None else dtype_of_code(code) if code else "uint8"
    require_dtype(dtype)
    if x.dtype == "int32":
        x = call.cast(x, "float32")
    axis = call.integer("axis", 1)
    scale = call.cast(beside(call, scale, x, axis), x.dtype)
    zeros = call.builder.number(0, dtype) if zero is None else beside(call, zero, x, axis)
    return quantized(call, x, scale, zeros, dtype)


@importer("DequantizeLinear")
def dequantize_linear(call: Call) -> Tensor:
    x, scale, zero = call.tensor(0), call.tensor(1), call.optional(2)
    axis = call.integer("axis", 1)
    require_dtype(x.dtype)
    placed = None if zero is None else beside(call, zero, x, axis)
    made = dequantized(call, x, beside(call, scale, x, axis), placed)
    code = call.integer("output_dtype")
    return call.cast(made, dtype_of_code(code)) if code else made


@importer("MatMulInteger")
def matmul_integer(call: Call) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    a = _shifted(call, a, call.optional(2), a.rank - 2)
    b = _shifted(call, b, call.optional(3), b.rank - 1)
    return product(call, a, b)


def _shifted(call: Call, data: Tensor, zero: Tensor | None, axis: int) -> Tensor:
    """Integers without their zero point, as int32."""
    wide = call.cast(data, "int32")
    if zero is None:
        return wide
    if zero.rank == 1 and zero.shape != (1,):
        zero = _placed(call, zero, data.rank, axis)
    elif zero.rank == 1:
        zero = call.builder.reshape(zero, [])
    return call.op("subtract", wide, call.cast(zero, "int32"))


@importer("QLinearMatMul")
def qlinear_matmul(call: Call) -> Tensor:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = call.tensors
    made = product(call, _shifted(call, a, a_zero, a.rank - 2), _shifted(call, b, b_zero, b.rank - 1))
    scale_a = _of_rows(call, a_scale, made.rank, made.rank - 2)
    scale_b = _of_rows(call, b_scale, made.rank, made.rank - 1)
    return _requantized(call, made, [scale_a, scale_b], y_scale, y_zero)


def _of_rows(call: Call, scale: Tensor, rank: int, axis: int) -> Tensor:
    if scale.rank == 1 and scale.shape != (1,):
        return _placed(call, scale, rank, axis)
    return call.builder.reshape(scale, []) if scale.rank == 1 else scale


def _requantized(call: Call, made: Tensor, scales: list[Tensor], y_scale: Tensor, y_zero: Tensor) -> Tensor:
    """An int32 that stands for a float by scales, as an integer by another one."""
    factor = call.op("multiply", *(call.widened(each) for each in scales))
    factor = call.op("divide", factor, _of_rows(call, call.widened(y_scale), made.rank, made.rank - 1))
    one = call.builder.number(1, "float32")
    x = call.op("multiply", call.cast(made, "float32"), factor)
    return quantized(call, x, one, _of_rows(call, y_zero, made.rank, made.rank - 1), y_zero.dtype)


@importer("ConvInteger")
def conv_integer(call: Call) -> Tensor:
    x, w = call.tensor(0), call.tensor(1)
    return convolved(call, _shifted(call, x, call.optional(2), 1), _shifted(call, w, call.optional(3), 0))


@importer("QLinearConv")
def qlinear_conv(call: Call) -> Tensor:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (call.tensor(n) for n in range(8))
    bias = call.optional(8)
    made = convolved(call, _shifted(call, x, x_zero, 1), _shifted(call, w, w_zero, 0))
    if bias is not None:
        made = call.op("nn.bias_add", made, bias, axis=1)
    scales = [_of_rows(call, x_scale, made.rank, 1), _of_rows(call, w_scale, made.rank, 1)]
    return _requantized(call, made, scales, y_scale, y_zero)
