"""Samples of operators of neural networks."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ....operators.nn import pack_bytes
from .sampling import EXTENTS, NUMBERS, SHAPES, Draw, Sample, any_axis, float_samples, numbers


@st.composite
def products(draw: Draw, batched: int) -> Sample:
    """Two matrices, each plain or transposed. batched: the number of batch axes."""
    m, k, n = (draw(st.sampled_from((0, 1, 2, 5, 7))) for _ in range(3))
    transpose_a, transpose_b = draw(st.booleans()), draw(st.booleans())
    dtype = draw(st.sampled_from(("float32", "float64", "int32", "int8")))
    fronts: list[list[int]] = [[], []]
    if batched:
        count = draw(st.sampled_from((1, 2, 3)))
        fronts = [[draw(st.sampled_from((1, count)))], [count]]
        fronts = fronts[:: draw(st.sampled_from((1, -1)))]
    a = numbers(draw, [*fronts[0], *((k, m) if transpose_a else (m, k))], dtype)
    b = numbers(draw, [*fronts[1], *((n, k) if transpose_b else (k, n))], dtype)
    out = draw(st.sampled_from(("", "int32"))) if dtype == "int8" else ""
    return Sample([a, b], {"transpose_a": transpose_a, "transpose_b": transpose_b, "out_dtype": out})


@st.composite
def dense_layers(draw: Draw) -> Sample:
    front, k, n = draw(SHAPES)[:2], draw(EXTENTS), draw(st.integers(1, 5))
    dtype = draw(st.sampled_from(("float32", "float64", "int8")))
    attributes = {"units": draw(st.sampled_from((None, n))), "out_dtype": "int32" if dtype == "int8" else ""}
    return Sample([numbers(draw, (*front, k), dtype), numbers(draw, (n, k), dtype)], attributes)


@st.composite
def packed_layers(draw: Draw) -> Sample:
    """A product with a weight in blocks of rows, the last of which may be filled, or with a weight as it is."""
    layer = draw(dense_layers())
    data, weight = layer.operands
    lanes = draw(st.sampled_from((0, 1, 2, 4)))
    if not lanes:
        return Sample([data, weight], {**layer.attributes, "weight_layout": "NC"})
    units, inner = weight.shape
    padded = np.pad(weight, [(0, -units % lanes), (0, 0)])
    blocks = np.ascontiguousarray(padded.reshape(len(padded) // lanes, lanes, inner).transpose(0, 2, 1))
    whole = draw(st.sampled_from((None, units))) if units % lanes == 0 else units
    return Sample([data, blocks], {**layer.attributes, "weight_layout": f"NC{lanes}n", "units": whole})


@st.composite
def packed_byte_layers(draw: Draw) -> Sample:
    """A product of bytes with a weight in blocks of rows and columns, the last of which may be filled."""
    front, inner, units = draw(SHAPES)[:2], draw(st.integers(1, 9)), draw(st.integers(1, 6))
    weight = pack_bytes(numbers(draw, (units, inner), "int8", -128, 127), draw(st.sampled_from((1, 2, 4))))
    return Sample([numbers(draw, (*front, inner), "uint8", 0, 255), weight], {"units": units})


@st.composite
def biases(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES.filter(bool)), draw(st.sampled_from(NUMBERS)), 0, 4)
    axis = any_axis(draw, data.ndim)
    return Sample([data, numbers(draw, data.shape[axis : axis + 1 or None], data.dtype.name, 0, 4)], {"axis": axis})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "nn.dense": dense_layers(),
    "nn.contrib_dense_pack": packed_layers(),
    "nn.contrib_dense_pack_int8": packed_byte_layers(),
    "nn.matmul": products(0),
    "nn.batch_matmul": products(1),
    "nn.bias_add": biases(),
    **dict.fromkeys(
        ("nn.softmax", "nn.log_softmax"), float_samples(lambda draw, data: {"axis": any_axis(draw, data.ndim)}, rank=1)
    ),
}
