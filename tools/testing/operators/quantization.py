"""Samples of quantization and dequantization."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

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
    return Sample([data, *_parameters(draw, data, axis, dtype, zero)], {"axis": axis, "out_dtype": out})


@st.composite
def dequantize_samples(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(INTEGERS)), -(2**31), 2**31)
    axis = any_axis(draw, data.ndim) if data.ndim else -1
    zero = draw(st.sampled_from(("int32", data.dtype.name)))
    attributes = {"axis": axis, "out_dtype": draw(st.sampled_from(("float32", "float64")))}
    return Sample([data, *_parameters(draw, data, axis, "float32", zero)], attributes)


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "qnn.quantize": quantize_samples(),
    "qnn.dequantize": dequantize_samples(),
}
