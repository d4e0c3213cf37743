"""Samples of products of integers of few bits."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from .sampling import Array, Draw, Sample, numbers

_WIDTHS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
_WORDS = st.sampled_from(tuple(_WIDTHS))
_BITS = st.integers(1, 3)


def _integers(draw: Draw, shape: tuple[int, ...], bits: int) -> Array:
    """Integers of which the lowest bits count."""
    dtype = draw(st.sampled_from(("int8", "uint8", "int16", "int32")))
    return numbers(draw, shape, dtype, 0, 2**bits)


def _packed(array: Array, bits: int, word_axis: int, bit_axis: int, word: str) -> Array:
    """Words of bits, of an array whose extent along `word_axis` is that of one word."""
    planes = np.stack([(np.moveaxis(array, word_axis, -1) >> bit) & 1 for bit in range(bits)]).astype("uint64")
    places = np.uint64(1) << np.arange(_WIDTHS[word] - 1, -1, -1, dtype="uint64")
    return np.moveaxis(np.expand_dims((planes * places).sum(-1).astype(word), word_axis + 1), 0, bit_axis)


@st.composite
def packed(draw: Draw) -> Sample:
    word, bits, rank = draw(_WORDS), draw(_BITS), draw(st.integers(1, 3))
    axis = draw(st.integers(0, rank - 1))
    shape = [draw(st.integers(1, 3)) for _ in range(rank)]
    shape[axis] = _WIDTHS[word] * draw(st.integers(1, 2))
    attributes = {"bits": bits, "pack_axis": axis, "bit_axis": draw(st.integers(0, rank)), "pack_type": word}
    return Sample([_integers(draw, tuple(shape), bits)], attributes)


@st.composite
def products(draw: Draw) -> Sample:
    word, data_bits, weight_bits = draw(_WORDS), draw(_BITS), draw(_BITS)
    rows, units, width = draw(st.integers(1, 3)), draw(st.integers(1, 3)), _WIDTHS[word]
    weight = _integers(draw, (units, width), weight_bits)
    if draw(st.booleans()):
        weight = _packed(weight, weight_bits, 1, 1, word)
    attributes = {
        "data_bits": data_bits,
        "weight_bits": weight_bits,
        "pack_dtype": word,
        "unipolar": draw(st.booleans()),
    }
    return Sample([_integers(draw, (rows, width), data_bits), weight], attributes)


@st.composite
def convolutions(draw: Draw) -> Sample:
    word, layout = draw(st.sampled_from(("uint8", "uint16"))), draw(st.sampled_from(("NCHW", "NHWC")))
    data_bits, weight_bits = draw(_BITS), draw(_BITS)
    channels, filters = _WIDTHS[word], draw(st.integers(1, 2))
    taps, size = [draw(st.integers(1, 2)) for _ in range(2)], [draw(st.integers(2, 3)) for _ in range(2)]
    image, window = (1, channels, *size), (filters, channels, *taps)
    if layout == "NHWC":
        image, window = (1, *size, channels), (*taps, channels, filters)
    weight = _integers(draw, window, weight_bits)
    if draw(st.booleans()):
        weight = _packed(weight, weight_bits, 1 if layout == "NCHW" else 2, 4, word)
    attributes = {
        "strides": draw(st.integers(1, 2)), "padding": draw(st.integers(0, 1)), "activation_bits": data_bits,
        "weight_bits": weight_bits, "data_layout": layout, "pack_dtype": word, "out_dtype": "int32",
        "unipolar": draw(st.booleans()),
    }  # fmt: skip
    return Sample([_integers(draw, image, data_bits), weight], attributes)


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "nn.bitpack": packed(),
    "nn.bitserial_dense": products(),
    "nn.bitserial_conv2d": convolutions(),
}
