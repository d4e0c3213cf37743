"""Samples of correlations of images."""

from __future__ import annotations

from hypothesis import strategies as st

from .sampling import FLOATS, Draw, Sample, any_padding, numbers


@st.composite
def correlations(draw: Draw) -> Sample:
    """Two images into which a window and its displacements fit."""
    dtype, size, most = draw(st.sampled_from(FLOATS)), draw(st.sampled_from((1, 3))), draw(st.integers(0, 2))
    extents = [2 * most + size + draw(st.integers(0, 3)) for _ in range(2)]
    shape = (draw(st.integers(0, 2)), draw(st.integers(1, 3)), *extents)
    images = [numbers(draw, shape, dtype, -4, 4) for _ in range(2)]
    attributes = {"kernel_size": size, "max_displacement": most, "padding": any_padding(draw, 2, 2)}
    attributes |= {name: draw(st.integers(1, 3)) for name in ("stride1", "stride2")}
    return Sample(images, {**attributes, "is_multiply": draw(st.booleans())})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {"nn.correlation": correlations()}
