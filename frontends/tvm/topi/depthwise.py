"""Depthwise convolutions of images, with weights in TVM's layouts."""

from __future__ import annotations

from collections.abc import Sequence

from ....expressions.axes import reduce_axis
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, cast
from ....expressions.functions import floordiv, floormod, sum
from ....expressions.tensor import Tensor, compute
from ....operators.padding import pad_tensor
from ....operators.windows import Window, each_dimension
from .utils import get_pad_tuple


def depthwise_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Window,
    padding: Window | str,
    dilation: Window,
    out_dtype: str | None = None,
) -> Tensor:
    """The convolution of each channel of images NCHW. Filter: `[channel, multiplier, height, width]`; the result has
    the channel `channel * multiplier + m` for each of them.
    """
    return _depthwise(Input, Filter, stride, padding, dilation, out_dtype, image=(2, 3), channel=1, weight=(0, 1, 2, 3))


def depthwise_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Window,
    padding: Window | str,
    dilation: Window,
    out_dtype: str | None = None,
) -> Tensor:
    """The convolution of each channel of images NHWC. Filter: `[height, width, channel, multiplier]`."""
    return _depthwise(Input, Filter, stride, padding, dilation, out_dtype, image=(1, 2), channel=3, weight=(2, 3, 0, 1))


def _depthwise(
    data: Tensor, kernel: Tensor, stride: Window, padding: Window | str, dilation: Window, out_dtype: str | None,
    image: Sequence[int], channel: int, weight: Sequence[int],
) -> Tensor:  # fmt: skip
    """image, channel: the dimensions of the data.  weight: those of the kernel: channel, multiplier, height and
    width.
    """
    name = "DepthwiseConv2d"
    if data.ndim != 4 or kernel.ndim != 4:
        raise TeError(f"{name}: data of {data.ndim} and a kernel of {kernel.ndim} dimensions, expected 4 each")
    steps, gaps = each_dimension(stride, 2, "stride"), each_dimension(dilation, 2, "dilation")
    taps = [kernel.shape[weight[2]], kernel.shape[weight[3]]]
    spans = [(tap - 1) * gap + 1 for tap, gap in zip(taps, gaps, strict=True)]
    top, left, down, right = get_pad_tuple(padding, spans)
    widths = [(0, 0)] * 4
    widths[image[0]], widths[image[1]] = (top, down), (left, right)
    padded = pad_tensor(data, widths, 0.0, "constant", "PaddedInput")
    multiplier = kernel.shape[weight[1]]
    shape = list(padded.shape)
    shape[channel] = data.shape[channel] * multiplier
    for dim, step, span in zip(image, steps, spans, strict=True):
        shape[dim] = floordiv(padded.shape[dim] - span, step) + 1
    dtype = out_dtype or data.dtype
    di, dj = (reduce_axis((0, tap), each) for tap, each in zip(taps, ("di", "dj"), strict=True))

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        place, tap = list(axes), [di.var, dj.var]
        place[channel] = floordiv(axes[channel], multiplier)
        for n, dim in enumerate(image):
            place[dim] = axes[dim] * steps[n] + tap[n] * gaps[n]
        indices = [place[channel], floormod(axes[channel], multiplier), di.var, dj.var]
        at: list[PrimExpr] = [indices[weight.index(dim)] for dim in range(4)]
        return sum(cast(dtype, padded(*place)) * cast(dtype, kernel(*at)), axis=[di, dj])

    return compute(shape, fcompute, name, f"depthwise_conv2d_{'nchw' if channel == 1 else 'nhwc'}")
