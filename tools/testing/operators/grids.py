"""Samples of operators that read images at the coordinates of a grid, and of operators that compute grids."""

from __future__ import annotations

from hypothesis import strategies as st

from .sampling import FLOATS, Draw, Sample, any_layout, change_layout, numbers


@st.composite
def grid_samples(draw: Draw) -> Sample:
    """An image or a volume, and coordinates inside, at the border and outside."""
    rank = draw(st.integers(2, 3))
    image, dtype = "DHW"[3 - rank :], draw(st.sampled_from(FLOATS))
    batch, extents = draw(st.integers(0, 2)), [draw(st.integers(1, 4)) for _ in range(rank)]
    layout = any_layout(draw, f"NC{image}")
    data = numbers(draw, (batch, draw(st.integers(1, 2)), *extents), dtype)
    grid = numbers(draw, (batch, rank, *(draw(st.integers(1, 4)) for _ in range(rank))), dtype, -2, 2)
    attributes = {"layout": layout, "padding_mode": draw(st.sampled_from(("zeros", "border", "reflection")))}
    attributes["method"] = draw(st.sampled_from(("nearest", "bilinear", "bicubic")[: 3 if rank == 2 else 2]))
    attributes["align_corners"] = draw(st.booleans())
    return Sample([change_layout(data, f"NC{image}", layout), grid], attributes)


@st.composite
def affine_grids(draw: Draw) -> Sample:
    data = numbers(draw, (draw(st.integers(0, 2)), 2, 3), draw(st.sampled_from(FLOATS)))
    shape = [draw(st.integers(1, 7)) for _ in range(2)]
    return Sample([data], {"target_shape": shape, "align_corners": draw(st.booleans())})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "image.grid_sample": grid_samples(),
    "image.affine_grid": affine_grids(),
}
