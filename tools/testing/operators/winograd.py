"""Samples of convolutions by Winograd's algorithm."""

from __future__ import annotations

from hypothesis import strategies as st

from ....operators.layouts import transform_array
from ....operators.winograd import LANES
from .sampling import Draw, Sample, any_padding, numbers

CHANNELS = st.sampled_from((1, 2, 3, 5, 16, 17))


@st.composite
def winograd_weights(draw: Draw) -> Sample:
    """Weights of 3 by 3."""
    weight = numbers(draw, (draw(CHANNELS), draw(CHANNELS), 3, 3), draw(st.sampled_from(("float32", "float64"))))
    return Sample([weight], {"tile_size": draw(st.sampled_from((2, 4)))})


@st.composite
def winograd_convolutions(draw: Draw) -> Sample:
    """Images of at least one window, and any transformed weights."""
    dtype, tile = draw(st.sampled_from(("float32", "float64"))), draw(st.sampled_from((2, 4)))
    channels, inputs = draw(CHANNELS), draw(CHANNELS)
    shape = [draw(st.integers(0, 3)), inputs, *(draw(st.integers(3, 11)) for _ in range(2))]
    weight = (tile + 2, tile + 2, -(-channels // LANES), inputs, LANES)
    data = numbers(draw, shape, dtype, -4, 4)
    layout, out = (draw(st.sampled_from(("NCHW",) if n % LANES else ("NCHW", "NCHW16c"))) for n in (inputs, channels))
    data = transform_array(data, "NCHW", layout)
    attributes = {"channels": channels, "tile_size": tile, "padding": any_padding(draw, 2, 2), "data_layout": layout}
    attributes["out_layout"] = draw(st.sampled_from(("", out))) if layout == out else out
    return Sample([data, numbers(draw, weight, dtype, -2, 2)], attributes)


@st.composite
def plain_convolutions(draw: Draw) -> Sample:
    """As `winograd_convolutions`, with weights without blocks."""
    dtype, tile = draw(st.sampled_from(("float32", "float64"))), draw(st.sampled_from((2, 4)))
    channels, inputs = draw(CHANNELS), draw(CHANNELS)
    shape = [draw(st.integers(0, 3)), inputs, *(draw(st.integers(3, 11)) for _ in range(2))]
    weight = numbers(draw, (tile + 2, tile + 2, channels, inputs), dtype, -2, 2)
    attributes = {
        "tile_size": tile,
        "padding": any_padding(draw, 2, 2),
        "kernel_size": draw(st.sampled_from((3, None))),
    }
    attributes["channels"] = draw(st.sampled_from((channels, None)))
    return Sample([numbers(draw, shape, dtype, -4, 4), weight], attributes)


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "nn.contrib_conv2d_winograd_weight_transform": winograd_weights(),
    "nn.contrib_conv2d_winograd_without_weight_transform": plain_convolutions(),
    "nn.conv2d_winograd": winograd_convolutions(),
    "nn.conv2d_winograd_weight_transform": winograd_weights(),
}
