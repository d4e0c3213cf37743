"""Operators and schedules for processors: `tvm.topi.x86`. They are those of all targets."""

from __future__ import annotations

from typing import Any

from . import cuda
from .cuda import conv2d_nchw, conv2d_nhwc

__all__ = ["conv2d_nchw", "conv2d_nhwc"]


def __getattr__(name: str) -> Any:
    return getattr(cuda, name)
