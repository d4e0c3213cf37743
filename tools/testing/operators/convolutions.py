"""Samples of convolutions and transposed convolutions."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ....core.byte_products import GROUP
from ....operators import OPERATORS
from ....operators.layouts import transform_array
from ....operators.nn import pack_bytes
from .sampling import Draw, Sample, any_layout, any_padding, change_layout, numbers


@st.composite
def convolutions(draw: Draw, rank: int, transposed: bool = False) -> Sample:
    """An image, and weights whose window fits into it."""
    image, dtype = "DHW"[3 - rank :], draw(st.sampled_from(("float32", "float64", "int8")))
    groups, inner, outer = draw(st.sampled_from((1, 1, 2, 3))), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    sizes, strides = ([draw(st.integers(1, 3)) for _ in range(rank)] for _ in range(2))
    far = draw(st.integers(1, 3 if transposed else 2))
    spread = [far * (size - 1) + 1 for size in sizes]
    shortest = [max(1, 6 - size) for size in spread] if transposed else spread
    extents = [n + draw(st.integers(0, 4)) for n in shortest]
    layout, kernel = any_layout(draw, f"NC{image}"), any_layout(draw, f"OI{image}")
    out = draw(st.sampled_from(("", any_layout(draw, f"NC{image}"))))
    data = numbers(draw, (draw(st.integers(0, 2)), groups * inner, *extents), dtype, -4, 4)
    features = (outer, groups * inner) if transposed else (groups * outer, inner)
    weight = numbers(draw, (*features, *sizes), dtype, -4, 4)
    if not transposed and inner == 1 and draw(st.booleans()):  # the depthwise weight of TVM
        weight = weight.reshape(groups, outer, *sizes)
    attributes = {"strides": draw(st.sampled_from((strides, strides[0]))), "padding": any_padding(draw, rank, 2)}
    attributes |= {"dilation": far, "groups": groups, "out_dtype": "int32" if dtype == "int8" else ""}
    attributes |= {"data_layout": layout, "kernel_layout": kernel, "out_layout": out}
    if transposed:
        attributes["output_padding"] = draw(st.integers(0, 2))
    if draw(st.booleans()):
        attributes |= {"channels": groups * outer, "kernel_size": sizes}
    return Sample([change_layout(data, f"NC{image}", layout), change_layout(weight, f"OI{image}", kernel)], attributes)


@st.composite
def weight_gradients(draw: Draw) -> Sample:
    """The gradient of a convolution, and its image."""
    dtype = draw(st.sampled_from(("float32", "float64", "int8")))
    groups, inner, outer = draw(st.sampled_from((1, 1, 2, 3))), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    sizes, strides = ([draw(st.integers(1, 3)) for _ in range(2)] for _ in range(2))
    far, batch, padding = draw(st.integers(1, 2)), draw(st.integers(0, 2)), any_padding(draw, 2, 2)
    extents = [far * (size - 1) + 1 + draw(st.integers(0, 4)) for size in sizes]
    data = numbers(draw, (batch, groups * inner, *extents), dtype, -4, 4)
    windows = {"strides": draw(st.sampled_from((strides, strides[0]))), "padding": padding, "dilation": far}
    weight = np.zeros((groups * outer, inner, *sizes), dtype)
    result = OPERATORS["nn.conv2d"].reference(data, weight, **windows, groups=groups)
    grad = numbers(draw, result.shape, dtype, -4, 4)
    grads, images, kernel = (any_layout(draw, letters) for letters in ("NCHW", "NCHW", "OIHW"))
    attributes = {**windows, "groups": groups, "kernel_size": sizes, "out_dtype": "int32" if dtype == "int8" else ""}
    attributes |= {"grad_layout": grads, "data_layout": images, "kernel_layout": kernel}
    if draw(st.booleans()):
        attributes["channels"] = groups * outer
    return Sample([change_layout(grad, "NCHW", grads), change_layout(data, "NCHW", images)], attributes)


@st.composite
def packed_convolutions(draw: Draw, depthwise: bool = False) -> Sample:
    """A convolution with weights in blocks of output channels, the last of which may be filled; blocks of groups of
    channels, and those of images, are whole. depthwise: whether each channel has a window of its own."""
    lanes, channels, inner = draw(st.sampled_from((1, 2, 4))), draw(st.integers(1, 6)), draw(st.integers(1, 3))
    groups = 1 if depthwise else draw(st.integers(1, 3))
    if groups > 1:
        channels = groups * lanes * draw(st.integers(1, 2))
    reads = draw(st.booleans())
    writes = draw(st.booleans()) and (reads or not depthwise)
    channels, inner = (-(-n // lanes) * lanes if blocks else n for n, blocks in ((channels, writes), (inner, reads)))
    inner, inputs = (1, channels) if depthwise else (inner, groups * inner)
    sizes, strides = ([draw(st.integers(1, 3)) for _ in range(2)] for _ in range(2))
    far, dtype = draw(st.integers(1, 2)), draw(st.sampled_from(("float32", "float64")))
    extents = [far * (size - 1) + 1 + draw(st.integers(0, 4)) for size in sizes]
    data = numbers(draw, (draw(st.integers(0, 2)), inputs, *extents), dtype, -4, 4)
    weight = numbers(draw, (channels, inner, *sizes), dtype, -4, 4)
    padded = np.pad(weight, [(0, -channels % lanes), *[(0, 0)] * 3])
    blocks = np.moveaxis(padded.reshape(len(padded) // lanes, lanes, inner, *sizes), 1, -1)
    attributes = {"strides": strides, "padding": any_padding(draw, 2, 2), "dilation": far}
    attributes |= {"channels": channels, "weight_layout": f"OIHW{lanes}o"}
    attributes |= {} if depthwise else {"groups": groups}
    layouts = [f"NCHW{lanes}c" if blocks else "NCHW" for blocks in (reads, writes)]
    out = draw(st.sampled_from(("", layouts[1]))) if reads == writes else layouts[1]
    attributes |= {"data_layout": layouts[0], "out_layout": out}
    return Sample([transform_array(data, "NCHW", layouts[0]), np.ascontiguousarray(blocks)], attributes)


@st.composite
def packed_byte_convolutions(draw: Draw) -> Sample:
    """A convolution of bytes with weights in blocks of channels, the last of which may be filled."""
    lanes, channels, inputs = draw(st.sampled_from((1, 2, 4))), draw(st.integers(1, 6)), draw(st.integers(1, 6))
    sizes, strides = ([draw(st.integers(1, 3)) for _ in range(2)] for _ in range(2))
    far = draw(st.integers(1, 2))
    extents = [far * (size - 1) + 1 + draw(st.integers(0, 4)) for size in sizes]
    data = numbers(draw, (draw(st.integers(0, 2)), inputs, *extents), "uint8", 0, 255)
    weight = pack_bytes(numbers(draw, (channels, inputs, *sizes), "int8", -128, 127), lanes)
    attributes = {"strides": strides, "padding": any_padding(draw, 2, 2), "dilation": far, "channels": channels}
    return Sample([data, weight], {**attributes, "pad_value": draw(st.integers(0, 255))})


@st.composite
def depthwise_byte_convolutions(draw: Draw) -> Sample:
    """A convolution of bytes of each channel with one or two windows of its own, whose rows of taps are filled."""
    inputs, each, far = draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    sizes, strides = [draw(st.integers(1, 3)), draw(st.integers(1, 5))], [draw(st.integers(1, 3)) for _ in range(2)]
    extents = [far * (size - 1) + 1 + draw(st.integers(0, 12)) for size in sizes]
    data = numbers(draw, (draw(st.integers(0, 2)), inputs, *extents), "uint8", 0, 255)
    weight = np.pad(numbers(draw, (inputs * each, *sizes), "int8", -128, 127), [(0, 0), (0, 0), (0, -sizes[1] % GROUP)])
    attributes = {"strides": strides, "padding": any_padding(draw, 2, 2), "dilation": far, "kernel_size": sizes}
    return Sample([data, weight], {**attributes, "channels": inputs * each, "pad_value": draw(st.integers(0, 255))})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    **{f"nn.conv{rank}d": convolutions(rank) for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": convolutions(rank, transposed=True) for rank in (1, 2, 3)},
    "nn.conv2d_backward_weight": weight_gradients(),
    "nn.contrib_conv2d_pack": packed_convolutions(),
    "nn.contrib_depthwise_conv2d_pack": packed_convolutions(depthwise=True),
    "nn.contrib_conv2d_pack_int8": packed_byte_convolutions(),
    "nn.contrib_depthwise_conv2d_pack_int8": depthwise_byte_convolutions(),
}
