"""Samples of cumulative sums and products."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from .sampling import ALL, NUMBERS, SHAPES, Draw, Sample, any_axis, numbers


@st.composite
def cumulative_samples(draw: Draw, bound: float) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(ALL)), -bound, bound)
    dtype = draw(st.sampled_from(NUMBERS if data.dtype.kind == "b" else ("", "float64", "int32", "uint8")))
    if data.dtype.kind == "f" and dtype.startswith("uint"):
        data = np.abs(data, out=data)
    attributes = {
        "axis": any_axis(draw, data.ndim) if data.ndim and draw(st.booleans()) else None,
        "exclusive": draw(st.booleans()),
        "reverse": draw(st.booleans()),
    }
    return Sample([data], attributes | {"dtype": dtype})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {"cumsum": cumulative_samples(8), "cumprod": cumulative_samples(2)}
