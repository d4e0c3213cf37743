"""Functions on buffers, as TVM calls `tvm.tir` from v0.24 on."""

from typing import Any

from . import tir
from .tir import *  # noqa: F403

__all__: list[str] = []
__all__ += tir.__all__


def __getattr__(name: str) -> Any:
    return getattr(tir, name)
