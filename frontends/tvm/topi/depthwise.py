"""Depthwise convolutions of images, with weights in TVM's layouts."""

from __future__ import annotations

from collections.abc import Sequence

from ....expressions.axes import reduce_axis
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, cast, const
from ....expressions.functions import all, floordiv, floormod, if_then_else, sum
from ....expressions.tensor import Tensor, compute
from ....operators.extents import Extent, known_extent
from ....operators.padding import pad_tensor
from ....operators.windows import Window, each_dimension, require_known_extents
from .utils import get_const_tuple, get_pad_tuple


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


def depthwise_conv2d_backward_input_nhwc(
    Filter: Tensor, Out_grad: Tensor, oshape: Sequence[Extent], ishape: Sequence[Extent], stride: Window,
    padding: Window | str,
) -> Tensor:  # fmt: skip
    """The gradient of `depthwise_conv2d_nhwc` with respect to its image. Out_grad: with respect to its result.
    oshape: ignored, that of `Out_grad`.  ishape: the shape of the image. TeError for other channels than those of the
    weight, and for batches that differ."""
    (down, right), (height, width) = each_dimension(stride, 2, "stride"), get_const_tuple(Filter.shape[:2])
    top, left, _, _ = get_pad_tuple(padding, (height, width))
    channels, multiplier = require_known_extents(Filter.shape[2:], "depthwise_conv2d_backward_input_nhwc")
    given = [known_extent(each[3]) for each in (ishape, Out_grad.shape)]
    if given != [channels, channels * multiplier] or known_extent(ishape[0]) != known_extent(Out_grad.shape[0]):
        expected = f"expected {channels} and {channels * multiplier} channels, and equal batches"
        shapes = f"an image of shape {list(ishape)}, a gradient of shape {list(Out_grad.shape)}"
        raise TeError(f"depthwise_conv2d_backward_input_nhwc: {shapes}, {expected}")
    dh, dw, dc = (reduce_axis((0, n), name) for n, name in ((height, "dh"), (width, "dw"), (multiplier, "dc")))

    def element(b: PrimExpr, y: PrimExpr, x: PrimExpr, c: PrimExpr) -> PrimExpr:
        row, column = y + top - dh.var, x + left - dw.var
        at, conditions = list[PrimExpr](), list[PrimExpr]()
        for place, step, extent in ((row, down, Out_grad.shape[1]), (column, right, Out_grad.shape[2])):
            at.append(floordiv(place, step))
            conditions += [floormod(place, step) == 0, place >= 0, at[-1] < extent]
        product = Out_grad(b, *at, c * multiplier + dc.var) * Filter(dh.var, dw.var, c, dc.var)
        return sum(if_then_else(all(*conditions), product, const(0, product.dtype)), axis=[dh, dw, dc])

    return compute(ishape, element, "In_grad", "depthwise_conv2d_backward_input_nhwc")


def depthwise_conv2d_backward_weight_nhwc(
    Input: Tensor, Out_grad: Tensor, oshape: Sequence[Extent], fshape: Sequence[Extent], stride: Window,
    padding: Window | str,
) -> Tensor:  # fmt: skip
    """The gradient of `depthwise_conv2d_nhwc` with respect to its weight. Out_grad: with respect to its result.
    oshape: ignored, that of `Out_grad`.  fshape: the shape of the weight."""
    down, right = each_dimension(stride, 2, "stride")
    top, left, bottom, after = get_pad_tuple(padding, get_const_tuple(fshape[:2]))
    padded = pad_tensor(Input, [(0, 0), (top, bottom), (left, after), (0, 0)], 0.0, "constant", "padded_in")
    axes = db, dh, dw = [reduce_axis((0, n), f"d{name}") for n, name in zip(Out_grad.shape, "bhw", strict=False)]

    def element(y: PrimExpr, x: PrimExpr, c: PrimExpr, m: PrimExpr) -> PrimExpr:
        pixel = padded(db.var, y + dh.var * down, x + dw.var * right, c)
        return sum(Out_grad(db.var, dh.var, dw.var, c * fshape[3] + m) * pixel, axis=axes)

    return compute(fshape, element, "Weight_grad", "depthwise_conv2d_backward_weight_nhwc")
