"""Samples of operators that read images at computed positions."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from .sampling import FLOATS, Draw, Sample, any_layout, any_padding, change_layout, numbers


@st.composite
def regions(draw: Draw) -> Sample:
    """Images, and regions inside, at the border and outside, empty and reversed ones too."""
    batch, dtype, layout = draw(st.integers(1, 2)), draw(st.sampled_from(FLOATS)), any_layout(draw, "NCHW")
    data = numbers(draw, (batch, draw(st.integers(0, 2)), *(draw(st.integers(1, 5)) for _ in range(2))), dtype)
    rois = numbers(draw, (draw(st.integers(0, 3)), 5), draw(st.sampled_from(FLOATS)))
    rois[:, 0] = numbers(draw, rois.shape[:1], "int32", 0, batch - 1)
    attributes = {
        "pooled_size": draw(st.one_of(st.integers(1, 3), st.lists(st.integers(1, 3), min_size=2, max_size=2))),
        "spatial_scale": draw(st.sampled_from((1.0, 0.5))),
        "sample_ratio": draw(st.integers(1, 3)),
        "layout": layout,
        "mode": draw(st.sampled_from(("avg", "max", "max_tap"))),
        "aligned": draw(st.booleans()),
    }
    return Sample([change_layout(data, "NCHW", layout), rois], attributes)


@st.composite
def pooled_regions(draw: Draw) -> Sample:
    """Images, and regions as of `regions`, for maxima."""
    sample = draw(regions())
    names = ("pooled_size", "spatial_scale", "layout")
    return Sample(sample.operands, {name: sample.attributes[name] for name in names})


@st.composite
def deformed_windows(draw: Draw) -> Sample:
    """Images, and windows that reach over their borders."""
    dtype, groups = draw(st.sampled_from(FLOATS)), draw(st.integers(1, 2))
    sizes, steps, far = ([draw(st.integers(1, 2)) for _ in range(2)] for _ in range(3))
    padding = any_padding(draw, 2, 1)
    extents = [draw(st.integers(3, 5)) for _ in range(2)]
    pads = [padding] * 4 if isinstance(padding, int) else padding * (4 // len(padding))
    counts = [
        (n + pads[d] + pads[d + 2] - (size - 1) * distance - 1) // step + 1
        for d, (n, size, step, distance) in enumerate(zip(extents, sizes, steps, far, strict=True))
    ]
    batch = draw(st.integers(0, 2))
    data = numbers(draw, (batch, groups * draw(st.integers(1, 2)), *extents), dtype)
    offset = numbers(draw, (batch, 2 * prod(sizes) * groups, *counts), draw(st.sampled_from(FLOATS)), -4, 4)
    attributes = {"kernel_size": sizes, "strides": steps, "padding": padding, "dilation": far}
    return Sample([data, offset], {**attributes, "deformable_groups": groups, "inner": draw(st.booleans())})


@st.composite
def deformed_convolutions(draw: Draw) -> Sample:
    """Images, distances and weights, in any layout."""
    sample = draw(deformed_windows())
    data, offset = sample.operands
    sizes, channels = sample.attributes.pop("kernel_size"), data.shape[1]
    del sample.attributes["inner"]
    groups = draw(st.sampled_from([n for n in (1, 2) if channels % n == 0]))
    weight = numbers(draw, (groups * draw(st.integers(1, 2)), channels // groups, *sizes), data.dtype.name, -2, 2)
    layout, kernel = any_layout(draw, "NCHW"), any_layout(draw, "OIHW")
    attributes = {**sample.attributes, "groups": groups, "data_layout": layout, "kernel_layout": kernel}
    images = [change_layout(each, "NCHW", layout) for each in (data, offset)]
    return Sample([*images, change_layout(weight, "OIHW", kernel)], attributes)


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "vision.roi_align": regions(),
    "vision.roi_pool": pooled_regions(),
    "vision.deformable_patches": deformed_windows(),
    "nn.deformable_conv2d": deformed_convolutions(),
}
