"""Operators and schedules for GPUs: `tvm.topi.cuda`. They are those of all targets."""

from __future__ import annotations

from typing import Any

from ....expressions.tensor import Tensor
from ..submodules import submodule
from . import generic
from .nn import conv2d_nchw as _conv2d_nchw
from .nn import conv2d_nhwc as _conv2d_nhwc


def conv2d_nchw(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any = 1, out_dtype: str = ""
) -> Tensor:
    """The convolution of images in the layout NCHW, with weights in the layout OIHW."""
    return _conv2d_nchw(data, kernel, strides, padding, dilation, out_dtype or data.dtype)


def conv2d_nhwc(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any = 1, out_dtype: str = ""
) -> Tensor:
    """The convolution of images in the layout NHWC, with weights in the layout HWIO."""
    return _conv2d_nhwc(data, kernel, strides, padding, dilation, out_dtype or data.dtype)


def __getattr__(name: str) -> Any:
    found = submodule("tvm.topi.cuda", name)
    return getattr(generic, name) if found is None else found
