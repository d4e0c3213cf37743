"""The correlation of images.

The operator is that of A. Dosovitskiy et al., FlowNet: Learning Optical Flow with Convolutional Networks, ICCV 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ..core.dtypes import wide_dtype as wide_numpy_dtype
from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast, const
from ..expressions.tensor import Tensor, compute, is_same_extent
from .definition import Pattern, operator
from .extents import Extent, known_extent
from .requirements import require_floats, wide_dtype
from .windows import Window, pad_with_value, paddings

Array = Any


def _counts(extents: Sequence[Extent], around: Sequence[tuple[int, int]], border: int, stride: int) -> list[Extent]:
    """The numbers of windows along height and width. border: the elements between a centre of windows and the edge."""
    return [(n + sum(pair) - 2 * border + stride - 1) // stride for n, pair in zip(extents, around, strict=True)]


def _reference(
    data1: Array, data2: Array, kernel_size: int, max_displacement: int, stride1: int, stride2: int, padding: Window,
    is_multiply: bool,
) -> Array:  # fmt: skip
    around, kind = paddings(padding, 2, "nn.correlation"), wide_numpy_dtype(data1.dtype)
    x, y = (np.pad(each, [(0, 0), (0, 0), *around]).astype(kind) for each in (data1, data2))
    radius, border = max_displacement // stride2, max_displacement + kernel_size // 2
    rows, columns = _counts(data1.shape[2:], around, border, stride1)
    result = np.zeros((len(x), (2 * radius + 1) ** 2, rows, columns), kind)
    shifts = list(product(range(-radius, radius + 1), repeat=2))
    for (i, j), (channel, (down, along)) in product(np.ndindex(rows, columns), enumerate(shifts)):
        top, left = i * stride1 + max_displacement, j * stride1 + max_displacement
        below, right = top + down * stride2, left + along * stride2
        a = x[:, :, top : top + kernel_size, left : left + kernel_size]
        b = y[:, :, below : below + kernel_size, right : right + kernel_size]
        result[:, channel, i, j] = (a * b if is_multiply else np.abs(a - b)).sum((1, 2, 3))
    return (result / max(kernel_size**2 * data1.shape[1], 1)).astype(data1.dtype)


@operator("nn.correlation", Pattern.OUT_FUSABLE, _reference)
def correlation(
    data1: Tensor,
    data2: Tensor,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    padding: Window = 0,
    is_multiply: bool = True,
    layout: str = "NCHW",
) -> Tensor:
    """The means of the products of windows of an image with windows of another one that are displaced.

    kernel_size: of the windows, an odd number.  max_displacement: the greatest displacement.  stride1: between windows.
    stride2: between displacements, which are the channels of the result, row by row.  padding: of both images, as of
    `nn.conv2d`.  is_multiply: whether the means are of products; else they are of absolute differences.  layout: NCHW.
    """
    name = "nn.correlation"
    around = paddings(padding, 2, name)
    _require_images(name, data1, data2, layout)
    if kernel_size < 1 or kernel_size % 2 == 0:
        raise TeError(f"{name}: kernel_size {kernel_size}, expected an odd number")
    if max_displacement < 0 or stride1 < 1 or stride2 < 1:
        given = f"max_displacement {max_displacement}, stride1 {stride1}, stride2 {stride2}"
        raise TeError(f"{name}: {given}, expected a displacement from 0 on, and strides from 1 on")
    radius, border = max_displacement // stride2, max_displacement + kernel_size // 2
    counts = _counts(data1.shape[2:], around, border, stride1)
    if any((known := known_extent(count)) is not None and known < 1 for count in counts):
        window = f"a window of {kernel_size} displaced by {max_displacement}"
        raise TeError(f"{name}: {window} is larger than the image {list(data1.shape)}, padded by {around}")
    kind, width, channels = wide_dtype(data1), 2 * radius + 1, data1.shape[1]
    pads: dict[int, tuple[int, int]] = dict(enumerate(around, 2))
    first, second = (pad_with_value(each, pads, const(0, data1.dtype), f"{each.name}_pad") for each in (data1, data2))
    axes = [reduce_axis((0, n), axis) for n, axis in ((channels, "rc"), (kernel_size, "ry"), (kernel_size, "rx"))]
    channel, dy, dx = (axis.var for axis in axes)

    def total(n: PrimExpr, q: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        y, x = i * stride1 + max_displacement, j * stride1 + max_displacement
        down, along = (q // width - radius) * stride2, (q % width - radius) * stride2
        a = cast(kind, first(n, channel, y + dy, x + dx))
        b = cast(kind, second(n, channel, y + down + dy, x + along + dx))
        return scalar.sum(a * b if is_multiply else scalar.abs(a - b), axis=axes)

    sums = compute((data1.shape[0], width * width, *counts), total, "correlation", "correlation_nchw")
    size = const(kernel_size**2, kind) * cast(kind, scalar.max(channels, 1))
    return compute(sums.shape, lambda *at: cast(data1.dtype, sums(*at) / size), "correlation_mean", "elemwise")


def _require_images(name: str, data1: Tensor, data2: Tensor, layout: str) -> None:
    """TeError unless the operands are images of one shape and one type of floats, in the layout NCHW."""
    require_floats(data1, f"{name}: data1")
    ranks = [data1.ndim, data2.ndim]
    if ranks != [4, 4] or data1.dtype != data2.dtype or not all(map(is_same_extent, data1.shape, data2.shape)):
        images = " and ".join(f"{list(each.shape)} of {each.dtype}" for each in (data1, data2))
        raise TeError(f"{name}: images of shapes {images}, expected equal ones of 4 dimensions")
    if layout != "NCHW":
        raise TeError(f"{name}: layout {layout!r}, expected 'NCHW'")
