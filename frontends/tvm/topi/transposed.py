"""The operands of transposed convolutions as those of convolutions: `tvm.topi.nn.conv2d_transpose_nchw_preprocess`."""

from __future__ import annotations

from typing import Any

from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr
from ....expressions.tensor import Tensor, compute
from ....operators.padding import dilate_tensor, pad_tensor
from ....operators.windows import Window, each_dimension
from .utils import get_const_tuple, get_pad_tuple_generic


def conv2d_transpose_nchw_preprocess(
    data: Tensor, kernel: Tensor, strides: Window, padding: Any, out_dtype: str, output_padding: Window
) -> tuple[Tensor, Tensor]:
    """The image and the weight OIHW whose convolution in steps of 1 is the transposed convolution of an image NCHW with
    a weight IOHW. The image has zeros between its elements and around them; the windows of the weight are turned.

    out_dtype: ignored, both have those of the operands.  output_padding: less than the strides. TeError for other
    operands.
    """
    return _preprocess("conv2d_transpose_nchw_preprocess", 2, data, kernel, strides, padding, output_padding)


def conv3d_transpose_ncdhw_preprocess(
    data: Tensor, kernel: Tensor, strides: Window, padding: Any, out_dtype: str, output_padding: Window
) -> tuple[Tensor, Tensor]:
    """The volume and the weight OIDHW whose convolution is the transposed convolution of a volume NCDHW with a weight
    IODHW. The parameters, errors: as of `conv2d_transpose_nchw_preprocess`."""
    return _preprocess("conv3d_transpose_ncdhw_preprocess", 3, data, kernel, strides, padding, output_padding)


def _preprocess(
    name: str, rank: int, data: Tensor, kernel: Tensor, strides: Window, padding: Any, output_padding: Window
) -> tuple[Tensor, Tensor]:
    if data.ndim != rank + 2 or kernel.ndim != rank + 2:
        raise TeError(f"{name}: data and kernel of {data.ndim} and {kernel.ndim} dimensions, expected {rank + 2}")
    steps = each_dimension(strides, rank, f"{name}: strides")
    more = each_dimension(output_padding, rank, f"{name}: output_padding", 0)
    if any(extra >= step for extra, step in zip(more, steps, strict=True)):
        raise TeError(f"{name}: output_padding {more} with strides {steps}, expected less than the strides")
    taps = get_const_tuple(kernel.shape[2:])
    before, after = get_pad_tuple_generic(padding, taps)
    sides = zip(taps, before, after, more, strict=True)
    around = [(size - 1 - front, size - 1 - behind + extra) for size, front, behind, extra in sides]
    spread = dilate_tensor(data, [1, 1, *steps], 0, "data_dilate")
    image = pad_tensor(spread, [(0, 0), (0, 0), *around], 0, "constant", "data_pad")

    def weight(o: PrimExpr, i: PrimExpr, *at: PrimExpr) -> PrimExpr:
        return kernel(i, o, *(size - 1 - tap for size, tap in zip(taps, at, strict=True)))

    shape = [kernel.shape[1], kernel.shape[0], *kernel.shape[2:]]
    return image, compute(shape, weight, "kernel_transform", "injective", varargs_names=["d", "h", "w"][3 - rank :])


__all__ = ["conv2d_transpose_nchw_preprocess", "conv3d_transpose_ncdhw_preprocess"]
