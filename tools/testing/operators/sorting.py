"""Samples of operators that sort elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .sampling import INTEGERS, NUMBERS, SHAPES, SIGNED, Draw, Sample, any_axis, infinities, numbers

PLACES = st.sampled_from((*SIGNED, "float32"))


@st.composite
def sort_samples(draw: Draw, *more: str) -> Sample:
    """A tensor with equal elements, infinities and NaN, and the attributes of a sort. more: names of other
    attributes."""
    data = numbers(draw, draw(SHAPES.filter(bool)), draw(st.sampled_from(NUMBERS)), -2, 2)
    if data.dtype.kind == "f" and draw(st.booleans()):
        data = infinities(draw, data)
        data = np.where(np.abs(data) < draw(st.integers(0, 2)), np.nan, data).astype(data.dtype)
    axis = any_axis(draw, data.ndim)
    attributes: dict[str, Any] = {"axis": axis, "is_ascend": draw(st.booleans())}
    choices: dict[str, st.SearchStrategy[Any]] = {
        "dtype": PLACES,
        "k": st.integers(0, data.shape[axis]),
        "ret_type": st.sampled_from(("both", "values", "indices")),
    }
    return Sample([data], attributes | {name: draw(choices[name]) for name in more})


@st.composite
def searches(draw: Draw) -> Sample:
    """Sorted sequences, and values equal to their elements and between them."""
    dtype = draw(st.sampled_from((*INTEGERS, "float32", "float16")))
    values = numbers(draw, draw(SHAPES), dtype, -4, 4)
    rows = values.shape[:-1] if values.ndim and draw(st.booleans()) else ()
    sequence = np.sort(numbers(draw, (*rows, draw(st.integers(0, 9))), dtype, -4, 4), -1)
    if dtype.startswith("f") and draw(st.booleans()):
        sequence[..., 5:], values = np.nan, np.where(values == 0, np.nan, values).astype(dtype)
    return Sample([sequence, values], {"right": draw(st.booleans()), "dtype": draw(PLACES)})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "sort": sort_samples(),
    "argsort": sort_samples("dtype"),
    "topk": sort_samples("k", "ret_type", "dtype"),
    "searchsorted": searches(),
}
