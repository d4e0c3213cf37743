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
    "adaptive_pool", "argsort", "argwhere", "batch_matmul", "batch_matmul_cblas", "batch_matmul_cublas",
    "batch_matmul_int8", "batch_matmul_mkl", "batch_matmul_tensorcore", "batch_norm", "binarize_pack", "binary_dense",
    "bitpack", "bitserial_conv2d_nchw", "bitserial_conv2d_nhwc", "bitserial_dense", "broadcast", "concatenate",
    "conv1d_ncw", "conv1d_nwc", "conv1d_transpose_ncw", "conv2d", "conv2d_cudnn", "conv2d_gemm_weight_transform",
    "conv2d_hwcn", "conv2d_hwnc_tensorcore", "conv2d_nchw", "conv2d_nchw_dnnl", "conv2d_nchw_int8",
    "conv2d_nchw_winograd", "conv2d_nchw_winograd_without_weight_transform", "conv2d_NCHWc", "conv2d_NCHWc_int8",
    "conv2d_nhwc", "conv2d_nhwc_dnnl", "conv2d_nhwc_pack", "conv2d_nhwc_tensorcore", "conv2d_nhwc_winograd_direct",
    "conv2d_nhwc_winograd_direct_without_weight_transform", "conv2d_nhwc_winograd_tensorcore",
    "conv2d_nhwc_winograd_tensorcore_without_weight_transform", "conv2d_transpose_nchw",
    "conv2d_winograd_nnpack_weight_transform", "conv2d_winograd_weight_transform",
    "conv2d_winograd_without_weight_transform", "conv3d_cudnn", "conv3d_ncdhw", "conv3d_ncdhw_winograd",
    "conv3d_ncdhw_winograd_without_weight_transform", "conv3d_ndhwc", "conv3d_ndhwc_tensorcore",
    "conv3d_transpose_ncdhw", "conv3d_winograd_weight_transform", "correlation_nchw", "deformable_conv2d_nchw",
    "deformable_conv2d_nhwc", "dense", "dense_cblas", "dense_cublas", "dense_dnnl", "dense_int8", "dense_mkl",
    "dense_nopack", "dense_pack", "dense_tensorcore", "depthwise_conv2d_backward_input_nhwc",
    "depthwise_conv2d_backward_weight_nhwc", "depthwise_conv2d_nchw", "depthwise_conv2d_NCHWc", "depthwise_conv2d_nhwc",
    "dilation2d_nchw", "dilation2d_nhwc", "einsum", "elemwise", "extern", "fast_softmax", "get_valid_counts",
    "group_conv1d_ncw", "group_conv1d_nwc", "group_conv1d_transpose_ncw", "group_conv2d_nchw", "group_conv2d_nchw_int8",
    "group_conv2d_NCHWc_int8", "group_conv2d_nhwc", "group_conv2d_transpose_nchw", "group_conv3d_transpose_ncdhw",
    "l2_normalize", "log_softmax_cudnn", "lrn", "lstm", "matmul", "matmul_cblas",
    "matmul_cublas", "matmul_dnnl", "matmul_mkl", "multibox_detection", "multibox_prior", "multibox_transform_loc",
    "nms", "pool", "pool_grad", "proposal", "reduce", "reorg", "roi_align", "roi_pool", "scan", "scatter",
    "scatter_via_sort", "softmax", "softmax_cudnn", "sort", "sparse_conv2d", "sparse_dense", "sparse_dense_padded",
    "sparse_fill_empty_rows", "sparse_transpose", "topk", "transpose", "unique",
)  # fmt: skip
"""The operators with a function `schedule_NAME`."""


def schedule_injective(outs: Tensor | Sequence[Tensor], *_layout: Any) -> Schedule:
    """The schedule of outputs without transformations."""
    tensors = [outs] if isinstance(outs, Tensor) else list(outs)
    return create_schedule([tensor.op for tensor in tensors])


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """The given schedule, without transformations of the stage of `out`."""
    return sch


def __getattr__(name: str) -> Callable[..., Schedule]:
    if name.removeprefix("schedule_") in NAMES and name.startswith("schedule_"):
        return schedule_injective
    return _absent(name)
