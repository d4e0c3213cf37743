"""Operators on quantized integers: `relay.qnn.quantize`, and `relay.qnn.op.quantize` as in Relay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from ...core.errors import OptionError
from ...operators.windows import Window
from . import qnn as op
from .expr import Expr, Tuple, TupleWrapper, as_expr, call
from .operators import operator_function, relay_function

__all__ = [
    "abs",
    "add",
    "batch_matmul",
    "concatenate",
    "conv2d",
    "conv2d_transpose",
    "dense",
    "dequantize",
    "erf",
    "exp",
    "hardswish",
    "leaky_relu",
    "log",
    "mul",
    "op",
    "quantize",
    "requantize",
    "requantize_config",
    "rsqrt",
    "sigmoid",
    "sqrt",
    "subtract",
    "tanh",
]

add = operator_function("qnn.add")
batch_matmul = operator_function("qnn.batch_matmul")
dequantize = operator_function("qnn.dequantize")
mul = operator_function("qnn.mul")
quantize = operator_function("qnn.quantize")
subtract = operator_function("qnn.subtract")

abs = operator_function("qnn.abs")
erf = operator_function("qnn.erf")
exp = operator_function("qnn.exp")
hardswish = operator_function("qnn.hardswish")
log = operator_function("qnn.log")
rsqrt = operator_function("qnn.rsqrt")
sigmoid = operator_function("qnn.sigmoid")
sqrt = operator_function("qnn.sqrt")
tanh = operator_function("qnn.tanh")


class requantize_config:  # Relay's name
    """The context in which `requantize` takes a rounding and a data type of the computation, unless a call states
    them."""

    _contexts: ClassVar[list[requantize_config]] = []

    def __init__(self, rounding: str = "UPWARD", compute_dtype: str = "int64"):
        self.rounding = rounding
        self.compute_dtype = compute_dtype

    @classmethod
    def current(cls) -> requantize_config:
        """The innermost context, or the default."""
        return cls._contexts[-1] if cls._contexts else cls()

    def __enter__(self) -> Self:
        self._contexts.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._contexts.remove(self)


@relay_function("qnn.requantize")
def requantize(
    data: Expr,
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
    out_dtype: str = "int8",
) -> Expr:
    """Converts integers to the integers that represent the same numbers with other parameters.

    rounding, compute_dtype: "None" for those of the `requantize_config` around the call, "UPWARD" and "int64" without.
    """
    usual = requantize_config.current()
    chosen = {"rounding": usual.rounding if rounding == "None" else rounding}
    chosen["compute_dtype"] = usual.compute_dtype if compute_dtype == "None" else compute_dtype
    operands = [data, input_scale, input_zero_point, output_scale, output_zero_point]
    return call("qnn.requantize", *operands, axis=axis, out_dtype=out_dtype, **chosen)


@relay_function("qnn.leaky_relu")
def leaky_relu(
    x: Expr, alpha: float, input_scale: Expr, input_zero_point: Expr, output_scale: Expr, output_zero_point: Expr
) -> Expr:
    """The leaky rectified linear unit of the numbers that integers represent. alpha: the slope below 0."""
    return call("qnn.leaky_relu", x, input_scale, input_zero_point, output_scale, output_zero_point, alpha=alpha)


@relay_function("qnn.dense")
def dense(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    units: int | None,
    out_dtype: str = "int32",
) -> Expr:
    """The product of quantized data and the transposed quantized weight."""
    operands = [data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale]
    return call("qnn.dense", *operands, units=units, out_dtype=out_dtype)


@relay_function("qnn.conv2d")
def conv2d(
    data: Expr,
    kernel: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    kernel_size: Window | None,
    channels: int | None,
    strides: Window = (1, 1),
    padding: Window = (0, 0),
    dilation: Window = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "int32",
) -> Expr:
    """The convolution of a quantized image with quantized weights."""
    operands = [data, kernel, input_zero_point, kernel_zero_point, input_scale, kernel_scale]
    sizes = {"strides": strides, "padding": padding, "dilation": dilation, "kernel_size": kernel_size}
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    return call("qnn.conv2d", *operands, **sizes, groups=groups, channels=channels, **layouts, out_dtype=out_dtype)


@relay_function("qnn.conv2d_transpose")
def conv2d_transpose(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    strides: Window = (1, 1),
    padding: Window = (0, 0),
    dilation: Window = (1, 1),
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Window | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str = "",
    output_padding: Window = (0, 0),
    out_dtype: str = "int32",
) -> Expr:
    """The transposed convolution of a quantized image with quantized weights."""
    operands = [data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale]
    sizes = {"strides": strides, "padding": padding, "dilation": dilation, "kernel_size": kernel_size}
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    rest = {"groups": groups, "channels": channels, "output_padding": output_padding, "out_dtype": out_dtype}
    return call("qnn.conv2d_transpose", *operands, **sizes, **layouts, **rest)


@relay_function("qnn.concatenate")
def concatenate(
    data: Sequence[Expr] | Tuple,
    input_scales: Sequence[Expr] | Tuple,
    input_zero_points: Sequence[Expr] | Tuple,
    output_scale: Expr,
    output_zero_point: Expr,
    axis: int,
) -> Expr:
    """Quantized tensors joined along an axis, each after a `qnn.requantize` to the parameters of the result.

    OptionError for no tensors, or another number of parameters.
    """
    parts, scales, zeros = (_fields(each) for each in (data, input_scales, input_zero_points))
    if not parts or not len(parts) == len(scales) == len(zeros):
        counts = f"{len(parts)} tensors, {len(scales)} scales and {len(zeros)} zero points"
        raise OptionError(f"qnn.concatenate: {counts}, expected as many of each")
    operands = zip(parts, scales, zeros, strict=True)
    alike = [call("qnn.requantize", *each, output_scale, output_zero_point, axis=-1, out_dtype="") for each in operands]
    return call("concatenate", *alike, axis=axis)


def _fields(several: Any) -> list[Expr]:
    if isinstance(several, TupleWrapper):
        return list(several)
    value = as_expr(several)
    return list(value.fields) if isinstance(value, Tuple) else [value]
