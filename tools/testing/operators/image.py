"""Samples of operators that resize images."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .sampling import ALL, FLOATS, Draw, Sample, any_layout, change_layout, numbers

MODES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
    "half_pixel_symmetric",
)


@st.composite
def resizes(draw: Draw, rank: int) -> Sample:
    """An image, and a random resize of it."""
    image, method = "DHW"[3 - rank :], draw(st.sampled_from(("nearest_neighbor", "linear", "cubic")))
    # An interpolated value may lie half way between two integers, where a rounding error decides the result.
    dtype = draw(st.sampled_from(ALL if method == "nearest_neighbor" else FLOATS))
    extents, sizes = ([draw(st.integers(1, 7)) for _ in range(rank)] for _ in range(2))
    layout, mode = any_layout(draw, f"NC{image}"), draw(st.sampled_from(MODES))
    data = numbers(draw, (draw(st.integers(0, 2)), draw(st.integers(1, 2)), *extents), dtype)
    attributes: dict[str, Any] = {"size": sizes, "layout": layout, "method": method}
    attributes["coordinate_transformation_mode"] = mode
    attributes["rounding_method"] = draw(
        st.sampled_from(("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"))
    )
    if method == "cubic":
        attributes |= {"cubic_alpha": draw(st.sampled_from((-0.75, -0.5))), "cubic_exclude": draw(st.integers(0, 1))}
    if mode == "tf_crop_and_resize":
        ends = st.sampled_from((-0.25, 0.0, 0.125, 0.5, 1.0, 1.5))
        attributes["roi"] = draw(st.lists(ends, min_size=2 * rank, max_size=2 * rank))
        attributes["extrapolation_value"] = draw(st.sampled_from((0.0, 1.0)))
    elif draw(st.booleans()):
        scale = st.sampled_from((0.5, 0.75, 1.0, 1.25, 2.0, 2.75))
        attributes["scales"] = draw(st.lists(scale, min_size=rank, max_size=rank))
    return Sample([change_layout(data, f"NC{image}", layout)], attributes)


@st.composite
def upsamplings(draw: Draw, rank: int) -> Sample:
    """An image, and the scale of each dimension."""
    image, methods = "DHW"[3 - rank :], ("nearest_neighbor", "bilinear", "bicubic")
    method = draw(st.sampled_from(methods if rank == 2 else ("nearest_neighbor", "trilinear")))
    layout = any_layout(draw, f"NC{image}")
    shape = [draw(st.integers(0, 2)), draw(st.integers(1, 2)), *(draw(st.integers(1, 5)) for _ in image)]
    data = numbers(draw, shape, draw(st.sampled_from((*FLOATS, "uint8") if method == "nearest_neighbor" else FLOATS)))
    scales = st.sampled_from(draw(st.sampled_from(((1, 2, 3), (1, 2, 1.5, 2.25, 0.5)))))
    attributes: dict[str, Any] = {f"scale_{letter.lower()}": draw(scales) for letter in image}
    attributes |= {"layout": layout, "method": method}
    if rank == 2:
        attributes["align_corners"] = draw(st.booleans())
    else:
        attributes["coordinate_transformation_mode"] = draw(
            st.sampled_from(("half_pixel", "align_corners", "asymmetric"))
        )
    return Sample([change_layout(data, f"NC{image}", layout)], attributes)


@st.composite
def blocks(draw: Draw, deep: bool) -> Sample:
    """An image whose channels (`deep`) or whose extents are divisible by the block size."""
    size, layout = draw(st.integers(1, 3)), any_layout(draw, "NCHW")
    n, c, h, w = (draw(st.sampled_from((0, 1, 2, 3))) for _ in range(4))
    shape = (n, c * size**2, h, w) if deep else (n, c, h * size, w * size)
    attributes = {"block_size": size, "layout": layout}
    if deep:
        attributes["mode"] = draw(st.sampled_from(("DCR", "CRD")))
    return Sample([change_layout(numbers(draw, shape, draw(st.sampled_from(ALL))), "NCHW", layout)], attributes)


@st.composite
def crops(draw: Draw) -> Sample:
    """Images, and parts of them, also reversed ones and such that reach outside."""
    method = draw(st.sampled_from(("bilinear", "nearest_neighbor")))
    dtype = draw(st.sampled_from(ALL if method == "nearest_neighbor" else FLOATS))
    layout, batch, count = any_layout(draw, "NCHW"), draw(st.integers(1, 2)), draw(st.integers(0, 3))
    data = numbers(draw, (batch, draw(st.integers(0, 2)), *(draw(st.integers(1, 5)) for _ in range(2))), dtype)
    corners = st.lists(st.sampled_from((-0.25, 0.0, 0.125, 0.5, 1.0, 1.5)), min_size=4 * count, max_size=4 * count)
    boxes = np.array(draw(corners), draw(st.sampled_from(FLOATS))).reshape(count, 4)
    attributes = {
        "crop_size": draw(st.one_of(st.integers(1, 3), st.lists(st.integers(1, 4), min_size=2, max_size=2))),
        "layout": layout,
        "method": method,
        "extrapolation_value": draw(st.sampled_from((0.0, 1.0))),
    }
    indices = numbers(draw, (count,), draw(st.sampled_from(("int32", "int64"))), -1, batch)
    return Sample([change_layout(data, "NCHW", layout), boxes, indices], attributes)


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "image.crop_and_resize": crops(),
    **{f"image.resize{rank}d": resizes(rank) for rank in (1, 2, 3)},
    "nn.upsampling": upsamplings(2),
    "nn.upsampling3d": upsamplings(3),
    "nn.depth_to_space": blocks(deep=True),
    "nn.space_to_depth": blocks(deep=False),
}
