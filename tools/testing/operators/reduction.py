"""Samples of reductions along axes."""

from __future__ import annotations

from hypothesis import strategies as st

from .sampling import FLOATS, Sample, along_axes

SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "sum": along_axes(),
    **dict.fromkeys(("max", "min"), st.one_of(along_axes(), along_axes(FLOATS, infinite=True))),
    "prod": along_axes(bound=1),
    **dict.fromkeys(("all", "any"), along_axes(("bool",))),
    "mean": along_axes(),
    "variance": along_axes(FLOATS, unbiased=st.booleans()),
    **dict.fromkeys(
        ("argmax", "argmin"),
        st.one_of(
            along_axes(select_last_index=st.booleans()),
            along_axes(FLOATS, infinite=True, select_last_index=st.booleans()),
        ),
    ),
}
