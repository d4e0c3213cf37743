"""Samples of operators whose result has the shape or the data type of another tensor."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from .sampling import ALL, FLOATS, SHAPES, Draw, Sample, numbers


def _tensor(draw: Draw, shape: tuple[int, ...], dtype: str | None = None) -> np.ndarray:
    return numbers(draw, shape, dtype or draw(st.sampled_from(FLOATS)), -8, 8)


@st.composite
def cast_samples(draw: Draw) -> Sample:
    kinds = [draw(st.sampled_from([each for each in ALL if each != "bool"])) for _ in range(2)]
    return Sample([numbers(draw, draw(SHAPES), kinds[0], 0, 8), numbers(draw, (1,), kinds[1], 0, 8)])


@st.composite
def reshape_samples(draw: Draw) -> Sample:
    data = _tensor(draw, draw(SHAPES))
    if data.ndim and draw(st.booleans()):
        like = np.zeros((7, data.shape[-1], 1), data.dtype)
        return Sample([data, like], {"lhs_begin": data.ndim - 1, "rhs_begin": 1, "rhs_end": 3})
    return Sample([data, np.zeros((1, data.size), data.dtype)])


def _smaller(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to another one."""
    return tuple(1 if draw(st.booleans()) else size for size in shape[draw(st.integers(0, len(shape))) :])


@st.composite
def broadcast_samples(draw: Draw) -> Sample:
    shape = draw(SHAPES)
    return Sample([_tensor(draw, _smaller(draw, shape)), _tensor(draw, shape)])


@st.composite
def collapse_samples(draw: Draw) -> Sample:
    shape = draw(SHAPES)
    data = _tensor(draw, shape, "float64")
    return Sample([data, np.zeros(_smaller(draw, shape), data.dtype)])


@st.composite
def collapse_to_samples(draw: Draw) -> Sample:
    shape = draw(SHAPES)
    return Sample([_tensor(draw, shape, "float64")], {"shape": list(_smaller(draw, shape))})


@st.composite
def slice_samples(draw: Draw) -> Sample:
    shape = draw(SHAPES)
    like = tuple(draw(st.integers(0, size)) for size in shape)
    axes = [axis - len(shape) for axis in range(len(shape)) if draw(st.booleans())]
    return Sample([_tensor(draw, shape), np.zeros(like, "float32")], {"axes": axes} if axes else {})


@st.composite
def shape_samples(draw: Draw) -> Sample:
    return Sample([_tensor(draw, draw(SHAPES))], {"dtype": draw(st.sampled_from(("int32", "int64")))})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "cast_like": cast_samples(),
    "reshape_like": reshape_samples(),
    "broadcast_to_like": broadcast_samples(),
    "collapse_sum_like": collapse_samples(),
    "collapse_sum_to": collapse_to_samples(),
    "slice_like": slice_samples(),
    "shape_of": shape_samples(),
    "ndarray_size": shape_samples(),
}
