"""Samples of pools."""

from __future__ import annotations

from hypothesis import strategies as st

from ....operators import OPERATORS
from .sampling import FLOATS, Draw, Sample, any_layout, any_padding, change_layout, infinities, numbers


@st.composite
def images(draw: Draw, rank: int) -> Sample:
    layout = any_layout(draw, f"NC{'DHW'[3 - rank :]}")
    shape = [draw(st.integers(1, 4)) for _ in layout]
    return Sample([numbers(draw, shape, draw(st.sampled_from(FLOATS)))], {"layout": layout})


@st.composite
def pools(draw: Draw, rank: int, mean: bool) -> Sample:
    image, dtype = "DHW"[3 - rank :], draw(st.sampled_from((*FLOATS, "int32", "uint8")))
    sizes = [draw(st.integers(1, 3)) for _ in range(rank)]
    far = draw(st.integers(1, 2))
    extents = [far * (size - 1) + 1 + draw(st.integers(0, 4)) for size in sizes]
    layout = any_layout(draw, f"NC{image}")
    data = numbers(draw, (draw(st.integers(1, 2)), draw(st.integers(1, 2)), *extents), dtype)
    strides = draw(st.one_of(st.integers(1, 3), st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    attributes = {
        "pool_size": sizes,
        "strides": strides,
        "dilation": far,
        "padding": any_padding(draw, rank, min(sizes) // 2 if mean else 2),  # windows of padding alone have a maximum
    }
    attributes |= {"layout": layout, "ceil_mode": draw(st.booleans()), "skip_padding": draw(st.booleans())}
    if mean:
        attributes["count_include_pad"] = draw(st.booleans())
    elif draw(st.booleans()):
        data = infinities(draw, data)
    return Sample([change_layout(data, f"NC{image}", layout)], attributes)


@st.composite
def pool_gradients(draw: Draw, mean: bool) -> Sample:
    """The gradient of a pool whose windows are all larger than the padding, and its image."""
    dtype, sizes = draw(st.sampled_from(FLOATS)), [draw(st.integers(1, 4)) for _ in range(2)]
    extents = [size + draw(st.integers(0, 4)) for size in sizes]
    strides = draw(st.one_of(st.integers(1, 3), st.lists(st.integers(1, 3), min_size=2, max_size=2)))
    layout = any_layout(draw, "NCHW")
    attributes = {"pool_size": sizes, "strides": strides, "padding": any_padding(draw, 2, min(sizes) // 2)}
    attributes |= {"layout": layout, "ceil_mode": draw(st.booleans())}
    if mean:
        attributes["count_include_pad"] = draw(st.booleans())
    data = numbers(draw, (draw(st.integers(0, 2)), draw(st.integers(1, 2)), *extents), dtype)
    image = change_layout(data, "NCHW", layout)
    pool = OPERATORS["nn.avg_pool2d" if mean else "nn.max_pool2d"]
    return Sample([numbers(draw, pool.reference(image, **attributes).shape, dtype), image], attributes)


@st.composite
def adaptive_pools(draw: Draw, rank: int) -> Sample:
    """An image, and the number of windows of each dimension."""
    image, dtype = "DHW"[3 - rank :], draw(st.sampled_from((*FLOATS, "int32", "uint8")))
    extents = [draw(st.integers(1, 7)) for _ in range(rank)]
    layout = any_layout(draw, f"NC{image}")
    data = numbers(draw, (draw(st.integers(0, 2)), draw(st.integers(1, 2)), *extents), dtype)
    several = st.lists(st.integers(1, 8), min_size=rank, max_size=rank)
    attributes = {"output_size": draw(st.one_of(st.none(), st.integers(1, 8), several)), "layout": layout}
    return Sample([change_layout(data, f"NC{image}", layout)], attributes)


@st.composite
def dilations(draw: Draw) -> Sample:
    """An image, and weights whose window fits into it."""
    dtype = draw(st.sampled_from(("float32", "float64", "int32", "uint8")))
    sizes, far, channels = [draw(st.integers(1, 3)) for _ in range(2)], draw(st.integers(1, 2)), draw(st.integers(1, 3))
    extents = [far * (size - 1) + 1 + draw(st.integers(0, 4)) for size in sizes]
    layout, kernel = any_layout(draw, "NCHW"), any_layout(draw, "IHW")
    data = numbers(draw, (draw(st.integers(0, 2)), channels, *extents), dtype)
    weight = numbers(draw, (channels, *sizes), dtype)
    attributes = {"strides": draw(st.integers(1, 3)), "padding": any_padding(draw, 2, 2), "dilations": far}
    attributes |= {"data_layout": layout, "kernel_layout": kernel, "out_dtype": draw(st.sampled_from(("", "float64")))}
    return Sample([change_layout(data, "NCHW", layout), change_layout(weight, "IHW", kernel)], attributes)


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "image.dilation2d": dilations(),
    **{f"nn.{kind}_pool{rank}d": pools(rank, kind == "avg") for kind in ("max", "avg") for rank in (1, 2, 3)},
    **{f"nn.{kind}_pool2d_grad": pool_gradients(kind == "avg") for kind in ("max", "avg")},
    **{f"nn.max_pool{rank}d_with_places": pools(rank, False) for rank in (1, 2, 3)},
    **{f"nn.global_{kind}_pool{rank}d": images(rank) for kind in ("max", "avg") for rank in (1, 2, 3)},
    **{f"nn.adaptive_{kind}_pool{rank}d": adaptive_pools(rank) for kind in ("max", "avg") for rank in (1, 2, 3)},
}
