"""Samples of quantization and dequantization."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from .convolutions import convolutions
from .sampling import FLOATS, SHAPES, Array, Draw, Sample, any_axis, infinities, numbers

INTEGERS = ("int4", "uint4", "int8", "uint8", "int16", "uint16", "int32")


def _parameters(draw: Draw, data: Array, axis: int, dtype: str, zero: str) -> list[Array]:
    """Scales, which are powers of two, and zero points."""
    shapes = [data.shape[axis : axis + 1 or None] if draw(st.booleans()) and data.ndim else () for _ in range(2)]
    exponents = numbers(draw, shapes[0], "int32", -6, 6)
    return [np.asarray(2.0**exponents, dtype), numbers(draw, shapes[1], zero, -20, 20)]


@st.composite
def quantize_samples(draw: Draw) -> Sample:
    dtype, out = draw(st.sampled_from(FLOATS)), draw(st.sampled_from(INTEGERS))
    data = numbers(draw, draw(SHAPES), dtype, -200, 200)
    if draw(st.booleans()):
        data = infinities(draw, data)
    if draw(st.booleans()):
        data = np.where(data == np.inf, np.nan, data).astype(dtype)
    axis = any_axis(draw, data.ndim) if data.ndim else -1
    zero = draw(st.sampled_from(("int32", out)))
    return Sample(
        [data, *_parameters(draw, data, axis, dtype, zero)],
        {"axis": axis, "out_dtype": out, "ties": draw(st.sampled_from(("away", "even")))},
    )


@st.composite
def dequantize_samples(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(INTEGERS)), -(2**31), 2**31)
    axis = any_axis(draw, data.ndim) if data.ndim else -1
    zero = draw(st.sampled_from(("int32", data.dtype.name)))
    attributes = {"axis": axis, "out_dtype": draw(st.sampled_from(("float32", "float64")))}
    return Sample([data, *_parameters(draw, data, axis, "float32", zero)], attributes)


WIDE = ("int8", "uint8", "int16", "uint16", "int32")


def _scale(draw: Draw, shape: tuple[int, ...] = ()) -> Array:
    """Scales of any digits, so that ratios of them have no short significand."""
    choose = np.random.default_rng(draw(st.integers(0, 2**16)))
    return np.asarray(choose.uniform(0.01, 4, shape), "float32")


def _zero(draw: Draw, shape: tuple[int, ...] = ()) -> Array:
    return numbers(draw, shape, "int32", -20, 20)


@st.composite
def requantize_samples(draw: Draw) -> Sample:
    """Integers of any size, with parameters of the whole tensor or along an axis."""
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(WIDE)), -(2**31), 2**31)
    axis = any_axis(draw, data.ndim) if data.ndim else -1
    shapes = [data.shape[axis : axis + 1 or None] if draw(st.booleans()) and data.ndim else () for _ in range(2)]
    shrink = np.float32(draw(st.sampled_from((1, 2.0**-20, 2.0**-40, 2.0**20))))
    operands = [data, np.asarray(_scale(draw, shapes[0]) * shrink), _zero(draw, shapes[1]), _scale(draw), _zero(draw)]
    attributes = {"axis": axis, "rounding": draw(st.sampled_from(("UPWARD", "TONEAREST")))}
    attributes |= {"compute_dtype": draw(st.sampled_from(("int64", "float64")))}
    return Sample(operands, attributes | {"out_dtype": draw(st.sampled_from(("", *WIDE)))})


@st.composite
def pair_samples(draw: Draw) -> Sample:
    """Two tensors whose shapes broadcast, the first one perhaps with parameters along its last axis."""
    dtype = draw(st.sampled_from(WIDE[:4]))
    shape = draw(SHAPES)
    sides = [numbers(draw, shape, dtype, -300, 300), numbers(draw, shape[draw(st.integers(0, 2)) :], dtype, -300, 300)]
    of_lhs = shape[-1:] if draw(st.booleans()) else ()
    parameters = [_scale(draw, of_lhs), _zero(draw, of_lhs), _scale(draw), _zero(draw), _scale(draw), _zero(draw)]
    return Sample([*sides, *parameters])


@st.composite
def product_samples(draw: Draw, batched: bool) -> Sample:
    """Two matrices, the second one transposed, or two batches of them."""
    m, n, k, batch = (draw(st.integers(0, 4)) for _ in range(4))
    front = (batch,) if batched else ()
    x, y = (numbers(draw, (*front, rows, k), draw(st.sampled_from(WIDE[:2])), -128, 255) for rows in (m, n))
    zeros = [_zero(draw), _zero(draw, (n,) if not batched and draw(st.booleans()) else ())]
    return Sample([x, y, *zeros, _scale(draw), _scale(draw)])


@st.composite
def convolution_samples(draw: Draw, transposed: bool) -> Sample:
    """An image and weights of `nn.conv2d` in two data types, with a zero point for each row of the weights."""
    plain = draw(convolutions(2, transposed))
    data, weight = (each.astype(draw(st.sampled_from(WIDE[:2]))) for each in plain.operands)
    outer = weight.shape[plain.attributes["kernel_layout"].index("O")]
    zeros = [_zero(draw), _zero(draw, (outer,) if draw(st.booleans()) else ())]
    return Sample([data, weight, *zeros, _scale(draw), _scale(draw)], plain.attributes | {"out_dtype": "int32"})


@st.composite
def function_samples(draw: Draw, low: int = -(2**15)) -> Sample:
    """Integers, and scales that are powers of two."""
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(WIDE[:4])), low, 2**15)
    scales = [np.asarray(2.0 ** draw(st.integers(-6, 1)), "float32") for _ in range(2)]
    zeros = [np.asarray(0, "int32"), _zero(draw)]
    return Sample([data, scales[0], zeros[0], scales[1], zeros[1]])


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "qnn.quantize": quantize_samples(),
    "qnn.dequantize": dequantize_samples(),
    "qnn.requantize": requantize_samples(),
    **{f"qnn.{name}": pair_samples() for name in ("add", "subtract", "mul")},
    "qnn.dense": product_samples(batched=False),
    "qnn.batch_matmul": product_samples(batched=True),
    "qnn.conv2d": convolution_samples(transposed=False),
    "qnn.conv2d_transpose": convolution_samples(transposed=True),
    **{
        f"qnn.{name}": function_samples()
        for name in ("abs", "erf", "exp", "hardswish", "leaky_relu", "sigmoid", "tanh")
    },
    **{f"qnn.{name}": function_samples(low=1) for name in ("log", "rsqrt", "sqrt")},
}
