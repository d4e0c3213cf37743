"""Operators on images and weights in blocks, and gradients of pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....expressions.axes import reduce_axis
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr
from ....expressions.functions import sum as total
from ....expressions.tensor import Tensor, compute
from ....operators.extents import known_extent
from ....operators.padding import pad_tensor
from ....operators.pools import avg_pool2d, avg_pool2d_grad, max_pool2d, max_pool2d_grad
from ....operators.windows import Window, each_dimension, paddings, require_known_extents
from .utils import get_const_int, get_const_tuple, get_pad_tuple


def conv2d_NCHWc(
    data: Tensor, kernel: Tensor, stride: Window, padding: Any, dilation: Window, layout: str = "NCHWc",
    out_layout: str = "NCHWc", out_dtype: str = "float32",
) -> Tensor:  # fmt: skip
    """The convolution of images whose channels are in blocks, [batch, blocks, height, width, channels of a block].

    kernel: [blocks of the result, blocks, height, width, channels, channels of the result]; fewer blocks are those of a
    group.  layout, out_layout: ignored, the blocks follow from the tensors. TeError for tensors that do not go
    together."""
    if data.ndim != 5 or kernel.ndim != 6:
        raise TeError(f"conv2d_NCHWc: data and kernel of {data.ndim} and {kernel.ndim} dimensions, expected 5 and 6")

    def weight(k: Any, block: Any, dy: Any, dx: Any, channel: Any, result: Any) -> PrimExpr:
        return kernel[k, block, dy, dx, channel, result]

    return _convolution("conv2d_NCHWc", data, kernel.shape, weight, (stride, padding, dilation), out_dtype)


def conv2d_NCHWc_int8(
    data: Tensor, kernel: Tensor, stride: Window, padding: Any, dilation: Window, layout: str = "NCHWc",
    out_layout: str = "NCHWc", out_dtype: str = "int32", n_elems: int = 4,
) -> Tensor:  # fmt: skip
    """The convolution of `conv2d_NCHWc` with weights whose channels are in groups of `n_elems`, as the instructions of
    processors read them: [blocks of the result, blocks, height, width, groups of channels, channels of the result,
    channels of a group]. TeError for tensors that do not go together."""
    name = "conv2d_NCHWc_int8"
    if data.ndim != 5 or kernel.ndim != 7 or known_extent(kernel.shape[6]) != n_elems:
        shapes = f"data and kernel of shapes {list(data.shape)} and {list(kernel.shape)}"
        raise TeError(f"{name}: {shapes}, expected 5 and 7 dimensions, and groups of {n_elems}")

    def weight(k: Any, block: Any, dy: Any, dx: Any, channel: Any, result: Any) -> PrimExpr:
        return kernel[k, block, dy, dx, channel // n_elems, result, channel % n_elems]

    shape = [*kernel.shape[:4], kernel.shape[4] * n_elems, kernel.shape[5]]
    return _convolution(name, data, shape, weight, (stride, padding, dilation), out_dtype)


def _convolution(
    name: str, data: Tensor, shape: Sequence[Any], weight: Callable[..., PrimExpr], windows: Sequence[Any], dtype: str
) -> Tensor:
    """The convolution of images in blocks. shape, weight: of the weight of `conv2d_NCHWc`, and the function from its
    indices to its elements.  windows: stride, padding and dilation."""
    batch, blocks, height, width, inner = data.shape
    outer, own, taps, columns, channels, results = shape
    all_blocks, own_blocks, new_blocks, *of_block = require_known_extents((blocks, own, outer, inner, channels), name)
    groups = all_blocks // own_blocks if own_blocks else 0
    if not groups or of_block[0] != of_block[1] or all_blocks % own_blocks or new_blocks % groups:
        shapes = f"data of shape {list(data.shape)}, kernel of shape {list(shape)}"
        raise TeError(f"{name}: {shapes}, expected blocks of equal channels in groups of {own}")
    stride, padding, dilation = windows
    (down, right), (far_y, far_x) = (each_dimension(each, 2, name) for each in (stride, dilation))
    span_y, span_x = (taps - 1) * far_y + 1, (columns - 1) * far_x + 1
    above, left, below, after = get_pad_tuple(padding, get_const_tuple((span_y, span_x)))
    padded = pad_tensor(data, [(0, 0), (0, 0), (above, below), (left, after), (0, 0)], 0, "constant", "data_pad")
    sizes = {"block": own, "dy": taps, "dx": columns, "channel": inner}
    axes = block, dy, dx, channel = [reduce_axis((0, extent), axis) for axis, extent in sizes.items()]

    def element(n: Any, k: Any, y: Any, x: Any, result: Any) -> PrimExpr:
        first = k // (new_blocks // groups) * own_blocks if groups > 1 else 0
        pixel = padded[n, first + block, y * down + dy * far_y, x * right + dx * far_x, channel]
        return total(pixel.astype(dtype) * weight(k, block, dy, dx, channel, result).astype(dtype), axis=axes)

    rows = (height + above + below - span_y) // down + 1
    places = (width + left + after - span_x) // right + 1
    return compute((batch, outer, rows, places, results), element, name, name)


def conv2d_gemm_weight_transform(kernel: Tensor, tile_N: int, tile_K: int) -> Tensor:
    """The weights HWIO of a convolution as the blocks of a matrix with a row for each tap and input channel, and a
    column for each output channel: [blocks of columns, blocks of rows, rows, columns]; a block of bytes is transposed.

    tile_N, tile_K: the columns and the rows of a block. The matrix is filled up with zeros to whole blocks, and to a
    multiple of 4 blocks of rows. TeError for a weight of other dimensions or unknown sizes.
    """
    sizes = [known_extent(extent) for extent in kernel.shape]
    if len(sizes) != 4 or None in sizes or min(tile_N, tile_K) < 1:
        given = f"kernel of shape {list(kernel.shape)}, blocks of {tile_K} by {tile_N}"
        raise TeError(f"conv2d_gemm_weight_transform: {given}, expected 4 known sizes, and numbers from 1 on")
    height, width, inputs, columns = kernel.shape
    rows = known_extent(height * width * inputs) or 0

    def element(x: Any, y: Any) -> PrimExpr:
        tap = x // inputs
        return kernel[tap // width, tap % width, x % inputs, y]

    flat = compute((rows, columns), element, "weight_flatten")
    around = [(0, -rows % (4 * tile_K)), (0, -get_const_int(columns) % tile_N)]
    padded = pad_tensor(flat, around, 0, "constant", "weight_padding")
    outer = padded.shape[1] // tile_N, padded.shape[0] // tile_K
    if kernel.dtype in ("int8", "uint8"):
        return compute(
            (*outer, tile_N, tile_K), lambda n, k, z, w: padded[k * tile_K + w, n * tile_N + z], "weight_block_reshape"
        )
    return compute(
        (*outer, tile_K, tile_N), lambda n, k, z, w: padded[k * tile_K + z, n * tile_N + w], "weight_block_reshape"
    )


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
    """The gradient of `pool` with respect to its operand; that of a maximum is of the first one. grads: with respect to
    its result."""
    if pool_type == "max":
        around = padding_to_ceil(padding, stride, 2) if ceil_mode else padding
        return max_pool2d_grad(grads, data, kernel, stride, around, layout)
    return avg_pool2d_grad(grads, data, kernel, stride, padding, layout, ceil_mode, count_include_pad)


__all__ = [
    "conv2d_NCHWc", "conv2d_NCHWc_int8", "conv2d_gemm_weight_transform", "dense_pack", "depthwise_conv2d_NCHWc", "pool",
    "pool_grad", "unpack_NCHWc_to_nchw",
]  # fmt: skip
