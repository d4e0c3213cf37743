"""Operators on quantized integers, each with the parameters of its operands and of its result: an integer q represents
the number `(q - zero_point) * scale`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.dtypes import int_range, parse_dtype
from ..expressions import functions as scalar
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.tensor import Tensor, elementwise_tensor
from .convolutions import conv2d as plain_conv2d
from .convolutions import conv2d_transpose as plain_conv2d_transpose
from .definition import OPERATORS, Pattern, operator
from .nn import batch_matmul as plain_batch_matmul
from .nn import dense as plain_dense
from .quantization import along, dequantized, elements_of, quantized, scale_at, zero_point_at
from .requirements import require_floats, require_one_of
from .windows import Window, layout_axes

Array = Any

_DATA = ("int8", "uint8", "int16", "uint16", "int32")
_ROUNDINGS = ("UPWARD", "TONEAREST")
_COMPUTE = ("int64", "float32", "float64")
_GREATEST = 2**32 - 1


# Requantization


def _number(parameter: Tensor) -> PrimExpr:
    """The element of a parameter of rank 0, or of one element."""
    return parameter(*[0] * parameter.ndim)


def _factor(ratio: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """The significand of a positive float64, times 2**31, and its exponent: `ratio = significand * 2**(exponent - 31)`,
    both int64."""
    bits = scalar.reinterpret("int64", ratio)
    exponent = (bits >> const(52, "int64")) - const(1022, "int64")
    mantissa = (bits & const(2**52 - 1, "int64")) | const(2**52, "int64")
    return (mantissa + const(2**21, "int64")) >> const(22, "int64"), exponent


def _scale_integer(value: PrimExpr, ratio: PrimExpr, rounding: str) -> PrimExpr:
    """An int64 times a positive ratio, whose significand has 31 bits, rounded to an integer. A result out of the range
    of 32 bits is some number out of the range."""
    significand, exponent = _factor(ratio)
    zero = const(0, "int64")
    left = scalar.min(scalar.max(exponent, zero), const(31, "int64"))
    most = const(_GREATEST, "int64") >> left
    kept = scalar.max(scalar.min(value, most), zero - most)
    product = (kept << left) * Select(exponent < const(-31, "int64"), zero, significand)
    right = const(31, "int64") - scalar.max(scalar.min(exponent, zero), const(-31, "int64"))
    half = const(1, "int64") << (right - const(1, "int64"))
    if rounding == "TONEAREST":
        half = Select(product < zero, half - const(1, "int64"), half)
    return (product + half) >> right


def _scale_float(value: PrimExpr, ratio: PrimExpr, rounding: str, dtype: str) -> PrimExpr:
    """An integer times a ratio, rounded to an integer, all in a data type of floats."""
    product, half, zero = cast(dtype, value) * cast(dtype, ratio), const(0.5, dtype), const(0, dtype)
    if rounding == "UPWARD":
        return scalar.floor(product + half)
    nearest = scalar.floor(scalar.max(product, zero - product) + half)
    return Select(product < zero, zero - nearest, nearest)


def _rescale(value: PrimExpr, scales: Sequence[PrimExpr], zero: PrimExpr, how: tuple[str, str, str]) -> PrimExpr:
    """The integer that represents the same number with other parameters. value: an integer without its zero point.
    scales: that of the value, and that of the result.  zero: the zero point of the result.  how: the rounding, the data
    type of the computation, and that of the result."""
    rounding, dtype, out_dtype = how
    ratio = cast("float64", scales[0]) / cast("float64", scales[1])
    least, most = int_range(parse_dtype(out_dtype))
    if dtype == "int64":
        wide = _scale_integer(cast("int64", value), ratio, rounding) + cast("int64", zero)
    else:
        wide = _scale_float(value, ratio, rounding, dtype)
        wide = cast("float64", wide) + cast("float64", zero)
    return cast(out_dtype, scalar.min(scalar.max(wide, const(least, wide.dtype)), const(most, wide.dtype)))


def _scale_exactly(value: int, ratio: float, rounding: str) -> int:
    """The reference of `_scale_integer`."""
    significand, exponent = math.frexp(ratio)
    product = value * math.floor(significand * 2**31 + 0.5) * 2 ** max(exponent, 0)
    right = 31 - min(exponent, 0)
    half = 2 ** (right - 1) - (rounding == "TONEAREST" and product < 0)
    return (product + half) >> right


def _rescale_array(value: Array, scales: Sequence[Array], zero: Array, how: tuple[str, str, str]) -> Array:
    """The reference of `_rescale`."""
    rounding, dtype, out_dtype = how
    ratio = np.asarray(scales[0], "float64") / np.asarray(scales[1], "float64")
    if dtype == "int64":
        wide = np.frompyfunc(lambda x, r: _scale_exactly(int(x), float(r), rounding), 2, 1)(value, ratio)
    else:
        product, half = value.astype(dtype) * ratio.astype(dtype), np.asarray(0.5, dtype)
        nearest = np.sign(product) * np.floor(np.abs(product) + half)
        wide = (nearest if rounding == "TONEAREST" else np.floor(product + half)).astype("float64")
    least, most = int_range(parse_dtype(out_dtype))
    return np.asarray(np.clip(wide + zero, least, most)).astype(out_dtype)


def _requantize_reference(
    data: Array,
    input_scale: Array,
    input_zero_point: Array,
    output_scale: Array,
    output_zero_point: Array,
    axis: int,
    rounding: str,
    compute_dtype: str,
    out_dtype: str,
) -> Array:
    scale, zero = (along(each, data.ndim, axis) for each in (input_scale, input_zero_point))
    value = data.astype("int64") - zero
    return _rescale_array(
        value, [scale, output_scale], output_zero_point, (rounding, compute_dtype, out_dtype or data.dtype.name)
    )


@operator("qnn.requantize", Pattern.ELEMWISE, _requantize_reference)
def requantize(
    data: Tensor,
    input_scale: Tensor,
    input_zero_point: Tensor,
    output_scale: Tensor,
    output_zero_point: Tensor,
    axis: int = -1,
    rounding: str = "UPWARD",
    compute_dtype: str = "int64",
    out_dtype: str = "int8",
) -> Tensor:
    """Converts integers to the integers that represent the same numbers with other parameters, rounded and saturated.

    The result is `round((data - input_zero_point) * input_scale / output_scale) + output_zero_point`.  input_scale,
    input_zero_point: one number for all elements, or one for each index of an axis.  rounding: "UPWARD" for halves to
    the greater integer, "TONEAREST" for halves away from zero.  compute_dtype: "int64" for products with the ratio of
    the scales as a fixed-point number with a significand of 31 bits; "float32" or "float64".  out_dtype: "" for the
    data type of data.
    """
    _require_integers(data, "qnn.requantize: data of")
    require_one_of(rounding, _ROUNDINGS, "qnn.requantize: rounding")
    require_one_of(compute_dtype, _COMPUTE, "qnn.requantize: compute_dtype")
    require_one_of(out_dtype or data.dtype, _DATA, "qnn.requantize: out_dtype")
    how = (rounding, compute_dtype, out_dtype or data.dtype)
    scale, zero = _number(output_scale), _number(output_zero_point)
    return _rescaled(data, (input_scale, input_zero_point), (scale, zero), axis, how)


def _rescaled(
    data: Tensor,
    parameters: tuple[Tensor, Tensor],
    of_result: tuple[PrimExpr, PrimExpr],
    axis: int,
    how: tuple[str, str, str],
) -> Tensor:
    """A tensor with other parameters. parameters, of_result: the scale and the zero point of data and of the result."""
    scale = scale_at(data, parameters[0], axis, "input of qnn")
    zero = zero_point_at(data, parameters[1], axis, "input of qnn")
    out_scale, out_zero = of_result

    def element(*axes: PrimExpr) -> PrimExpr:
        value = cast("int64", data(*axes)) - cast("int64", zero(axes))
        return _rescale(value, [scale(axes), out_scale], out_zero, how)

    return elements_of(data, element, "T_requantize")


def _require_integers(data: Tensor, what: str) -> None:
    require_one_of(data.dtype, _DATA, what)


# Sums and products of elements


def _define_binary(name: str, combine: Callable[[Any, Any], Any], meaning: str) -> Any:
    """Defines the sum or the difference of quantized tensors."""
    full = f"qnn.{name}"

    def reference(
        lhs: Array,
        rhs: Array,
        lhs_scale: Array,
        lhs_zero_point: Array,
        rhs_scale: Array,
        rhs_zero_point: Array,
        output_scale: Array,
        output_zero_point: Array,
        lhs_axis: int,
        rhs_axis: int,
    ) -> Array:
        how = ("UPWARD", "int64", "int32")
        sides = [
            _requantize_reference(data, scale, zero, output_scale, np.asarray(0), axis, *how).astype("int64")
            for data, scale, zero, axis in (
                (lhs, lhs_scale, lhs_zero_point, lhs_axis),
                (rhs, rhs_scale, rhs_zero_point, rhs_axis),
            )
        ]
        least, most = int_range(parse_dtype(lhs.dtype.name))
        return np.clip(combine(*sides) + output_zero_point, least, most).astype(lhs.dtype)

    def formula(
        lhs: Tensor,
        rhs: Tensor,
        lhs_scale: Tensor,
        lhs_zero_point: Tensor,
        rhs_scale: Tensor,
        rhs_zero_point: Tensor,
        output_scale: Tensor,
        output_zero_point: Tensor,
        lhs_axis: int = -1,
        rhs_axis: int = -1,
    ) -> Tensor:
        _require_integers(lhs, f"{full}: lhs of")
        _require_integers(rhs, f"{full}: rhs of")
        how = ("UPWARD", "int64", "int32")
        scale, zero = _number(output_scale), _number(output_zero_point)
        left = _rescaled(lhs, (lhs_scale, lhs_zero_point), (scale, const(0)), lhs_axis, how)
        right = _rescaled(rhs, (rhs_scale, rhs_zero_point), (scale, const(0)), rhs_axis, how)
        least, most = (const(bound, "int64") for bound in int_range(parse_dtype(lhs.dtype)))

        def element(x: Any, y: Any) -> PrimExpr:
            whole = combine(cast("int64", x), cast("int64", y)) + cast("int64", zero)
            return cast(lhs.dtype, scalar.min(scalar.max(whole, least), most))

        return elementwise_tensor(element, [left, right], f"T_qnn_{name}")

    formula.__name__ = formula.__qualname__ = name
    formula.__doc__ = meaning
    return operator(full, Pattern.BROADCAST, reference)(formula)


_BINARY = """The {what} of two quantized tensors, with broadcasting.

Both are requantized to the scale of the result first, with halves rounded to the greater integer; {what}s out of the
range of the data type of lhs become its nearest integer.  lhs_axis, rhs_axis: the axis along which the parameters of
lhs or of rhs vary if they are vectors."""

add = _define_binary("add", lambda x, y: x + y, _BINARY.format(what="sum"))
subtract = _define_binary("subtract", lambda x, y: x - y, _BINARY.format(what="difference"))


def _mul_reference(
    lhs: Array,
    rhs: Array,
    lhs_scale: Array,
    lhs_zero_point: Array,
    rhs_scale: Array,
    rhs_zero_point: Array,
    output_scale: Array,
    output_zero_point: Array,
    lhs_axis: int,
    rhs_axis: int,
) -> Array:
    zeros = along(lhs_zero_point, lhs.ndim, lhs_axis), along(rhs_zero_point, rhs.ndim, rhs_axis)
    product = (lhs.astype("int64") - zeros[0]) * (rhs.astype("int64") - zeros[1])
    scale = along(lhs_scale, lhs.ndim, lhs_axis) * along(rhs_scale, rhs.ndim, rhs_axis)
    how = ("UPWARD", "int64", lhs.dtype.name)
    return _rescale_array(product, [scale, output_scale], output_zero_point, how)


@operator("qnn.mul", Pattern.BROADCAST, _mul_reference)
def mul(
    lhs: Tensor,
    rhs: Tensor,
    lhs_scale: Tensor,
    lhs_zero_point: Tensor,
    rhs_scale: Tensor,
    rhs_zero_point: Tensor,
    output_scale: Tensor,
    output_zero_point: Tensor,
    lhs_axis: int = -1,
    rhs_axis: int = -1,
) -> Tensor:
    """The product of two quantized tensors, with broadcasting.

    The product of the integers without their zero points is requantized to the parameters of the result, in the data
    type of lhs, with halves rounded to the greater integer.  lhs_axis, rhs_axis: the axis along which the parameters of
    lhs or of rhs vary if they are vectors.
    """
    _require_integers(lhs, "qnn.mul: lhs of")
    _require_integers(rhs, "qnn.mul: rhs of")
    left = _centered(lhs, lhs_zero_point, lhs_axis, "qnn.mul: lhs")
    right = _centered(rhs, rhs_zero_point, rhs_axis, "qnn.mul: rhs")
    scales = [_scales(lhs, lhs_scale, lhs_axis), _scales(rhs, rhs_scale, rhs_axis)]
    of_result, zero = _number(output_scale), _number(output_zero_point)

    def element(x: Any, y: Any, x_scale: Any, y_scale: Any) -> PrimExpr:
        product = cast("int64", x) * cast("int64", y)
        return _rescale(product, [x_scale * y_scale, of_result], zero, ("UPWARD", "int64", lhs.dtype))

    return elementwise_tensor(element, [left, right, *scales], "T_qnn_mul")


def _scales(data: Tensor, scale: Tensor, axis: int) -> Tensor:
    """The scale of each element of a tensor."""
    at = scale_at(data, scale, axis, "qnn.mul")
    return elements_of(data, lambda *axes: at(axes), "T_scale")


# Sums of products


def _centered(data: Tensor, zero_point: Tensor, axis: int, name: str) -> Tensor:
    """Integers without their zero point, as int32."""
    _require_integers(data, f"{name} of")
    zero = zero_point_at(data, zero_point, axis, name)
    label = f"T_{name.rpartition(' ')[2]}"
    return elements_of(data, lambda *axes: cast("int32", data(*axes)) - cast("int32", zero(axes)), label)


def _require_scales(scales: Sequence[Tensor], name: str) -> None:
    """TeError unless all scales are floats."""
    for scale in scales:
        require_floats(scale, f"{name}: scale")


def _centered_array(data: Array, zero_point: Array, axis: int) -> Array:
    return data.astype("int32") - along(zero_point, data.ndim, axis).astype("int32")


@operator(
    "qnn.dense",
    Pattern.OUT_FUSABLE,
    lambda data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale, units, out_dtype: OPERATORS[
        "nn.dense"
    ].reference(
        _centered_array(data, input_zero_point, -1),
        _centered_array(weight, kernel_zero_point, 0),
        units=units,
        out_dtype=out_dtype,
    ),
)
def dense(
    data: Tensor,
    weight: Tensor,
    input_zero_point: Tensor,
    kernel_zero_point: Tensor,
    input_scale: Tensor,
    kernel_scale: Tensor,
    units: int | None = None,
    out_dtype: str = "int32",
) -> Tensor:
    """The product of quantized `data` and the transposed quantized weight, as `nn.dense` of integers without their
    zero points.

    The scale of the result is `input_scale * kernel_scale`, and its zero point is 0.  kernel_zero_point: one number, or
    one for each row of weight.  units: the expected number of rows of weight.
    """
    _require_scales([input_scale, kernel_scale], "qnn.dense")
    x = _centered(data, input_zero_point, -1, "qnn.dense: data")
    w = _centered(weight, kernel_zero_point, 0, "qnn.dense: weight")
    return plain_dense(x, w, units, out_dtype)


@operator(
    "qnn.batch_matmul",
    Pattern.OUT_FUSABLE,
    lambda x, y, x_zero_point, y_zero_point, x_scale, y_scale, out_dtype: OPERATORS["nn.batch_matmul"].reference(
        _centered_array(x, x_zero_point, -1), _centered_array(y, y_zero_point, -1), out_dtype=out_dtype
    ),
)
def batch_matmul(
    x: Tensor,
    y: Tensor,
    x_zero_point: Tensor,
    y_zero_point: Tensor,
    x_scale: Tensor,
    y_scale: Tensor,
    out_dtype: str = "int32",
) -> Tensor:
    """The products of two batches of quantized matrices, as `nn.batch_matmul` of integers without their zero points;
    `y` is given as its transpose.

    The scale of the result is `x_scale * y_scale`, and its zero point is 0.
    """
    _require_scales([x_scale, y_scale], "qnn.batch_matmul")
    left = _centered(x, x_zero_point, -1, "qnn.batch_matmul: x")
    right = _centered(y, y_zero_point, -1, "qnn.batch_matmul: y")
    return plain_batch_matmul(left, right, out_dtype=out_dtype)


def _convolution_reference(name: str) -> Callable[..., Array]:
    def reference(
        data: Array,
        weight: Array,
        input_zero_point: Array,
        kernel_zero_point: Array,
        *_scales: Array,
        **attributes: Any,
    ) -> Array:
        layout = attributes["data_layout"], attributes["kernel_layout"]
        x = _centered_array(data, input_zero_point, layout[0].index("C"))
        w = _centered_array(weight, kernel_zero_point, layout[1].index("O"))
        return OPERATORS[name].reference(x, w, **attributes)

    return reference


def _convolution(
    name: str, plain: Callable[..., Tensor], operands: Sequence[Tensor], attributes: dict[str, Any]
) -> Tensor:
    """A convolution of integers without their zero points. operands: those of `qnn.conv2d` but for the scales."""
    data, weight, input_zero, kernel_zero = operands
    channels = layout_axes(attributes["data_layout"], "NCHW", name)[1]
    outer = layout_axes(attributes["kernel_layout"], "OIHW", name)[0]
    x = _centered(data, input_zero, channels, f"{name}: data")
    return plain(x, _centered(weight, kernel_zero, outer, f"{name}: weight"), **attributes)


@operator("qnn.conv2d", Pattern.OUT_FUSABLE, _convolution_reference("nn.conv2d"))
def conv2d(
    data: Tensor,
    weight: Tensor,
    input_zero_point: Tensor,
    kernel_zero_point: Tensor,
    input_scale: Tensor,
    kernel_scale: Tensor,
    strides: Window = 1,
    padding: Window = 0,
    dilation: Window = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Window | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "int32",
) -> Tensor:
    """The convolution of a quantized image with quantized weights, as `nn.conv2d` of integers without their zero
    points; so the padding has the value of the zero point.

    The scale of the result is `input_scale * kernel_scale`, and its zero point is 0.  kernel_zero_point: one number, or
    one for each output channel.  The attributes are those of `nn.conv2d`.
    """
    attributes = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups, "channels": channels}
    attributes |= {"kernel_size": kernel_size, "data_layout": data_layout, "kernel_layout": kernel_layout}
    attributes |= {"out_layout": out_layout, "out_dtype": out_dtype}
    _require_scales([input_scale, kernel_scale], "qnn.conv2d")
    operands = [data, weight, input_zero_point, kernel_zero_point]
    return _convolution("qnn.conv2d", plain_conv2d, operands, attributes)


@operator("qnn.conv2d_transpose", Pattern.OUT_FUSABLE, _convolution_reference("nn.conv2d_transpose"))
def conv2d_transpose(
    data: Tensor,
    weight: Tensor,
    input_zero_point: Tensor,
    kernel_zero_point: Tensor,
    input_scale: Tensor,
    kernel_scale: Tensor,
    strides: Window = 1,
    padding: Window = 0,
    dilation: Window = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Window | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str = "",
    output_padding: Window = 0,
    out_dtype: str = "int32",
) -> Tensor:
    """The transposed convolution of a quantized image with quantized weights, as `nn.conv2d_transpose` of integers
    without their zero points.

    The scale of the result is `input_scale * kernel_scale`, and its zero point is 0.  kernel_zero_point: one number, or
    one for each output channel of a group.  The attributes are those of `nn.conv2d_transpose`.
    """
    attributes = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups, "channels": channels}
    attributes |= {"kernel_size": kernel_size, "data_layout": data_layout, "kernel_layout": kernel_layout}
    attributes |= {"out_layout": out_layout, "output_padding": output_padding, "out_dtype": out_dtype}
    _require_scales([input_scale, kernel_scale], "qnn.conv2d_transpose")
    operands = [data, weight, input_zero_point, kernel_zero_point]
    return _convolution("qnn.conv2d_transpose", plain_conv2d_transpose, operands, attributes)


# Functions of elements


def _on_numbers(
    data: Tensor, parameters: Sequence[Tensor], function: Callable[[PrimExpr], PrimExpr], name: str
) -> Tensor:
    """A function of the numbers that integers represent. parameters: the scales and zero points of data and of the
    result."""
    _require_integers(data, f"{name}: data of")
    scale, zero, out_scale, out_zero = map(_number, parameters)

    def element(*axes: PrimExpr) -> PrimExpr:
        number = dequantized(data(*axes), scale, zero, "float32")
        return quantized(function(number), out_scale, out_zero, data.dtype)

    return elements_of(data, element, f"T_{name.replace('.', '_')}")


def _on_number_arrays(data: Array, parameters: Sequence[Array], function: Callable[[Array], Array]) -> Array:
    """The reference of `_on_numbers`."""
    scale, zero, out_scale, out_zero = parameters
    numbers = OPERATORS["qnn.dequantize"].reference(data, scale, zero)
    with np.errstate(all="ignore"):
        results = function(numbers)
    return OPERATORS["qnn.quantize"].reference(results, out_scale, out_zero, out_dtype=data.dtype.name)


def _define_unary(name: str, function: Callable[[Any], PrimExpr], reference: Callable[[Array], Array]) -> Any:
    """Defines a function of the numbers that integers represent, in float32."""

    def formula(
        x: Tensor, scale: Tensor, zero_point: Tensor, output_scale: Tensor, output_zero_point: Tensor
    ) -> Tensor:
        return _on_numbers(x, [scale, zero_point, output_scale, output_zero_point], function, f"qnn.{name}")

    formula.__name__ = formula.__qualname__ = name
    formula.__doc__ = f"""The function `{name}` of the numbers that quantized integers represent.

    The function is computed in float32, and its results are quantized as by `qnn.quantize`, in the data type of x."""
    whole = lambda x, *parameters: _on_number_arrays(x, parameters, reference)  # noqa: E731
    return operator(f"qnn.{name}", Pattern.ELEMWISE, whole)(formula)


def _reference_of(name: str) -> Callable[[Array], Array]:
    return lambda numbers: OPERATORS[name].reference(numbers)


abs = _define_unary("abs", lambda x: scalar.max(x, const(0, "float32") - x), np.abs)
erf = _define_unary("erf", scalar.erf, _reference_of("erf"))
exp = _define_unary("exp", scalar.exp, _reference_of("exp"))
log = _define_unary("log", scalar.log, _reference_of("log"))
rsqrt = _define_unary("rsqrt", scalar.rsqrt, _reference_of("rsqrt"))
sigmoid = _define_unary("sigmoid", scalar.sigmoid, _reference_of("sigmoid"))
sqrt = _define_unary("sqrt", scalar.sqrt, _reference_of("sqrt"))
tanh = _define_unary("tanh", scalar.tanh, _reference_of("tanh"))


def _hard_swish(x: PrimExpr) -> PrimExpr:
    six, zero = const(6, "float32"), const(0, "float32")
    return x * scalar.min(scalar.max(x + const(3, "float32"), zero), six) / six


hardswish = _define_unary("hardswish", _hard_swish, lambda x: x * np.clip(x + np.float32(3), 0, 6) / np.float32(6))


@operator(
    "qnn.leaky_relu",
    Pattern.ELEMWISE,
    lambda data, input_scale, input_zero_point, output_scale, output_zero_point, alpha: _on_number_arrays(
        data,
        [input_scale, input_zero_point, output_scale, output_zero_point],
        lambda x: np.where(x < 0, x * np.float32(alpha), x),
    ),
)
def leaky_relu(
    data: Tensor,
    input_scale: Tensor,
    input_zero_point: Tensor,
    output_scale: Tensor,
    output_zero_point: Tensor,
    alpha: float = 0.01,
) -> Tensor:
    """The leaky rectified linear unit of the numbers that quantized integers represent: `x if x > 0 else alpha * x`,
    computed in float32 and quantized as by `qnn.quantize` in the data type of data."""
    parameters = [input_scale, input_zero_point, output_scale, output_zero_point]
    slope = const(alpha, "float32")
    return _on_numbers(data, parameters, lambda x: Select(x < const(0, "float32"), x * slope, x), "qnn.leaky_relu")
