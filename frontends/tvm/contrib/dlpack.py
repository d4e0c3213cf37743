"""Compiled functions with tensors of other libraries: `tvm.contrib.dlpack`. Compiled functions accept them, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..absent import report_absent
from ..nd import from_dlpack

__getattr__ = report_absent("tvm.contrib.dlpack")


def convert_func(
    tvm_func: Callable[..., Any], tensor_type: type, to_dlpack_func: Callable[[Any], Any]
) -> Callable[..., Any]:
    """A function that calls another one with each argument of a type as an array, in the same memory.

    to_dlpack_func: returns the DLPack capsule of an argument of the type.
    """

    def call(*args: Any) -> Any:
        return tvm_func(
            *(from_dlpack(to_dlpack_func(each)) if isinstance(each, tensor_type) else each for each in args)
        )

    return call


def to_pytorch_func(tvm_func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls another one with tensors of PyTorch as arrays. Requires the extra `torch`."""
    # lazy: an optional package
    from ...torch.library import torch

    return convert_func(tvm_func, torch.Tensor, torch.utils.dlpack.to_dlpack)


__all__ = ["convert_func", "to_pytorch_func"]
