"""Schedules of operators: `tvm.topi.generic`, and the modules of TVM's targets.

Each function returns the schedule of its outputs without transformations; a function that nobody has scheduled gets a
default schedule for its target when it is built (docs/cpu.md, docs/gpu.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....expressions.tensor import Tensor
from ...te.schedule import Schedule, create_schedule
from ..absent import report_absent

_absent = report_absent("tvm.topi.generic")

NAMES = (
    "adaptive_pool", "argsort", "batch_matmul", "batch_norm", "binarize_pack", "binary_dense", "bitpack", "broadcast",
    "conv1d_ncw", "conv1d_nwc", "conv2d", "conv2d_hwcn", "conv2d_nchw", "conv2d_nhwc", "conv2d_transpose_nchw",
    "conv3d_ncdhw", "conv3d_ndhwc", "dense", "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc", "elemwise", "extern",
    "group_conv2d_nchw", "l2_normalize", "lrn", "matmul", "pool", "reduce", "softmax", "sort",
    "sparse_dense", "topk", "batch_matmul_cblas", "conv2d_NCHWc", "conv2d_NCHWc_int8", "dense_cblas",
    "depthwise_conv2d_NCHWc", "dense_nopack", "dense_pack", "matmul_cblas", "conv2d_winograd_weight_transform",
    "conv1d_transpose_ncw", "conv3d_transpose_ncdhw", "group_conv2d_nhwc", "scatter", "injective_from_existing",
)  # fmt: skip
"""The operators with a function `schedule_NAME`."""


def schedule_injective(outs: Tensor | Sequence[Tensor], *_layout: Any) -> Schedule:
    """The schedule of outputs without transformations."""
    tensors = [outs] if isinstance(outs, Tensor) else list(outs)
    return create_schedule([tensor.op for tensor in tensors])


def __getattr__(name: str) -> Callable[..., Schedule]:
    if name.removeprefix("schedule_") in NAMES and name.startswith("schedule_"):
        return schedule_injective
    return _absent(name)
