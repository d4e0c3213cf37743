"""Operators on images and weights in blocks, and gradients of pools."""

from __future__ import annotations

from typing import Any

from ....expressions.axes import reduce_axis
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr
from ....expressions.functions import sum as total
from ....expressions.tensor import Tensor, compute
from ....operators.extents import known_extent
from ....operators.padding import pad_tensor
from ....operators.pools import avg_pool2d, max_pool2d
from ....operators.windows import Window, each_dimension, paddings
from ...te.gradient import gradient
from .utils import get_const_tuple, get_pad_tuple


def conv2d_NCHWc(
    data: Tensor, kernel: Tensor, stride: Window, padding: Any, dilation: Window, layout: str = "NCHWc",
    out_layout: str = "NCHWc", out_dtype: str = "float32",
) -> Tensor:  # fmt: skip
    """The convolution of images whose channels are in blocks, [batch, blocks, height, width, channels of a block].

    kernel: [blocks of the result, blocks, height, width, channels, channels of the result].  layout, out_layout:
    ignored, the blocks follow from the tensors."""
    batch, blocks, height, width, inner = data.shape
    outer, _, taps, columns, _, results = kernel.shape
    down, right = each_dimension(stride, 2, "conv2d_NCHWc")
    far_y, far_x = each_dimension(dilation, 2, "conv2d_NCHWc")
    span_y, span_x = (taps - 1) * far_y + 1, (columns - 1) * far_x + 1
    above, left, below, after = get_pad_tuple(padding, get_const_tuple((span_y, span_x)))
    padded = pad_tensor(data, [(0, 0), (0, 0), (above, below), (left, after), (0, 0)], 0, "constant", "data_pad")
    sizes = {"block": blocks, "dy": taps, "dx": columns, "channel": inner}
    axes = block, dy, dx, channel = [reduce_axis((0, extent), name) for name, extent in sizes.items()]

    def element(n: Any, k: Any, y: Any, x: Any, result: Any) -> PrimExpr:
        pixel = padded[n, block, y * down + dy * far_y, x * right + dx * far_x, channel]
        weight = kernel[k, block, dy, dx, channel, result]
        return total(pixel.astype(out_dtype) * weight.astype(out_dtype), axis=axes)

    rows = (height + above + below - span_y) // down + 1
    places = (width + left + after - span_x) // right + 1
    return compute((batch, outer, rows, places, results), element, "conv2d_NCHWc", "conv2d_NCHWc")


def depthwise_conv2d_NCHWc(
    Input: Tensor, Filter: Tensor, stride: Window, padding: Any, dilation: Window, layout: str = "NCHWc",
    out_layout: str = "NCHWc", out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of each channel of images in blocks of channels, [batch, blocks, height, width, channels of a
    block].

    Filter: [blocks of the result, 1, height, width, 1, channels of the result]; the result has a channel of the image
    once or several times.  layout, out_layout: ignored, the blocks follow from the tensors. TeError for another number
    of channels, and for unknown numbers."""
    inner = Input.shape[4]
    outer, _, taps, columns, _, results = Filter.shape
    channels, outputs = map(known_extent, (Input.shape[1] * inner, outer * results))
    if not channels or outputs is None or outputs < channels or outputs % channels:
        shapes = f"an image of shape {list(Input.shape)}, a filter of shape {list(Filter.shape)}"
        raise TeError(f"depthwise_conv2d_NCHWc: {shapes}, expected a multiple of the channels")
    steps, far = (each_dimension(each, 2, "depthwise_conv2d_NCHWc") for each in (stride, dilation))
    spans = [(size - 1) * gap + 1 for size, gap in zip((taps, columns), far, strict=True)]
    above, left, below, after = get_pad_tuple(padding, get_const_tuple(spans))
    padded = pad_tensor(Input, [(0, 0), (0, 0), (above, below), (left, after), (0, 0)], 0, "constant", "data_pad")
    multiplier = outputs // channels
    axes = dy, dx = [reduce_axis((0, size), name) for size, name in ((taps, "dy"), (columns, "dx"))]
    dtype = out_dtype or Input.dtype

    def element(n: Any, k: Any, y: Any, x: Any, result: Any) -> PrimExpr:
        channel = (k * results + result) // multiplier
        at = y * steps[0] + dy * far[0], x * steps[1] + dx * far[1]
        pixel = padded[n, channel // inner, at[0], at[1], channel % inner]
        return total(pixel.astype(dtype) * Filter[k, 0, dy, dx, 0, result].astype(dtype), axis=axes)

    counts = [(padded.shape[2 + d] - spans[d]) // steps[d] + 1 for d in (0, 1)]
    shape = (Input.shape[0], outer, *counts, results)
    return compute(shape, element, "DepthwiseConv2d", "depthwise_conv2d_NCHWc")


def unpack_NCHWc_to_nchw(packed_out: Tensor, out_dtype: str) -> Tensor:
    """The image NCHW of an image whose channels are in blocks."""
    batch, blocks, height, width, inner = packed_out.shape

    def element(n: Any, c: Any, y: Any, x: Any) -> PrimExpr:
        return packed_out[n, c // inner, y, x, c % inner].astype(out_dtype)

    return compute((batch, blocks * inner, height, width), element, "output_unpack", "injective,unpack_nchwc")


def dense_pack(data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None) -> Tensor:
    """The products of rows with the rows of a weight in blocks, [blocks, summands, rows of a block], and a bias of each
    row of the weight added."""
    blocks, summands, inner = weight.shape
    dtype, k = out_dtype or data.dtype, reduce_axis((0, summands), "k")

    def element(y: Any, x: Any) -> PrimExpr:
        factor = weight[x // inner, k, x % inner]
        return total(data[y, k].astype(dtype) * factor.astype(dtype), axis=k)

    product = compute((data.shape[0], blocks * inner), element, "T_dense_pack", "dense_pack")
    if bias is None:
        return product
    return compute(product.shape, lambda y, x: product[y, x] + bias[x].astype(dtype), "T_add", "broadcast")


def padding_to_ceil(padding: Window, stride: Window, rank: int) -> list[int]:
    """The padding with `stride - 1` elements more after each dimension, as of TVM's pools with `ceil_mode`: a last
    window may begin in the padding, which the operators of graphs leave out."""
    pairs, steps = paddings(padding, rank, "pool"), each_dimension(stride, rank, "pool")
    return [*(before for before, _ in pairs), *(after + n - 1 for (_, after), n in zip(pairs, steps, strict=True))]


def pool(
    data: Tensor, kernel: Window, stride: Window, padding: Window, pool_type: str, ceil_mode: bool = False,
    layout: str = "NCHW", count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The maximum or the mean ("max", "avg") of each window of an image, as of v0.4 to v0.8."""
    if pool_type == "max":
        if ceil_mode:
            padding = padding_to_ceil(padding, stride, 2)
        return max_pool2d(data, kernel, stride, 1, padding, layout)
    return avg_pool2d(data, kernel, stride, 1, padding, layout, ceil_mode, count_include_pad)


def pool_grad(
    grads: Tensor, data: Tensor, kernel: Window, stride: Window, padding: Window, pool_type: str,
    ceil_mode: bool = False, layout: str = "NCHW", count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The gradient of `pool` with respect to its operand. grads: with respect to its result."""
    result = pool(data, kernel, stride, padding, pool_type, ceil_mode, layout, count_include_pad)
    return gradient(result, [data], grads)[0]


__all__ = ["conv2d_NCHWc", "dense_pack", "depthwise_conv2d_NCHWc", "pool", "pool_grad", "unpack_NCHWc_to_nchw"]
