"""Samples of operators that pad tensors."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .sampling import ALL, SHAPES, Array, Draw, Sample, infinities, numbers


def _widths(draw: Draw, data: Array, repeats: bool, least: int = 0) -> list[tuple[int, int]]:
    """The widths before and after each dimension. repeats: whether the padding copies elements, so that an empty
    dimension cannot be padded."""
    widths: list[tuple[int, int]] = []
    for extent in data.shape:
        before = draw(st.integers(max(least, -extent), 4))
        after = draw(st.integers(max(least, -(extent + min(0, before))), 4))
        is_empty = extent + min(0, before) + min(0, after) == 0
        widths.append((min(0, before), min(0, after)) if repeats and is_empty else (before, after))
    return widths


@st.composite
def padding_pairs(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(ALL)))
    if draw(st.booleans()):
        data = infinities(draw, data)
    mode = draw(st.sampled_from(("constant", "edge", "reflect", "wrap")))
    attributes: dict[str, Any] = {"pad_width": _widths(draw, data, mode != "constant", -3), "pad_mode": mode}
    values = (0, 1, 0.5, -1, float("-inf")) if data.dtype.kind == "f" else (0, 1)
    return Sample([data], attributes | {"pad_value": draw(st.sampled_from(values))})


@st.composite
def mirrors(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(ALL)))
    widths = _widths(draw, data, True)
    return Sample([data], {"pad_width": widths, "mode": draw(st.sampled_from(("SYMMETRIC", "REFLECT")))})


@st.composite
def dilations(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(ALL)))
    strides = [draw(st.integers(1, 3)) for _ in data.shape]
    return Sample([data], {"strides": strides, "dilation_value": draw(st.sampled_from((0, 1)))})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "nn.pad": padding_pairs(),
    "nn.mirror_pad": mirrors(),
    "nn.dilate": dilations(),
}
