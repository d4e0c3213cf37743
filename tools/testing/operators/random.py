"""Samples of random numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from .sampling import Array, Draw, Sample, numbers

_WORDS = st.integers(0, 2**64 - 1)
_SHAPES = st.lists(st.integers(1, 4), max_size=3)


def _state(draw: Draw) -> Array:
    """A state, also one whose counter or path is at its end."""
    place = draw(st.sampled_from(((2**63, 0), (1, 0), (0, 2**63), (0, 1), (0, 0))))
    counter = draw(st.one_of(st.integers(0, 99), st.integers(2**64 - 99, 2**64 - 1)))
    return np.array([*(draw(_WORDS) for _ in range(6)), 0, counter, *place], "uint64")


@st.composite
def bits(draw: Draw) -> Sample:
    return Sample([_state(draw)], {"out_shape": draw(st.one_of(_SHAPES, st.just([0, 3])))})


@st.composite
def splits(draw: Draw) -> Sample:
    return Sample([_state(draw)], {})


@st.composite
def floats(draw: Draw, least: float) -> Sample:
    dtype = draw(st.sampled_from(("float32", "float64")))
    ends = [np.array(draw(st.floats(least, 8, width=32)), dtype) for _ in range(2)]
    return Sample([_state(draw), *ends], {"out_shape": draw(_SHAPES), "out_dtype": dtype})


@st.composite
def positions(draw: Draw) -> Sample:
    shape = [*draw(_SHAPES), draw(st.integers(1, 4))]
    chances = numbers(draw, shape, draw(st.sampled_from(("float32", "int32"))), -2, 8)
    chances[..., 0] = 1
    return Sample([_state(draw), chances], {"num_samples": draw(st.integers(1, 4))})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "random.threefry_generate": bits(),
    "random.threefry_split": splits(),
    "random.uniform": floats(-8),
    "random.normal": floats(-8),
    "random.multinomial": positions(),
}
