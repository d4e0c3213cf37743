"""The tasks of TVM's own templates by name, `conv2d_nchw.cuda`: their one configuration is the default schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ....te.schedule import create_schedule

_OPERATORS = (
    "batch_matmul", "conv1d_ncw", "conv1d_nwc", "conv1d_transpose_ncw", "conv2d_NCHWc", "conv2d_hwcn", "conv2d_nchw",
    "conv2d_nhwc", "conv2d_transpose_nchw", "conv3d_ncdhw", "conv3d_ndhwc", "conv3d_transpose_ncdhw", "dense",
    "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc", "group_conv2d_nchw",
)  # fmt: skip
"""The functions of `topi.nn` that tasks compute."""
_VARIANTS = ("_nopack", "_pack", "_small_batch", "_large_batch", "_winograd", "_spatial_pack", "_tensorcore")
"""The ends of names of tasks that say how TVM's template computes a function."""
_TARGETS = ("arm_cpu", "bifrost", "cpu", "cuda", "generic", "gpu", "intel_graphics", "mali", "rocm", "x86")


def topi_functions(name: str) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """The function from tensors and attributes to the result of a task of TVM, and the one that returns its default
    schedule; None for another name."""
    operator, _, target = name.partition(".")
    for end in _VARIANTS:
        operator = operator.removesuffix(end)
    if operator not in _OPERATORS or target not in _TARGETS:
        return None
    topi = import_module("...topi.nn", __package__)  # which imports nothing of autotvm
    return getattr(topi, operator), _default_schedule


def _default_schedule(results: Sequence[Any]) -> Any:
    return create_schedule([result.op for result in results])
