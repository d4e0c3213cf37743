"""Operators that put elements around a tensor."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .sampling import ALL, SHAPES, Array, Draw, Sample, infinities, numbers


def _widths(draw: Draw, data: Array, repeats: bool, least: int = 0) -> list[tuple[int, int]]:
    """Numbers for each dimension. repeats: whether elements are needed where there is a new one."""
    found: list[tuple[int, int]] = []
    for extent in data.shape:
        front = draw(st.integers(max(least, -extent), 4))
        behind = draw(st.integers(max(least, -(extent + min(0, front))), 4))
        is_empty = extent + min(0, front) + min(0, behind) == 0
        found.append((min(0, front), min(0, behind)) if repeats and is_empty else (front, behind))
    return found


@st.composite
def paddings(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(ALL)))
    if draw(st.booleans()):
        data = infinities(draw, data)
    mode = draw(st.sampled_from(("constant", "edge", "reflect", "wrap")))
    said: dict[str, Any] = {"pad_width": _widths(draw, data, mode != "constant", -3), "pad_mode": mode}
    values = (0, 1, 0.5, -1, float("-inf")) if data.dtype.kind == "f" else (0, 1)
    return Sample([data], said | {"pad_value": draw(st.sampled_from(values))})


@st.composite
def mirrors(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(ALL)))
    widths = _widths(draw, data, True)
    return Sample([data], {"pad_width": widths, "mode": draw(st.sampled_from(("SYMMETRIC", "REFLECT")))})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {"nn.pad": paddings(), "nn.mirror_pad": mirrors()}
