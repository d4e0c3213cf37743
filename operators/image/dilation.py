"""Morphological dilation of images."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ...expressions.axes import reduce_axis
from ...expressions.errors import TeError
from ...expressions.expr import PrimExpr, cast, const
from ...expressions.tensor import Tensor, compute, is_same_extent
from .. import reduction
from ..definition import Pattern, operator
from ..windows import Window, each_dimension, layout_axes, pad_with_value, paddings, require_known_extents, window_count

Array = Any

_NAME = "image.dilation2d"


def _dilation_reference(
    data: Array,
    weight: Array,
    strides: Window,
    padding: Window,
    dilations: Window,
    data_layout: str,
    kernel_layout: str,
    out_dtype: str,
) -> Array:
    order, inner = layout_axes(data_layout, "NCHW", _NAME), layout_axes(kernel_layout, "IHW", _NAME)
    kind = out_dtype or data.dtype
    image, taps = data.transpose(order).astype(kind), weight.transpose(inner).astype(kind)
    image = np.pad(image, [(0, 0), (0, 0), *paddings(padding, 2, _NAME)])
    steps, far = each_dimension(strides, 2, _NAME), each_dimension(dilations, 2, _NAME)
    counts = [
        (extent - (size - 1) * d - 1) // s + 1
        for extent, size, s, d in zip(image.shape[2:], taps.shape[1:], steps, far, strict=True)
    ]
    parts = [
        image[
            :, :, *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(at, far, counts, steps, strict=True))
        ]
        + taps[:, *at][:, None, None]
        for at in product(*map(range, taps.shape[1:]))
    ]
    return np.max(parts, 0).transpose(np.argsort(order))


@operator(_NAME, Pattern.OUT_FUSABLE, _dilation_reference)
def dilation2d(
    data: Tensor,
    weight: Tensor,
    strides: Window = 1,
    padding: Window = 0,
    dilations: Window = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "IHW",
    out_dtype: str = "",
) -> Tensor:
    """The greatest sum of an element and a weight in windows of an image: a convolution with maxima of sums.

    weight: a number for each channel and tap of a window.  strides, padding, dilations: as of `nn.conv2d`; padded
    elements are 0.  data_layout, kernel_layout: the order of the axes.  out_dtype: by default the data type of data.
    """
    order, inner = layout_axes(data_layout, "NCHW", _NAME), layout_axes(kernel_layout, "IHW", _NAME)
    if data.ndim != 4 or weight.ndim != 3 or data.data_type.is_bool:
        shapes = f"data of {data.dtype}{list(data.shape)} and weight of shape {list(weight.shape)}"
        raise TeError(f"{_NAME}: {shapes}, expected numbers of 4 and 3 dimensions")
    channels, *sizes = (weight.shape[axis] for axis in inner)
    if not is_same_extent(channels, data.shape[order[1]]):
        raise TeError(f"{_NAME}: weights of {channels} channels, data of {data.shape[order[1]]}")
    taps = require_known_extents(sizes, _NAME)
    if 0 in taps:
        raise TeError(f"{_NAME}: windows of {taps}, expected elements")
    steps, far = each_dimension(strides, 2, f"{_NAME}: strides"), each_dimension(dilations, 2, f"{_NAME}: dilations")
    around = paddings(padding, 2, _NAME)
    kind, spatial = out_dtype or data.dtype, order[2:]
    padded = pad_with_value(data, dict(zip(spatial, around, strict=True)), const(0, data.dtype))
    shape = list(data.shape)
    for axis, size, step, distance, pair in zip(spatial, taps, steps, far, around, strict=True):
        shape[axis] = window_count(data.shape[axis], size, step, distance, pair)
    places = [reduce_axis((0, size), f"r{letter}") for size, letter in zip(taps, "yx", strict=True)]

    def element(*i: PrimExpr) -> PrimExpr:
        at, own = list(i), [i[0]] * 3
        own[inner[0]] = i[order[1]]
        for place, axis, tap, step, distance in zip(places, spatial, inner[1:], steps, far, strict=True):
            at[axis], own[tap] = i[axis] * step + place.var * distance, place.var
        return reduction.max_reducer(cast(kind, padded(*at)) + cast(kind, weight(*own)), axis=places)

    names = [f"ax{d}" for d in range(4)]
    return compute(shape, element, "dilation2d", f"dilation2d_{data_layout.lower()}", varargs_names=names)
