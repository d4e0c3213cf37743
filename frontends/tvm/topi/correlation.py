"""The correlation of images, of FlowNet: `tvm.topi.nn.correlation_nchw`.

The operator is that of A. Dosovitskiy et al., FlowNet: Learning Optical Flow with Convolutional Networks, ICCV 2015.
"""

from __future__ import annotations

from ....expressions import functions as scalar
from ....expressions.axes import reduce_axis
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, const
from ....expressions.tensor import Tensor, compute, is_same_extent
from ....operators.padding import pad_tensor
from ....operators.windows import Window
from .utils import get_pad_tuple


def correlation_nchw(
    data1: Tensor, data2: Tensor, kernel_size: int, max_displacement: int, stride1: int, stride2: int, padding: Window,
    is_multiply: bool,
) -> Tensor:  # fmt: skip
    """The means of the products of windows of an image with windows of another one that are displaced.

    kernel_size: of the windows, an odd number.  max_displacement: the greatest displacement.  stride1: between windows.
    stride2: between displacements, which are the channels of the result, row by row.  padding: of both images.
    is_multiply: whether the means are of products; else they are of absolute differences. TeError for images of
    different shapes, and for an even size.
    """
    if data1.ndim != 4 or not all(map(is_same_extent, data1.shape, data2.shape)):
        raise TeError(f"correlation_nchw: images of shapes {list(data1.shape)} and {list(data2.shape)}, expected equal")
    if kernel_size < 1 or kernel_size % 2 == 0:
        raise TeError(f"correlation_nchw: kernel_size {kernel_size}, expected an odd number")
    top, left, bottom, right = get_pad_tuple(padding, (kernel_size, kernel_size))
    around = [(0, 0), (0, 0), (top, bottom), (left, right)]
    first, second = (pad_tensor(each, around, 0, "constant", f"{each.name}_pad") for each in (data1, data2))
    radius, border = max_displacement // stride2, max_displacement + kernel_size // 2
    width, channels = 2 * radius + 1, data1.shape[1]
    axes = [reduce_axis((0, n), name) for n, name in ((channels, "rc"), (kernel_size, "ry"), (kernel_size, "rx"))]
    channel, dy, dx = (axis.var for axis in axes)

    def total(n: PrimExpr, q: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        y, x = i * stride1 + max_displacement, j * stride1 + max_displacement
        down, along = (q // width - radius) * stride2, (q % width - radius) * stride2
        a, b = first(n, channel, y + dy, x + dx), second(n, channel, y + down + dy, x + along + dx)
        return scalar.sum(a * b if is_multiply else scalar.abs(a - b), axis=axes)

    counts = [(first.shape[d] - 2 * border + stride1 - 1) // stride1 for d in (2, 3)]
    sums = compute((data1.shape[0], width * width, *counts), total, "correlation", "correlation_nchw")
    size = const(kernel_size**2, data1.dtype) * scalar.cast(data1.dtype, channels)
    return compute(sums.shape, lambda *at: sums(*at) / size, "correlation_mean", "elemwise")


__all__ = ["correlation_nchw"]
