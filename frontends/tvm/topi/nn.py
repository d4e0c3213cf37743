"""What `tvm.topi.nn` has, as of v0.16."""

from __future__ import annotations

from collections.abc import Sequence

from ....core.errors import OptionError
from ....expressions.tensor import Tensor
from ....operators import broadcast, convolutions, image, nn, pools
from ....operators.image import depth_to_space, space_to_depth
from ....operators.nn import leaky_relu, log_softmax, matmul, relu, softmax
from ....operators.windows import Window

__all__ = [
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "batch_matmul",
    "conv1d",
    "conv1d_transpose_ncw",
    "conv2d",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv3d",
    "conv3d_transpose_ncdhw",
    "dense",
    "depth_to_space",
    "global_pool",
    "group_conv1d_transpose_ncw",
    "group_conv2d_nchw",
    "group_conv2d_transpose_nchw",
    "leaky_relu",
    "log_softmax",
    "matmul",
    "pool1d",
    "pool2d",
    "pool3d",
    "relu",
    "softmax",
    "space_to_depth",
    "upsampling",
    "upsampling3d",
]


def dense(data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None) -> Tensor:
    """`out[m, n] = sum over k of data[m, k] * weight[n, k]`, and `bias[n]` added if there is one."""
    made = nn.dense(data, weight, out_dtype=out_dtype or "")
    return made if bias is None else broadcast.add(made, bias)


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Sequence[int] | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Tensor:
    """The products of matrices, one for each number of the first axis. oshape: what follows from the others."""
    return nn.batch_matmul(tensor_a, tensor_b, transpose_a, transpose_b, out_dtype or "")


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Window = 1,
    padding: Window = 0,
    dilation: Window = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """The convolution of signals. kernel_layout: by default OIW, or WIO for NWC."""
    layout = kernel_layout or {"NCW": "OIW", "NWC": "WIO"}.get(data_layout, "OIW")
    return convolutions.conv1d(
        data, kernel, strides, padding, dilation, groups,
        data_layout=data_layout, kernel_layout=layout, out_dtype=out_dtype or "",
    )  # fmt: skip


def conv2d(
    data: Tensor,
    kernel: Tensor,
    strides: Window,
    padding: Window,
    dilation: Window,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """The convolution of images. kernel_layout: by default OIHW, or HWIO for NHWC and HWCN."""
    layout = kernel_layout or {"NHWC": "HWIO", "HWCN": "HWIO"}.get(data_layout, "OIHW")
    return convolutions.conv2d(
        data, kernel, strides, padding, dilation,
        data_layout=data_layout, kernel_layout=layout, out_dtype=out_dtype or "",
    )  # fmt: skip


def conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Window, padding: Window, dilation: Window, out_dtype: str | None = None
) -> Tensor:
    """The convolution of images in the order NCHW, with weights in the order OIHW."""
    return conv2d(Input, Filter, stride, padding, dilation, "NCHW", "OIHW", out_dtype)


def conv2d_nhwc(
    Input: Tensor, Filter: Tensor, stride: Window, padding: Window, dilation: Window, out_dtype: str = "float32"
) -> Tensor:
    """The convolution of images in the order NHWC, with weights in the order HWIO."""
    return conv2d(Input, Filter, stride, padding, dilation, "NHWC", "HWIO", out_dtype)


def group_conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Window, padding: Window, dilation: Window, groups: int,
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of images in the order NCHW, whose channels are of groups."""
    return convolutions.conv2d(Input, Filter, stride, padding, dilation, groups, out_dtype=out_dtype or "")


def group_conv1d_transpose_ncw(
    data: Tensor, kernel: Tensor, stride: Window, padding: Window, out_dtype: str, output_padding: Window, groups: int
) -> Tensor:
    """The transposed convolution of signals in the order NCW, with weights in the order IOW."""
    return convolutions.conv1d_transpose(
        data, kernel, stride, padding, groups=groups, output_padding=output_padding, out_dtype=out_dtype
    )


def conv1d_transpose_ncw(
    data: Tensor, kernel: Tensor, stride: Window, padding: Window, out_dtype: str, output_padding: Window
) -> Tensor:
    """The transposed convolution of signals in the order NCW, with weights in the order IOW."""
    return group_conv1d_transpose_ncw(data, kernel, stride, padding, out_dtype, output_padding, 1)


def group_conv2d_transpose_nchw(
    data: Tensor, kernel: Tensor, stride: Window, padding: Window, out_dtype: str, output_padding: Window, groups: int
) -> Tensor:
    """The transposed convolution of images in the order NCHW, with weights in the order IOHW."""
    return convolutions.conv2d_transpose(
        data, kernel, stride, padding, groups=groups, output_padding=output_padding, out_dtype=out_dtype
    )


def conv2d_transpose_nchw(
    Input: Tensor, Filter: Tensor, strides: Window, padding: Window, out_dtype: str, output_padding: Window
) -> Tensor:
    """The transposed convolution of images in the order NCHW, with weights in the order IOHW."""
    return group_conv2d_transpose_nchw(Input, Filter, strides, padding, out_dtype, output_padding, 1)


def conv3d_transpose_ncdhw(
    Input: Tensor, Filter: Tensor, strides: Window, padding: Window, out_dtype: str, output_padding: Window
) -> Tensor:
    """The transposed convolution of volumes in the order NCDHW, with weights in the order IODHW."""
    return convolutions.conv3d_transpose(
        Input, Filter, strides, padding, output_padding=output_padding, out_dtype=out_dtype
    )


def conv3d(
    data: Tensor, kernel: Tensor, strides: Window, padding: Window, dilation: Window, groups: int = 1,
    data_layout: str = "NCDHW",
) -> Tensor:  # fmt: skip
    """The convolution of volumes; weights in the order OIDHW, or DHWIO for NDHWC."""
    layout = "DHWIO" if data_layout == "NDHWC" else "OIDHW"
    return convolutions.conv3d(
        data, kernel, strides, padding, dilation, groups, data_layout=data_layout, kernel_layout=layout
    )


def _pool(
    rank: int, data: Tensor, kernel: Window, stride: Window, dilation: Window, padding: Window, pool_type: str,
    ceil_mode: bool, layout: str, count_include_pad: bool,
) -> Tensor:  # fmt: skip
    if pool_type == "max":
        pool = (pools.max_pool1d, pools.max_pool2d, pools.max_pool3d)[rank - 1]
        return pool(data, kernel, stride, dilation, padding, layout, ceil_mode)
    if pool_type != "avg":
        raise OptionError(f"pool_type {pool_type!r}, expected 'max' or 'avg'")
    pool = (pools.avg_pool1d, pools.avg_pool2d, pools.avg_pool3d)[rank - 1]
    return pool(data, kernel, stride, dilation, padding, layout, ceil_mode, count_include_pad)


def pool1d(
    data: Tensor, kernel: Window, stride: Window, dilation: Window, padding: Window, pool_type: str,
    ceil_mode: bool = False, layout: str = "NCW", count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The greatest element or the mean ("max", "avg") in each window of a signal."""
    return _pool(1, data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)


def pool2d(
    data: Tensor, kernel: Window, stride: Window, dilation: Window, padding: Window, pool_type: str,
    ceil_mode: bool = False, layout: str = "NCHW", count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The greatest element or the mean ("max", "avg") in each window of an image."""
    return _pool(2, data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)


def pool3d(
    data: Tensor, kernel: Window, stride: Window, dilation: Window, padding: Window, pool_type: str,
    ceil_mode: bool = False, layout: str = "NCDHW", count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The greatest element or the mean ("max", "avg") in each window of a volume."""
    return _pool(3, data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The greatest element or the mean ("max", "avg") of each image."""
    if pool_type not in ("max", "avg"):
        raise OptionError(f"pool_type {pool_type!r}, expected 'max' or 'avg'")
    return (pools.global_max_pool2d if pool_type == "max" else pools.global_avg_pool2d)(data, layout)


def _adaptive(rank: int, data: Tensor, output_size: Window, pool_type: str, layout: str) -> Tensor:
    if pool_type not in ("max", "avg"):
        raise OptionError(f"pool_type {pool_type!r}, expected 'max' or 'avg'")
    greatest = pools.adaptive_max_pool1d, pools.adaptive_max_pool2d, pools.adaptive_max_pool3d
    means = pools.adaptive_avg_pool1d, pools.adaptive_avg_pool2d, pools.adaptive_avg_pool3d
    return (greatest if pool_type == "max" else means)[rank - 1](data, output_size, layout)


def adaptive_pool(data: Tensor, output_size: Window, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The greatest element or the mean ("max", "avg") in each of so many windows of an image."""
    return _adaptive(2, data, output_size, pool_type, layout)


def adaptive_pool1d(data: Tensor, output_size: Window, pool_type: str, layout: str = "NCW") -> Tensor:
    """The greatest element or the mean ("max", "avg") in each of so many windows of a signal."""
    return _adaptive(1, data, output_size, pool_type, layout)


def adaptive_pool3d(data: Tensor, output_size: Window, pool_type: str, layout: str = "NCDHW") -> Tensor:
    """The greatest element or the mean ("max", "avg") in each of so many windows of a volume."""
    return _adaptive(3, data, output_size, pool_type, layout)


def upsampling(
    data: Tensor, scale_h: float, scale_w: float, layout: str = "NCHW", method: str = "nearest_neighbor",
    align_corners: bool = False, output_shape: None = None,
) -> Tensor:  # fmt: skip
    """An image some times as high and as wide. output_shape: what follows from the others."""
    return image.upsampling(data, scale_h, scale_w, layout, method, align_corners)


def upsampling3d(
    data: Tensor, scale_d: float, scale_h: float, scale_w: float, layout: str = "NCDHW",
    method: str = "nearest_neighbor", coordinate_transformation_mode: str = "half_pixel", output_shape: None = None,
) -> Tensor:  # fmt: skip
    """A volume some times as deep, as high and as wide. output_shape: what follows from the others."""
    return image.upsampling3d(data, scale_d, scale_h, scale_w, layout, method, coordinate_transformation_mode)
