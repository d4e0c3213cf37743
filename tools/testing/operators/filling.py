"""Samples of operators that create tensors from shapes and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .sampling import ALL, FLOATS, NUMBERS, SHAPES, SIGNED, Draw, Sample, infinities, numbers, tensor_samples


def _value(draw: Draw, dtype: str) -> Any:
    """A random number of a data type; 0 or 1 for bool."""
    return numbers(draw, (), dtype).item() + 0


@st.composite
def fills(draw: Draw) -> Sample:
    dtype = draw(st.sampled_from(ALL))
    return Sample([], {"fill_value": _value(draw, dtype), "shape": draw(SHAPES), "dtype": dtype})


@st.composite
def ranges(draw: Draw) -> Sample:
    dtype = draw(st.sampled_from((*FLOATS, *SIGNED)))
    low, high = (_value(draw, dtype) for _ in range(2))
    step = draw(st.sampled_from((1, 2, 3, -1, -2, *((0.5, -0.25, 0.1) if dtype in FLOATS else ()))))
    attributes = draw(
        st.sampled_from(({"start": low}, {"start": low, "stop": high}, {"start": low, "stop": high, "step": step}))
    )
    return Sample([], {**attributes, "dtype": dtype})


@st.composite
def diagonals(draw: Draw) -> Sample:
    size = st.integers(0, 5)
    attributes = {"rows": draw(size), "columns": draw(st.one_of(st.none(), size)), "k": draw(st.integers(-6, 6))}
    return Sample([], {**attributes, "dtype": draw(st.sampled_from(ALL))})


@st.composite
def triangles(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES.filter(lambda shape: len(shape) > 1)), draw(st.sampled_from(ALL)))
    data = np.where(data == 0, np.asarray(np.nan, data.dtype), data) if data.dtype.kind == "f" else data
    return Sample([infinities(draw, data)], {"k": draw(st.integers(-8, 8)), "upper": draw(st.booleans())})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "full": fills(),
    **dict.fromkeys(
        ("zeros", "ones"),
        st.builds(lambda shape, dtype: Sample([], {"shape": shape, "dtype": dtype}), SHAPES, st.sampled_from(ALL)),
    ),
    "full_like": tensor_samples(lambda draw, data: {"fill_value": _value(draw, data.dtype.name)}),
    **dict.fromkeys(("zeros_like", "ones_like"), tensor_samples(lambda draw, data: {})),
    "arange": ranges(),
    "eye": diagonals(),
    "trilu": triangles(),
    "nn.batch_flatten": tensor_samples(lambda draw, data: {}, rank=1, dtypes=NUMBERS),
}
