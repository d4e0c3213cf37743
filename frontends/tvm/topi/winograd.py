"""Convolutions by Winograd's algorithm, and the weights that they take: `tvm.topi.nn.conv2d_winograd_nchw`, ...

The algorithm is that of the operators of graphs, whose points of interpolation are others than TVM's: a transformed
weight of TVM has other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr
from ....expressions.tensor import Tensor, compute
from ....operators.extents import known_extent
from ....operators.transform import transpose
from ....operators.winograd import (
    POINTS,
    TAPS,
    contrib_conv2d_winograd_weight_transform,
    contrib_conv2d_winograd_without_weight_transform,
    row_product,
    transforms,
)
from ..absent import refuse_options
from .utils import get_pad_tuple

_TILE = 4
"""The size of the tiles of results."""


def conv2d_winograd_weight_transform(kernel: Tensor, tile_size: int) -> Tensor:
    """The weights OIHW of a convolution of 3 by 3 at the points of tiles, [point along y, along x, O, I]. tile_size: of
    the results, 2 or 4. TeError for others."""
    return contrib_conv2d_winograd_weight_transform(kernel, tile_size)


def conv3d_winograd_weight_transform(kernel: Tensor, tile_size: int) -> Tensor:
    """The weights OIDHW of a convolution of 3 by 3 in height and width at the points of tiles. tile_size: of the
    results, 2 or 4.

    The result is [point along z, along y, along x, O, I] for a depth of 3, and [point along y, along x, D, O, I] for
    another depth. TeError for other windows and sizes.
    """
    name = "conv3d_winograd_weight_transform"
    if tile_size not in POINTS:
        raise TeError(f"{name}: tile_size {tile_size}, expected {' or '.join(map(str, POINTS))}")
    if kernel.ndim != 5 or [known_extent(extent) for extent in kernel.shape[3:]] != [TAPS, TAPS]:
        raise TeError(f"{name}: weight of shape {list(kernel.shape)}, expected windows of {TAPS} by {TAPS}")
    if not kernel.data_type.is_float:
        raise TeError(f"{name} of {kernel.dtype}, expected floats")
    is_deep = known_extent(kernel.shape[2]) == TAPS
    for axis in (2, 3, 4) if is_deep else (3, 4):
        kernel = _at_points(kernel, axis, tile_size)
    return transpose(kernel, [2, 3, 4, 0, 1] if is_deep else [3, 4, 2, 0, 1])


def _at_points(weight: Tensor, axis: int, tile_size: int) -> Tensor:
    """The values of weights at the points along an axis of taps."""
    matrix = transforms(tile_size).weight
    shape = [len(matrix) if d == axis else extent for d, extent in enumerate(weight.shape)]

    def element(*i: PrimExpr) -> PrimExpr:
        return row_product(matrix, i[axis], lambda tap: weight(*i[:axis], tap, *i[axis + 1 :]))

    return compute(shape, element, "winograd_weight_points")


def _convolution(
    name: str, data: Tensor, weight: Tensor, windows: Sequence[Any], out_dtype: str, options: dict[str, Any]
) -> Tensor:
    """The convolution of images NCHW with weights at points. windows: strides, padding and dilation."""
    refuse_options(name, **options)
    strides, padding, dilation = windows
    around = get_pad_tuple(padding, (TAPS, TAPS))
    return contrib_conv2d_winograd_without_weight_transform(
        data, weight, _TILE, strides, around, dilation, out_dtype=out_dtype or ""
    )


def conv2d_winograd_nchw(
    data: Tensor, weight: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: str, pre_computed: bool = False,
    auto_scheduler_rewritten_layout: str = "", meta_schedule_original_shape: Any = None,
) -> Tensor:  # fmt: skip
    """The convolution of images NCHW with windows of 3 by 3, in tiles of 4 by 4.

    weight: OIHW, or with `pre_computed` [point along y, along x, I, O].  strides, dilation: 1.  padding: as of
    `get_pad_tuple`.  out_dtype: that of data.  auto_scheduler_rewritten_layout, meta_schedule_original_shape: not
    given. TeError and UnsupportedError for others.
    """
    options = {"layout": auto_scheduler_rewritten_layout, "shape": meta_schedule_original_shape}
    if pre_computed:
        points = transpose(weight, [0, 1, 3, 2])
    else:
        points = conv2d_winograd_weight_transform(weight, _TILE)
    return _convolution("conv2d_winograd_nchw", data, points, (strides, padding, dilation), out_dtype, options)


def conv2d_winograd_nhwc(
    data: Tensor, weight: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: str, pre_computed: bool = False,
    auto_scheduler_rewritten_layout: str = "", meta_schedule_original_shape: Any = None,
) -> Tensor:  # fmt: skip
    """The convolution of images NHWC with windows of 3 by 3, in tiles of 4 by 4.

    weight: HWIO, or with `pre_computed` [point along y, along x, O, I]. Other parameters and errors as of
    `conv2d_winograd_nchw`.
    """
    options = {"layout": auto_scheduler_rewritten_layout, "shape": meta_schedule_original_shape}
    points = weight if pre_computed else conv2d_winograd_weight_transform(transpose(weight, [3, 2, 0, 1]), _TILE)
    windows = strides, padding, dilation
    images = transpose(data, [0, 3, 1, 2])
    return transpose(_convolution("conv2d_winograd_nhwc", images, points, windows, out_dtype, options), [0, 2, 3, 1])


def conv2d_winograd_nchw_without_weight_transform(
    data: Tensor, weight: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: str,
    auto_scheduler_rewritten_layout: str = "", meta_schedule_original_shape: Any = None,
) -> Tensor:  # fmt: skip
    """`conv2d_winograd_nchw` with weights at points."""
    layouts = auto_scheduler_rewritten_layout, meta_schedule_original_shape
    return conv2d_winograd_nchw(data, weight, strides, padding, dilation, out_dtype, True, *layouts)


def conv2d_winograd_nhwc_without_weight_transform(
    data: Tensor, weight: Tensor, strides: Any, padding: Any, dilation: Any, out_dtype: str,
    auto_scheduler_rewritten_layout: str = "", meta_schedule_original_shape: Any = None,
) -> Tensor:  # fmt: skip
    """`conv2d_winograd_nhwc` with weights at points."""
    layouts = auto_scheduler_rewritten_layout, meta_schedule_original_shape
    return conv2d_winograd_nhwc(data, weight, strides, padding, dilation, out_dtype, True, *layouts)


__all__ = [
    "conv2d_winograd_nchw", "conv2d_winograd_nchw_without_weight_transform", "conv2d_winograd_nhwc",
    "conv2d_winograd_nhwc_without_weight_transform", "conv2d_winograd_weight_transform",
    "conv3d_winograd_weight_transform",
]  # fmt: skip
