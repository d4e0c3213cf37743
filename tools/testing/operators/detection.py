"""Samples of operators of networks that detect objects."""

from __future__ import annotations

from hypothesis import strategies as st

from .sampling import FLOATS, Draw, Sample, numbers


@st.composite
def anchors(draw: Draw) -> Sample:
    """Images of which the extents alone matter, and boxes inside and at the border."""
    data = numbers(
        draw, (draw(st.integers(0, 2)), 1, *(draw(st.integers(1, 4)) for _ in range(2))), draw(st.sampled_from(FLOATS))
    )
    parts = st.sampled_from((0.25, 0.5, 1.0, 2.0))
    attributes = {
        "sizes": draw(st.lists(parts, min_size=1, max_size=3)),
        "ratios": draw(st.lists(parts, min_size=1, max_size=3)),
        "steps": draw(st.sampled_from(((-1.0, -1.0), (0.5, 0.25), (-1.0, 0.5)))),
        "offsets": draw(st.sampled_from(((0.5, 0.5), (0.0, 0.25)))),
        "clip": draw(st.booleans()),
    }
    return Sample([data], attributes)


@st.composite
def deep_images(draw: Draw) -> Sample:
    """Images whose extents a stride divides."""
    stride = draw(st.integers(1, 3))
    shape = (draw(st.integers(0, 2)), *(n * draw(st.integers(1, 2)) for n in (stride**2, stride, stride)))
    return Sample([numbers(draw, shape, draw(st.sampled_from((*FLOATS, "int8"))))], {"stride": stride})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "vision.multibox_prior": anchors(),
    "vision.yolo_reorg": deep_images(),
}
