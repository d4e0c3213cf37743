"""What `tvm.topi.nn` has, as of v0.16."""

from __future__ import annotations

from collections.abc import Sequence

from ....core.errors import OptionError
from ....expressions.tensor import Tensor
from ....operators import broadcast, convolutions, nn, pools
from ....operators.nn import leaky_relu, log_softmax, matmul, relu, softmax
from ....operators.windows import Window

__all__ = [
    "batch_matmul",
    "conv1d",
    "conv2d",
    "conv3d",
    "dense",
    "global_pool",
    "leaky_relu",
    "log_softmax",
    "matmul",
    "pool1d",
    "pool2d",
    "pool3d",
    "relu",
    "softmax",
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
