"""Operators on windows of images."""

from __future__ import annotations

from hypothesis import strategies as st

from .sampling import FLOATS, Draw, Sample, any_layout, any_padding, arranged, infinities, numbers


@st.composite
def images(draw: Draw) -> Sample:
    layout = any_layout(draw, "NCHW")
    shape = [draw(st.integers(1, 4)) for _ in layout]
    return Sample([numbers(draw, shape, draw(st.sampled_from(FLOATS)))], {"layout": layout})


@st.composite
def convolutions(draw: Draw, rank: int) -> Sample:
    """An image, and weights for windows that go into it."""
    image, dtype = "DHW"[3 - rank :], draw(st.sampled_from(("float32", "float64", "int8")))
    groups, inner, outer = draw(st.sampled_from((1, 1, 2, 3))), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    sizes = [draw(st.integers(1, 3)) for _ in range(rank)]
    far = draw(st.integers(1, 2))
    extents = [far * (size - 1) + 1 + draw(st.integers(0, 4)) for size in sizes]
    layout, kernel = any_layout(draw, f"NC{image}"), any_layout(draw, f"OI{image}")
    data = numbers(draw, (draw(st.integers(0, 2)), groups * inner, *extents), dtype, -4, 4)
    weight = numbers(draw, (groups * outer, inner, *sizes), dtype, -4, 4)
    strides = draw(st.one_of(st.integers(1, 3), st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    said = {"strides": strides, "padding": any_padding(draw, rank, 2), "dilation": far, "groups": groups}
    said |= {"data_layout": layout, "kernel_layout": kernel, "out_dtype": "int32" if dtype == "int8" else ""}
    return Sample([arranged(data, f"NC{image}", layout), arranged(weight, f"OI{image}", kernel)], said)


@st.composite
def pools(draw: Draw, rank: int, mean: bool) -> Sample:
    image, dtype = "DHW"[3 - rank :], draw(st.sampled_from((*FLOATS, "int32", "uint8")))
    sizes = [draw(st.integers(1, 3)) for _ in range(rank)]
    far = draw(st.integers(1, 2))
    extents = [far * (size - 1) + 1 + draw(st.integers(0, 4)) for size in sizes]
    layout = any_layout(draw, f"NC{image}")
    data = numbers(draw, (draw(st.integers(1, 2)), draw(st.integers(1, 2)), *extents), dtype)
    strides = draw(st.one_of(st.integers(1, 3), st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    said = {
        "pool_size": sizes,
        "strides": strides,
        "dilation": far,
        "padding": any_padding(draw, rank, min(sizes) // 2),
    }
    said |= {"layout": layout, "ceil_mode": draw(st.booleans())}
    if mean:
        said["count_include_pad"] = draw(st.booleans())
    elif draw(st.booleans()):
        data = infinities(draw, data)
    return Sample([arranged(data, f"NC{image}", layout)], said)


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    **{f"nn.conv{rank}d": convolutions(rank) for rank in (1, 2, 3)},
    **{f"nn.{kind}_pool{rank}d": pools(rank, kind == "avg") for kind in ("max", "avg") for rank in (1, 2, 3)},
    **dict.fromkeys(("nn.global_max_pool2d", "nn.global_avg_pool2d"), images()),
}
