"""Operators and schedules for GPUs: `tvm.topi.cuda`. They are those of all targets."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ....expressions.tensor import Tensor
from ..submodules import submodule
from . import generic, nn
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
    if found is not None:
        return found
    package = import_module(__package__ or "")
    for module in (package, nn, package.image, package.vision):
        if name in module.__all__:
            return getattr(module, name)
    return getattr(generic, name)
