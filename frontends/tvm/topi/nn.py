"""The module `tvm.topi.nn`, as of v0.16."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

from ....core.errors import OptionError
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, as_expr, cast
from ....expressions.functions import all as all_of
from ....expressions.functions import floor, if_then_else
from ....expressions.tensor import Tensor, compute
from ....operators import (
    activations,
    broadcast,
    convolutions,
    image,
    layouts,
    nn,
    normalization,
    padding,
    pools,
    sparse,
    vision,
)
from ....operators.axes import Axes, nonnegative_axes, nonnegative_axis
from ....operators.broadcast import add
from ....operators.correlation import correlation as _correlation
from ....operators.filling import batch_flatten as flatten
from ....operators.image import depth_to_space, space_to_depth
from ....operators.losses import nll_loss
from ....operators.nn import matmul, softmax
from ....operators.normalization import l2_normalize, rms_norm
from ....operators.sparse import sparse_conv2d_of, sparse_dense_of
from ....operators.transform import fifo_buffer
from ....operators.windows import Window, each_dimension
from ..absent import report_absent
from ..former_names import former_names
from . import tag
from .bitserial import (
    binarize_pack,
    binary_dense,
    bitpack,
    bitserial_conv2d_nchw,
    bitserial_conv2d_nhwc,
    bitserial_dense,
)
from .blocked import (
    conv2d_gemm_weight_transform,
    conv2d_NCHWc,
    conv2d_NCHWc_int8,
    dense_pack,
    depthwise_conv2d_NCHWc,
    padding_to_ceil,
    pool,
    pool_grad,
    unpack_NCHWc_to_nchw,
)
from .depthwise import (
    depthwise_conv2d_backward_input_nhwc,
    depthwise_conv2d_backward_weight_nhwc,
    depthwise_conv2d_nchw,
    depthwise_conv2d_nhwc,
)
from .lstm import lstm
from .movement import concatenate, layout_transform, strided_slice
from .quantization import (
    SQNN_CODE_TO_DTYPE,
    SQNN_DISABLE,
    SQNN_DTYPE_TO_CODE,
    SQNN_INT8,
    SQNN_INT32,
    SQNN_UINT8,
    simulated_dequantize,
    simulated_quantize,
)
from .sparse_inputs import try_get_sparse_input
from .transposed import conv2d_transpose_nchw_preprocess, conv3d_transpose_ncdhw_preprocess
from .utils import (
    equal_const_int,
    get_const_int,
    get_const_tuple,
    get_pad_tuple,
    get_pad_tuple1d,
    get_pad_tuple3d,
    get_pad_tuple_generic,
    infer_pad,
    infer_pad3d,
    infer_stride,
    simplify,
)
from .winograd import (
    conv2d_winograd_nchw,
    conv2d_winograd_nchw_without_weight_transform,
    conv2d_winograd_nhwc,
    conv2d_winograd_nhwc_without_weight_transform,
    conv2d_winograd_weight_transform,
    conv3d_winograd_weight_transform,
)
from .winograd_util import winograd_transform_matrices

__getattr__ = report_absent("tvm.topi.nn")

__all__ = [
    "POOL_TYPE_CODE",
    "SQNN_CODE_TO_DTYPE",
    "SQNN_DISABLE",
    "SQNN_DTYPE_TO_CODE",
    "SQNN_INT8",
    "SQNN_INT32",
    "SQNN_UINT8",
    "Workload",
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "add",
    "batch_matmul",
    "batch_norm",
    "batch_to_space_nd",
    "bilinear_sample_nchw",
    "bilinear_sample_nhwc",
    "binarize_pack",
    "binary_dense",
    "bitpack",
    "bitserial_conv2d_nchw",
    "bitserial_conv2d_nhwc",
    "bitserial_dense",
    "concatenate",
    "conv",
    "conv1d",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv1d_transpose_ncw",
    "conv2d",
    "conv2d_NCHWc",
    "conv2d_NCHWc_int8",
    "conv2d_gemm_weight_transform",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv2d_transpose_nchw_preprocess",
    "conv2d_winograd_nchw",
    "conv2d_winograd_nchw_without_weight_transform",
    "conv2d_winograd_nhwc",
    "conv2d_winograd_nhwc_without_weight_transform",
    "conv2d_winograd_weight_transform",
    "conv3d",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "conv3d_transpose_ncdhw",
    "conv3d_transpose_ncdhw_preprocess",
    "conv3d_winograd_weight_transform",
    "correlation_nchw",
    "declaration_conv2d_transpose_impl",
    "declaration_conv3d_transpose_impl",
    "deformable_conv2d_nchw",
    "deformable_conv2d_nhwc",
    "dense",
    "dense_pack",
    "depth_to_space",
    "depthwise_conv2d_NCHWc",
    "depthwise_conv2d_backward_input_nhwc",
    "depthwise_conv2d_backward_weight_nhwc",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "dilate",
    "equal_const_int",
    "fast_softmax",
    "fifo_buffer",
    "flatten",
    "get_const_int",
    "get_pad_tuple",
    "get_pad_tuple1d",
    "get_pad_tuple3d",
    "get_pad_tuple_generic",
    "global_pool",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv1d_transpose_ncw",
    "group_conv2d_nchw",
    "group_conv2d_nhwc",
    "group_conv2d_transpose_nchw",
    "group_conv3d_transpose_ncdhw",
    "group_norm",
    "infer_pad",
    "infer_pad3d",
    "infer_stride",
    "instance_norm",
    "l2_normalize",
    "layer_norm",
    "layout_transform",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "lstm",
    "matmul",
    "mirror_pad",
    "nll_loss",
    "pad",
    "pool",
    "pool1d",
    "pool2d",
    "pool3d",
    "pool_grad",
    "prelu",
    "relu",
    "rms_norm",
    "scale_shift_nchw",
    "scale_shift_nchwc",
    "scale_shift_nhwc",
    "simplify",
    "simulated_dequantize",
    "simulated_quantize",
    "softmax",
    "softmax_common",
    "space_to_batch_nd",
    "space_to_depth",
    "sparse_add",
    "sparse_conv2d",
    "sparse_dense",
    "sparse_dense_sp_lhs",
    "sparse_dense_sp_rhs",
    "sparse_transpose",
    "strided_slice",
    "tag",
    "try_get_sparse_input",
    "unpack_NCHWc_to_nchw",
    "upsampling",
    "upsampling3d",
    "winograd_transform_matrices",
]


relu, leaky_relu, log_softmax = map(former_names(data="x"), (activations.relu, activations.leaky_relu, nn.log_softmax))
fast_softmax = softmax
"""TVM's approximation of `softmax`; the exact function."""


def softmax_common(x: Tensor, axis: int, use_fast_exp: bool) -> Tensor:
    """`softmax`. use_fast_exp: ignored; asks TVM for an approximation."""
    return softmax(x, axis)


prelu = former_names(data="x", alpha="slope")(activations.prelu)
sparse_transpose = former_names(data="sparse_data", indices="sparse_indices", indptr="sparse_indptr")(
    sparse.sparse_transpose
)
sparse_add = former_names(dense="dense_data", data="sparse_data", indices="sparse_indices", indptr="sparse_indptr")(
    sparse.sparse_add
)


POOL_TYPE_CODE = {"avg": 0, "max": 1}
"""The numbers of kinds of pools."""


class Workload(NamedTuple):
    """The sizes of a convolution of images, as keys of tables of users.

    in_filter, out_filter: the channels of the image and of the result.  padt, padl, padb, padr: the padding at the top,
    left, bottom and right.
    """

    in_dtype: str
    out_dtype: str
    height: int
    width: int
    in_filter: int
    groups: int
    out_filter: int
    kernel_h: int
    kernel_w: int
    padt: int
    padl: int
    padb: int
    padr: int
    dilation_h: int
    dilation_w: int
    stride_h: int
    stride_w: int


def dense(data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None) -> Tensor:
    """`out[m, n] = sum over k of data[m, k] * weight[n, k]`, plus `bias[n]` if a bias is given."""
    product = nn.dense(data, weight, out_dtype=out_dtype or "")
    return product if bias is None else broadcast.add(product, bias)


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Sequence[int] | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Tensor:
    """The products of a batch of matrix pairs, one for each index of the first axis. oshape: ignored; follows from the
    others.
    """
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


@former_names(data="input", kernel="filter", data_layout="layout")
def conv2d(
    data: Tensor,
    kernel: Tensor,
    strides: Window,
    padding: Window | str,
    dilation: Window = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """The convolution of images. padding: as of `get_pad_tuple`.  kernel_layout: by default OIHW, or HWIO for NHWC and
    HWCN.  Until v0.11 the tensors were `input` and `filter`, until v0.7 the data_layout was `layout`.
    """
    image = data_layout
    window = kernel_layout or {"NHWC": "HWIO", "HWCN": "HWIO"}.get(image, "OIHW")
    around = _around(kernel, window, padding, dilation) if isinstance(padding, str) else padding
    return convolutions.conv2d(
        data, kernel, strides, around, dilation,
        data_layout=image, kernel_layout=window, out_dtype=out_dtype or "",
    )  # fmt: skip


def _around(kernel: Tensor, layout: str, padding: str, dilation: Window) -> Window:
    """The padding of an image that a word describes."""
    gaps = each_dimension(dilation, 2, "dilation")
    taps = get_const_tuple([kernel.shape[layout.index(letter)] for letter in "HW"])
    return get_pad_tuple(padding, [(tap - 1) * gap + 1 for tap, gap in zip(taps, gaps, strict=True)])


def conv2d_hwcn(
    Input: Tensor,
    Filter: Tensor,
    stride: Window,
    padding: Window | str,
    dilation: Window = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """The convolution of images in the layout HWCN, with weights in the layout HWIO."""
    return conv2d(Input, Filter, stride, padding, dilation, "HWCN", "HWIO", out_dtype)


def conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Window,
    padding: Window | str,
    dilation: Window,
    out_dtype: str | None = None,
) -> Tensor:
    """The convolution of images in the layout NCHW, with weights in the layout OIHW."""
    return conv2d(Input, Filter, stride, padding, dilation, "NCHW", "OIHW", out_dtype)


def conv2d_nhwc(
    Input: Tensor, Filter: Tensor, stride: Window, padding: Window | str, dilation: Window, out_dtype: str = "float32"
) -> Tensor:
    """The convolution of images in the layout NHWC, with weights in the layout HWIO."""
    return conv2d(Input, Filter, stride, padding, dilation, "NHWC", "HWIO", out_dtype)


def group_conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Window, padding: Window, dilation: Window, groups: int,
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The grouped convolution of images in the layout NCHW."""
    return convolutions.conv2d(Input, Filter, stride, padding, dilation, groups, out_dtype=out_dtype or "")


def group_conv2d_nhwc(
    Input: Tensor, Filter: Tensor, stride: Window, padding: Window, dilation: Window, groups: int,
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The grouped convolution of images in the layout NHWC, with weights in the layout HWIO."""
    return conv(Input, Filter, stride, padding, dilation, groups, "NHWC", "HWIO", out_dtype)


def group_conv1d_ncw(
    data: Tensor, kernel: Tensor, strides: Window = 1, padding: Window = 0, dilation: Window = 1, groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The grouped convolution of signals in the layout NCW, with weights in the layout OIW."""
    return conv1d(data, kernel, strides, padding, dilation, groups, "NCW", "OIW", out_dtype)


def group_conv1d_nwc(
    data: Tensor, kernel: Tensor, strides: Window = 1, padding: Window = 0, dilation: Window = 1, groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The grouped convolution of signals in the layout NWC, with weights in the layout WIO."""
    return conv1d(data, kernel, strides, padding, dilation, groups, "NWC", "WIO", out_dtype)


def conv(
    inp: Tensor, filt: Tensor, stride: Window, padding: Window, dilation: Window, groups: int, data_layout: str,
    kernel_layout: str = "", out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The grouped convolution of signals, images or volumes. kernel_layout: by default OIHW, or HWIO for data whose
    channels are last, with the axes of the data. TeError for data of other dimensions."""
    axes = "".join(letter for letter in data_layout if letter in "DHW")
    operators = {1: convolutions.conv1d, 2: convolutions.conv2d, 3: convolutions.conv3d}
    if len(axes) not in operators:
        raise TeError(f"conv: data_layout {data_layout!r}, expected axes N, C and one to three of D, H and W")
    layout = kernel_layout or (f"{axes}IO" if data_layout.endswith("C") else f"OI{axes}")
    return operators[len(axes)](
        inp, filt, stride, padding, dilation, groups,
        data_layout=data_layout, kernel_layout=layout, out_dtype=out_dtype or "",
    )  # fmt: skip


def group_conv1d_transpose_ncw(
    data: Tensor, kernel: Tensor, stride: Window, padding: Window, out_dtype: str, output_padding: Window, groups: int
) -> Tensor:
    """The grouped transposed convolution of signals in the layout NCW, with weights in the layout IOW."""
    return convolutions.conv1d_transpose(
        data, kernel, stride, padding, groups=groups, output_padding=output_padding, out_dtype=out_dtype
    )


def conv1d_transpose_ncw(
    data: Tensor, kernel: Tensor, stride: Window, padding: Window, out_dtype: str, output_padding: Window
) -> Tensor:
    """The transposed convolution of signals in the layout NCW, with weights in the layout IOW."""
    return group_conv1d_transpose_ncw(data, kernel, stride, padding, out_dtype, output_padding, 1)


def group_conv2d_transpose_nchw(
    data: Tensor, kernel: Tensor, stride: Window, padding: Window, out_dtype: str, output_padding: Window, groups: int
) -> Tensor:
    """The grouped transposed convolution of images in the layout NCHW, with weights in the layout IOHW."""
    return convolutions.conv2d_transpose(
        data, kernel, stride, padding, groups=groups, output_padding=output_padding, out_dtype=out_dtype
    )


def conv2d_transpose_nchw(
    Input: Tensor, Filter: Tensor, strides: Window, padding: Window, out_dtype: str, output_padding: Window
) -> Tensor:
    """The transposed convolution of images in the layout NCHW, with weights in the layout IOHW."""
    return group_conv2d_transpose_nchw(Input, Filter, strides, padding, out_dtype, output_padding, 1)


declaration_conv2d_transpose_impl = former_names(Input="data", Filter="kernel")(conv2d_transpose_nchw)


def group_conv3d_transpose_ncdhw(
    data: Tensor, kernel: Tensor, strides: Window, padding: Window, out_dtype: str, output_padding: Window, groups: int
) -> Tensor:
    """The grouped transposed convolution of volumes in the layout NCDHW, with weights in the layout IODHW."""
    return convolutions.conv3d_transpose(
        data, kernel, strides, padding, groups=groups, output_padding=output_padding, out_dtype=out_dtype
    )


def conv3d_transpose_ncdhw(
    Input: Tensor, Filter: Tensor, strides: Window, padding: Window, out_dtype: str, output_padding: Window
) -> Tensor:
    """The transposed convolution of volumes in the layout NCDHW, with weights in the layout IODHW."""
    return group_conv3d_transpose_ncdhw(Input, Filter, strides, padding, out_dtype, output_padding, 1)


declaration_conv3d_transpose_impl = former_names(Input="data", Filter="kernel")(conv3d_transpose_ncdhw)


def conv3d(
    data: Tensor, kernel: Tensor, strides: Window, padding: Window, dilation: Window, groups: int = 1,
    data_layout: str = "NCDHW", out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of volumes; weights in the layout OIDHW, or DHWIO for NDHWC."""
    layout = "DHWIO" if data_layout == "NDHWC" else "OIDHW"
    return convolutions.conv3d(
        data, kernel, strides, padding, dilation, groups,
        data_layout=data_layout, kernel_layout=layout, out_dtype=out_dtype or "",
    )  # fmt: skip


def conv1d_ncw(
    data: Tensor, kernel: Tensor, strides: Window = 1, padding: Window = 0, dilation: Window = 1,
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of signals in the layout NCW, with weights in the layout OIW."""
    return conv1d(data, kernel, strides, padding, dilation, out_dtype=out_dtype)


def conv1d_nwc(
    data: Tensor, kernel: Tensor, strides: Window = 1, padding: Window = 0, dilation: Window = 1,
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of signals in the layout NWC, with weights in the layout WIO."""
    return conv1d(data, kernel, strides, padding, dilation, data_layout="NWC", out_dtype=out_dtype)


def conv3d_ncdhw(
    Input: Tensor, Filter: Tensor, stride: Window, padding: Window, dilation: Window, groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of volumes in the layout NCDHW, with weights in the layout OIDHW."""
    return conv3d(Input, Filter, stride, padding, dilation, groups, out_dtype=out_dtype)


def conv3d_ndhwc(
    Input: Tensor, Filter: Tensor, stride: Window, padding: Window, dilation: Window, groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of volumes in the layout NDHWC, with weights in the layout DHWIO."""
    return conv3d(Input, Filter, stride, padding, dilation, groups, "NDHWC", out_dtype)


def dilate(data: Tensor, strides: Sequence[int], dilation_value: float = 0.0, name: str = "DilatedInput") -> Tensor:
    """The tensor with `strides[d] - 1` elements of a value between the elements along each dimension."""
    return padding.dilate_tensor(data, strides, dilation_value, name)


def scale_shift_nchw(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """The images NCHW times the scale, plus the shift of each channel."""
    return compute(Input.shape, lambda b, c, i, j: Input[b, c, i, j] * Scale[c] + Shift[c], "ScaleShift", "broadcast")


def scale_shift_nhwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """The images NHWC times the scale, plus the shift of each channel."""
    return compute(Input.shape, lambda b, i, j, c: Input[b, i, j, c] * Scale[c] + Shift[c], "ScaleShift", "broadcast")


def scale_shift_nchwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """The images NCHWc times the scale, plus the shift of each channel. Scale, Shift: `[chunk, channel in it]`."""
    return compute(
        Input.shape, lambda b, c, i, j, k: Input[b, c, i, j, k] * Scale[c, k] + Shift[c, k], "ScaleShift", "broadcast"
    )


def space_to_batch_nd(
    data: Tensor,
    block_shape: Sequence[int],
    pad_before: Sequence[int],
    pad_after: Sequence[int],
    pad_value: float = 0.0,
) -> Tensor:
    """The images of the elements at the same position in blocks of images, which are padded first."""
    return layouts.space_to_batch_nd(data, block_shape, list(zip(pad_before, pad_after, strict=True)), pad_value)


def batch_to_space_nd(
    data: Tensor, block_shape: Sequence[int], crop_begin_list: Sequence[int], crop_end_list: Sequence[int]
) -> Tensor:
    """The images of which `space_to_batch_nd` made `data`, without the elements before and after each axis."""
    return layouts.batch_to_space_nd(data, block_shape, list(zip(crop_begin_list, crop_end_list, strict=True)))


def _choose(pool_type: str, greatest: Callable[..., Tensor], mean: Callable[..., Tensor]) -> Callable[..., Tensor]:
    if pool_type not in ("max", "avg"):
        raise OptionError(f"pool_type {pool_type!r}, expected 'max' or 'avg'")
    return greatest if pool_type == "max" else mean


def _pool(greatest: Callable[..., Tensor], mean: Callable[..., Tensor], usual: str):
    def pool(
        data: Tensor,
        kernel: Window,
        stride: Window,
        dilation: Window,
        padding: Window,
        pool_type: str,
        ceil_mode: bool = False,
        layout: str = usual,
        count_include_pad: bool = True,
    ) -> Tensor:
        """The maximum or the mean ("max", "avg") of each window of a signal, an image or a volume."""
        options = {"count_include_pad": count_include_pad} if pool_type == "avg" else {}
        chosen = _choose(pool_type, greatest, mean)
        if ceil_mode and pool_type == "max":
            padding, ceil_mode = padding_to_ceil(padding, stride, len(usual) - 2), False
        windows = kernel, stride, dilation, padding
        return _in_images(data, layout, lambda image, order: chosen(image, *windows, order, ceil_mode, **options))

    return pool


def _in_images(data: Tensor, layout: str, pool: Callable[[Tensor, str], Tensor]) -> Tensor:
    """A pool of images of a layout. Blocks of channels (`NCHW4c`) are joined before it, and divided after it."""
    plain = re.sub(r"[0-9]+[a-z]", "", layout)
    if plain == layout:
        return pool(data, layout)
    return layouts.layout_transform(pool(layouts.layout_transform(data, layout, plain), plain), plain, layout)


pool1d = _pool(pools.max_pool1d, pools.avg_pool1d, "NCW")
pool2d = _pool(pools.max_pool2d, pools.avg_pool2d, "NCHW")
pool3d = _pool(pools.max_pool3d, pools.avg_pool3d, "NCDHW")


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The maximum or the mean ("max", "avg") of each image."""
    return _in_images(data, layout, _choose(pool_type, pools.global_max_pool2d, pools.global_avg_pool2d))


def pad(
    data: Tensor, pad_before: Sequence[int], pad_after: Sequence[int] | None = None, pad_value: float = 0.0,
    name: str = "PadInput", attrs: object = None,
) -> Tensor:  # fmt: skip
    """Pads each dimension with a value before and after its elements. pad_after: equal to `pad_before` if missing."""
    return padding.pad_tensor(data, _widths(pad_before, pad_after), pad_value, "constant", name)


def mirror_pad(
    data: Tensor, pad_before: Sequence[int], pad_after: Sequence[int] | None = None, mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> Tensor:  # fmt: skip
    """Pads each dimension with mirrored elements before and after."""
    return padding.mirror_pad_tensor(data, _widths(pad_before, pad_after), mode, name)


def _widths(before: Sequence[int], after: Sequence[int] | None) -> list[tuple[int, int]]:
    last = before if after is None else after
    if len(last) != len(before):
        raise OptionError(f"pad_before {list(before)} and pad_after {list(last)}, expected one number each")
    return list(zip(before, last, strict=True))


def batch_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor, axis: int | None = None,
    epsilon: float | None = None, center: bool | None = None, scale: bool | None = None, training: bool | None = None,
    momentum: float | None = None,
) -> list[Tensor]:  # fmt: skip
    """Batch normalization with the given means and variances; returns the result followed by these two. training: with
    those of the batch, which move the given ones by `momentum`. None for the defaults of `nn.batch_norm_training`.
    """
    options = {"axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    present: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if not training:
        return normalization.batch_norm(data, gamma, beta, moving_mean, moving_var, **present)
    moving: dict[str, Any] = {} if momentum is None else {"momentum": momentum}
    return normalization.batch_norm_training(data, gamma, beta, moving_mean, moving_var, **present, **moving)


def layer_norm(data: Tensor, gamma: Tensor, beta: Tensor | None, axis: Axes, epsilon: float = 1e-5) -> Tensor:
    """Normalization by the mean and the variance along `axis`, which are also the axes of gamma and beta."""
    axes = nonnegative_axes(axis, data.ndim, "layer_norm")
    return normalization.normalize_along(data, gamma, beta, axes, axes, epsilon, "layer_norm")


def group_norm(
    data: Tensor, gamma: Tensor | None, beta: Tensor | None, num_groups: int, channel_axis: int, axes: Axes,
    epsilon: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Normalization by the mean and variance of each group of channels along axes. axes: without the channel axis."""
    channel = nonnegative_axis(channel_axis, data.ndim, "group_norm")
    along = [d for d in nonnegative_axes(axes, data.ndim, "group_norm") if d != channel]
    return normalization.normalize_groups(data, gamma, beta, num_groups, channel, along, epsilon, "group_norm")


def instance_norm(
    data: Tensor, gamma: Tensor | None, beta: Tensor | None, channel_axis: int, axis: Axes, epsilon: float = 1e-5
) -> Tensor:
    """Normalization by the mean and the variance along axes. channel_axis: the axis of gamma and beta."""
    channel = nonnegative_axis(channel_axis, data.ndim, "instance_norm")
    along = nonnegative_axes(axis, data.ndim, "instance_norm")
    return normalization.normalize_along(data, gamma, beta, [channel], along, epsilon, "instance_norm")


def lrn(data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2) -> Tensor:
    """Local response normalization: by sums of squares of neighboring elements along an axis."""
    return normalization.lrn(data, size, axis, bias, alpha, beta)


def _adaptive_pool(greatest: Callable[..., Tensor], mean: Callable[..., Tensor], usual: str):
    def adaptive_pool(data: Tensor, output_size: Window, pool_type: str, layout: str = usual) -> Tensor:
        """The maximum or the mean ("max", "avg") of each of `output_size` windows of a signal, an image or a volume."""
        chosen = _choose(pool_type, greatest, mean)
        return _in_images(data, layout, lambda image, order: chosen(image, output_size, order))

    return adaptive_pool


adaptive_pool1d = _adaptive_pool(pools.adaptive_max_pool1d, pools.adaptive_avg_pool1d, "NCW")
adaptive_pool = _adaptive_pool(pools.adaptive_max_pool2d, pools.adaptive_avg_pool2d, "NCHW")
adaptive_pool3d = _adaptive_pool(pools.adaptive_max_pool3d, pools.adaptive_avg_pool3d, "NCDHW")


def upsampling(
    data: Tensor, scale_h: float, scale_w: float, layout: str = "NCHW", method: str = "nearest_neighbor",
    align_corners: bool = False, output_shape: None = None,
) -> Tensor:  # fmt: skip
    """An image upsampled by factors of height and width. output_shape: ignored; follows from the other arguments."""
    return image.upsampling(data, scale_h, scale_w, layout, method, align_corners)


def upsampling3d(
    data: Tensor, scale_d: float, scale_h: float, scale_w: float, layout: str = "NCDHW",
    method: str = "nearest_neighbor", coordinate_transformation_mode: str = "half_pixel", output_shape: None = None,
) -> Tensor:  # fmt: skip
    """A volume upsampled by factors of depth, height and width. output_shape: ignored; follows from the other
    arguments.
    """
    return image.upsampling3d(data, scale_d, scale_h, scale_w, layout, method, coordinate_transformation_mode)


def deformable_conv2d_nchw(
    data: Tensor, offset: Tensor, kernel: Tensor, strides: Window, padding: Window, dilation: Window,
    deformable_groups: int, groups: int, out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of images in NCHW whose windows have moved taps, with weights in OIHW."""
    options = (strides, padding, dilation, deformable_groups, groups)
    return vision.deformable_conv2d(data, offset, kernel, *options, out_dtype=out_dtype or data.dtype)


def deformable_conv2d_nhwc(
    data: Tensor, offset: Tensor, kernel: Tensor, strides: Window, padding: Window, dilation: Window,
    deformable_groups: int, groups: int, out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of images in NHWC whose windows have moved taps, with weights in HWIO."""
    options = (strides, padding, dilation, deformable_groups, groups)
    return vision.deformable_conv2d(
        data, offset, kernel, *options, data_layout="NHWC", kernel_layout="HWIO", out_dtype=out_dtype or data.dtype
    )


# Sparse matrices


def sparse_dense(
    dense_data: Tensor, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor, sparse_lhs: bool = False
) -> Tensor:
    """The product of a dense matrix and the transpose of a sparse one in CSR or BSR; with `sparse_lhs` that of the
    sparse matrix and the transpose of the dense one. Positions and columns are not checked."""
    return sparse_dense_of("sparse_dense", dense_data, [sparse_data, sparse_indices, sparse_indptr], sparse_lhs, False)


def sparse_dense_sp_rhs(data: Tensor, weight_data: Tensor, weight_indices: Tensor, weight_indptr: Tensor) -> Tensor:
    """The product of a dense matrix and the transpose of a sparse one."""
    return sparse_dense(data, weight_data, weight_indices, weight_indptr)


def sparse_dense_sp_lhs(data_data: Tensor, data_indices: Tensor, data_indptr: Tensor, weight: Tensor) -> Tensor:
    """The product of a sparse matrix and the transpose of a dense one."""
    return sparse_dense(weight, data_data, data_indices, data_indptr, True)


def sparse_conv2d(
    dense_data: Tensor, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor, layout: str = "NHWC",
    kernel_size: Any = 1,
) -> Tensor:  # fmt: skip
    """The convolution of images with a sparse matrix of weights of one pixel, in BSR."""
    sparse = [sparse_data, sparse_indices, sparse_indptr]
    return sparse_conv2d_of("sparse_conv2d", dense_data, sparse, layout, kernel_size, False)


# Streams and positions between elements


def correlation_nchw(
    data1: Tensor, data2: Tensor, kernel_size: int, max_displacement: int, stride1: int, stride2: int, padding: Any,
    is_multiply: bool,
) -> Tensor:  # fmt: skip
    """The means of the products of windows of an image with windows of another one that are displaced, as of the
    operator `nn.correlation`. padding: as of `get_pad_tuple`."""
    around = get_pad_tuple(padding, (kernel_size, kernel_size))
    return _correlation(data1, data2, kernel_size, max_displacement, stride1, stride2, around, is_multiply)


def bilinear_sample_nchw(data: Tensor, indices: Sequence[Any], max_y: Any, max_x: Any) -> PrimExpr:
    """The value of images NCHW at a position between elements: a mean of the four elements around it, weighted by the
    distances. indices: image, channel, y and x.  max_y, max_x: the last indices, beyond which elements are 0."""
    n, c, y, x = indices
    return _sample(lambda row, column: data(n, c, row, column), y, x, max_y, max_x)


def bilinear_sample_nhwc(data: Tensor, indices: Sequence[Any], max_y: Any, max_x: Any) -> PrimExpr:
    """The value of images NHWC at a position between elements. indices: image, y, x and channel. Else as of
    `bilinear_sample_nchw`."""
    n, y, x, c = indices
    return _sample(lambda row, column: data(n, row, column, c), y, x, max_y, max_x)


def _sample(element: Callable[[PrimExpr, PrimExpr], PrimExpr], y: Any, x: Any, max_y: Any, max_x: Any) -> PrimExpr:
    total: PrimExpr | None = None
    for (weight_y, row), (weight_x, column) in product(_neighbours(y), _neighbours(x)):
        inside = all_of(row >= 0, row <= max_y, column >= 0, column <= max_x)
        part = if_then_else(inside, weight_y * weight_x * element(row, column), 0)
        total = part if total is None else total + part
    assert total is not None
    return total


def _neighbours(position: Any) -> list[tuple[PrimExpr, PrimExpr]]:
    """The weights and the indices of the elements on both sides of a position."""
    place = as_expr(position)
    low = floor(place)
    index = cast("int32", low)
    return [(1 - (place - low), index), (place - low, index + 1)]
