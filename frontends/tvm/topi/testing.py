"""References of operators on arrays of numpy, under the names of `tvm.topi.testing`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ....operators.coordinates import diagonal_attributes
from ....operators.definition import OPERATORS
from ..absent import report_absent
from ..nd import Device, array
from ..target.target import Target, TargetLike
from ..testing import assert_allclose
from . import generic
from .blocked import padding_to_ceil
from .nn import conv2d_nchw
from .utils import get_pad_tuple_generic

Array = npt.NDArray[Any]

__getattr__ = report_absent("tvm.topi.testing")


def _reference(name: str, *operands: Array, **attributes: Any) -> Any:
    """The result, or the list of results, of an operator by its reference."""
    results = OPERATORS[name].arrays([np.asarray(operand) for operand in operands], attributes)
    return results[0] if len(results) == 1 else list(results)


def _convolution(name: str, data_layout: str, kernel_layout: str) -> Callable[..., Array]:
    def reference(a_np: Array, w_np: Array, stride: Any, padding: Any, dilation: Any = 1, groups: int = 1) -> Array:
        layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout}
        pads = padding if not isinstance(padding, str) else _pads(padding, w_np, kernel_layout, dilation)
        return _reference(name, a_np, w_np, strides=stride, padding=pads, dilation=dilation, groups=groups, **layouts)

    reference.__doc__ = f"`{name}` of data in the layout {data_layout} with weights in the layout {kernel_layout}."
    return reference


def _pads(padding: str, weight: Array, layout: str, dilation: Any) -> list[int]:
    """The padding of `SAME` or `VALID` before and after each axis, at every stride that of stride 1, as in TVM."""
    letters = [letter for letter in layout if letter in "DHW"]
    gaps = [dilation] * len(letters) if isinstance(dilation, int) else list(dilation)
    spans = [(weight.shape[layout.index(letter)] - 1) * gap + 1 for letter, gap in zip(letters, gaps, strict=True)]
    before, after = get_pad_tuple_generic(padding, spans)
    return [*before, *after]


conv1d_ncw_python = group_conv1d_ncw_python = _convolution("nn.conv1d", "NCW", "OIW")
conv2d_nchw_python = _convolution("nn.conv2d", "NCHW", "OIHW")
conv2d_nhwc_python = _convolution("nn.conv2d", "NHWC", "HWIO")
conv2d_hwcn_python = _convolution("nn.conv2d", "HWCN", "HWIO")
conv3d_ncdhw_python = _convolution("nn.conv3d", "NCDHW", "OIDHW")
conv3d_ndhwc_python = _convolution("nn.conv3d", "NDHWC", "DHWIO")


def _transposed_convolution(name: str, data_layout: str, kernel_layout: str) -> Callable[..., Array]:
    def reference(
        a_np: Array, w_np: Array, stride: Any, padding: Any, output_padding: Any = 0, groups: int = 1
    ) -> Array:
        layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout}
        sizes = {"strides": stride, "padding": padding, "output_padding": output_padding, "groups": groups}
        return _reference(name, a_np, w_np, **sizes, **layouts)

    reference.__doc__ = f"`{name}` of data in the layout {data_layout} with weights in the layout {kernel_layout}."
    return reference


conv1d_transpose_ncw_python = group_conv1d_transpose_ncw_python = _transposed_convolution(
    "nn.conv1d_transpose", "NCW", "IOW"
)
conv2d_transpose_nchw_python = _transposed_convolution("nn.conv2d_transpose", "NCHW", "IOHW")
conv3d_transpose_ncdhw_python = _transposed_convolution("nn.conv3d_transpose", "NCDHW", "IODHW")


def _resize(rank: int, usual: str) -> Callable[..., Array]:
    def reference(
        data: Array,
        scale: Sequence[float],
        layout: str = usual,
        method: str = "nearest_neighbor",
        coordinate_transformation_mode: str = "align_corners",
    ) -> Array:
        sizes = [round(data.shape[layout.index(letter)] * each) for letter, each in zip(usual[2:], scale, strict=True)]
        mode = {"coordinate_transformation_mode": coordinate_transformation_mode}
        return _reference(f"image.resize{rank}d", data, size=sizes, layout=layout, method=method, **mode)

    reference.__doc__ = f"`image.resize{rank}d` to `scale` times the sizes."
    return reference


resize1d_python = _resize(1, "NCW")
resize2d_python = _resize(2, "NCHW")
resize3d_python = _resize(3, "NCDHW")


def _regions(layout: str) -> Callable[..., Array]:
    def reference(
        a_np: Array, rois_np: Array, pooled_size: Any, spatial_scale: float, sample_ratio: int, mode: Any = b"avg"
    ) -> Array:
        attributes = {"pooled_size": pooled_size, "spatial_scale": spatial_scale, "sample_ratio": sample_ratio}
        how = mode.decode() if isinstance(mode, bytes) else "max" if mode == 1 else "avg" if mode == 0 else mode
        return _reference("vision.roi_align", a_np, rois_np, **attributes, layout=layout, mode=how)

    reference.__doc__ = f"`vision.roi_align` in the layout {layout}. mode: `avg` or 0 for means, `max` or 1 for maxima."
    return reference


roi_align_nchw_python = _regions("NCHW")
roi_align_nhwc_python = _regions("NHWC")


def roi_pool_nchw_python(a_np: Array, rois_np: Array, pooled_size: Any, spatial_scale: float) -> Array:
    """`vision.roi_pool`."""
    return _reference("vision.roi_pool", a_np, rois_np, pooled_size=pooled_size, spatial_scale=spatial_scale)


def reorg_python(a_np: Array, stride: int) -> Array:
    """`vision.yolo_reorg`."""
    return _reference("vision.yolo_reorg", a_np, stride=stride)


def _deformed(data_layout: str, kernel_layout: str) -> Callable[..., Array]:
    def reference(
        a_np: Array, offset_np: Array, w_np: Array, stride: Any, padding: Any, dilation: Any, deformable_groups: int,
        groups: int,
    ) -> Array:  # fmt: skip
        windows = {"strides": stride, "padding": padding, "dilation": dilation}
        counts = {"deformable_groups": deformable_groups, "groups": groups}
        layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout}
        return _reference("nn.deformable_conv2d", a_np, offset_np, w_np, **windows, **counts, **layouts)

    reference.__doc__ = f"`nn.deformable_conv2d` in the layout {data_layout}."
    return reference


deformable_conv2d_nchw_python = _deformed("NCHW", "OIHW")
deformable_conv2d_nhwc_python = _deformed("NHWC", "HWIO")


def crop_and_resize_python(
    image: Array, boxes: Array, box_indices: Array, crop_size: Sequence[int], layout: str, method: str = "bilinear",
    extrapolation_value: float = 0,
) -> Array:  # fmt: skip
    """`image.crop_and_resize`."""
    attributes = {"crop_size": list(crop_size), "layout": layout, "method": method}
    name = "image.crop_and_resize"
    return _reference(name, image, boxes, box_indices, **attributes, extrapolation_value=extrapolation_value)


def conv2d_transpose_nhwc_python(
    a_np: Array, w_np: Array, weight_format: str, stride: Any, padding: Any, output_padding: Any = (0, 0)
) -> Array:
    """`nn.conv2d_transpose` of data in the layout NHWC. weight_format: the layout of the weights."""
    sizes = {"strides": stride, "padding": padding, "output_padding": output_padding}
    layouts = {"data_layout": "NHWC", "kernel_layout": weight_format}
    return _reference("nn.conv2d_transpose", a_np, w_np, **sizes, **layouts)


def poolnd_python(
    np_data: Array, kernel: Sequence[int], strides: Sequence[int], dilation: Sequence[int],
    padding_before: Sequence[int], padding_after: Sequence[int], pool_type: str, count_include_pad: bool = True,
    ceil_mode: bool = False, dtype: str = "float32", layout: str | None = None,
) -> Array:  # fmt: skip
    """Pools of as many dimensions as the windows have. pool_type: `max` or `avg`.  count_include_pad: whether the
    padding is zeros, of maxima too.  layout: with the channels first by default."""
    rank = len(kernel)
    image = "DHW"[3 - rank :]
    order = layout or f"NC{image}"
    before, after = padding_before, padding_after
    if pool_type == "max" and count_include_pad:
        axes = map(order.index, image)
        around = dict(zip(axes, zip(before, after, strict=True), strict=True))
        np_data = np.pad(np_data, [around.get(d, (0, 0)) for d in range(np_data.ndim)])
        before = after = [0] * rank
    counts = {"count_include_pad": count_include_pad} if pool_type == "avg" else {}
    windows = {"pool_size": kernel, "strides": strides, "dilation": dilation, "ceil_mode": ceil_mode}
    result = _reference(
        f"nn.{pool_type}_pool{rank}d", np_data, **windows, padding=[*before, *after], **counts, layout=order
    )
    return result.astype(dtype)


def pool_grad_nchw(
    a_np: Array, out_grad_np: Array, pool_size: Sequence[int], strides: Sequence[int], padding: Sequence[int],
    pool_type: str, ceil_mode: bool, count_include_pad: bool = True,
) -> Array:  # fmt: skip
    """`nn.max_pool2d_grad` or `nn.avg_pool2d_grad`, as of `topi.nn.pool_grad`. padding: before and then after both
    dimensions."""
    said: dict[str, Any] = {"pool_size": pool_size, "strides": strides, "padding": padding, "ceil_mode": ceil_mode}
    if pool_type == "max":
        said |= {"padding": padding_to_ceil(padding, strides, 2), "ceil_mode": False} if ceil_mode else {}
        return _reference("nn.max_pool2d_grad", out_grad_np, a_np, **said)
    return _reference("nn.avg_pool2d_grad", out_grad_np, a_np, **said, count_include_pad=count_include_pad)


def adaptive_pool(np_data: Array, out_size: Any, pool_type: str, layout: str = "NCHW") -> Array:
    """`nn.adaptive_max_pool` and `nn.adaptive_avg_pool` of the dimensions of the layout. pool_type: `max` or `avg`."""
    rank = len(layout) - 2
    return _reference(f"nn.adaptive_{pool_type}_pool{rank}d", np_data, output_size=out_size, layout=layout)


def affine_grid_python(data: Array, target_shape: Sequence[int]) -> Array:
    """`image.affine_grid`."""
    return _reference("image.affine_grid", data, target_shape=target_shape)


def grid_sample_python(
    data: Array, grid: Array, method: str = "bilinear", layout: str = "NCHW", padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Array:  # fmt: skip
    """`image.grid_sample`."""
    named = {"method": method, "layout": layout, "padding_mode": padding_mode, "align_corners": align_corners}
    return _reference("image.grid_sample", data, grid, **named)


def space_to_batch_nd_python(
    data: Array, block_shape: Sequence[int], pad_before: Sequence[int], pad_after: Sequence[int], pad_value: float = 0
) -> Array:
    """`nn.space_to_batch_nd`."""
    around = list(zip(pad_before, pad_after, strict=True))
    return _reference("nn.space_to_batch_nd", data, block_shape=block_shape, paddings=around, pad_value=pad_value)


def batch_to_space_nd_python(
    data: Array, block_shape: Sequence[int], crop_begin_list: Sequence[int], crop_end_list: Sequence[int]
) -> Array:
    """`nn.batch_to_space_nd`."""
    crops = list(zip(crop_begin_list, crop_end_list, strict=True))
    return _reference("nn.batch_to_space_nd", data, block_shape=block_shape, crops=crops)


def depthwise_conv2d_python_nchw(input_np: Array, filter_np: Array, stride: Any, padding: Any) -> Array:
    """The convolution of each channel by its own filters. filter_np: (channels, multiplier, height, width)."""
    channels, multiplier, height, width = filter_np.shape
    weight = filter_np.reshape(channels * multiplier, 1, height, width)
    return conv2d_nchw_python(input_np, weight, stride, padding, groups=channels)


def depthwise_conv2d_python_nhwc(input_np: Array, filter_np: Array, stride: Any, padding: Any) -> Array:
    """The convolution of each channel by its own filters. filter_np: (height, width, channels, multiplier)."""
    images, filters = input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1)
    return depthwise_conv2d_python_nchw(images, filters, stride, padding).transpose(0, 2, 3, 1)


def depthwise_conv2d_python_nchwc(input_np: Array, filter_np: Array, stride: Any, padding: Any) -> Array:
    """The convolution of each channel of images in blocks, [batch, blocks, height, width, channels of a block].

    filter_np: [blocks of channels, blocks of filters, height, width, filters of a block, channels of a block].
    """
    images = input_np.transpose(0, 1, 4, 2, 3)
    filters = filter_np.transpose(0, 5, 1, 4, 2, 3)
    plain = images.reshape(len(images), -1, *images.shape[3:])
    weight = filters.reshape(plain.shape[1], -1, *filters.shape[4:])
    result = depthwise_conv2d_python_nchw(plain, weight, stride, padding)
    inner = filter_np.shape[5]
    return result.reshape(len(result), -1, inner, *result.shape[2:]).transpose(0, 1, 3, 4, 2)


def conv2d_backward_weight_python(
    dy_np: Array, x_np: Array, kernel_size: Any, stride: Any, padding: Any, layout: str = "NCHW", groups: int = 1,
    channels: int | None = None,
) -> Array:  # fmt: skip
    """`nn.conv2d_backward_weight`. layout: NCHW with a result OIHW, or NHWC with a result OHWI."""
    layouts = {"grad_layout": layout, "data_layout": layout, "kernel_layout": layout.translate(_KERNEL_LETTERS)}
    said = {"kernel_size": kernel_size, "strides": stride, "padding": padding, "groups": groups, "channels": channels}
    return _reference("nn.conv2d_backward_weight", dy_np, x_np, **said, **layouts)


_KERNEL_LETTERS = str.maketrans("NC", "OI")


def dense(x: Array, y: Array, bias: Array | None = None, use_bias: bool = False, use_relu: bool = False,
          out_dtype: str | None = None) -> Array:  # fmt: skip
    """`x @ y.T`, plus a bias, clipped below at 0, as requested."""
    dtype = out_dtype or x.dtype
    result = np.dot(x.astype(dtype), y.T.astype(dtype))
    result = result + bias if use_bias and bias is not None else result
    return np.maximum(result, 0) if use_relu else result


def batch_matmul(
    x: Array, y: Array, out_dtype: str | None = None, trans_x: bool = False, trans_y: bool = True
) -> Array:
    """The products of matrices, the second transposed by default."""
    left = np.swapaxes(x, 1, 2) if trans_x else x
    right = np.swapaxes(y, 1, 2) if trans_y else y
    dtype = out_dtype or x.dtype
    return np.matmul(left.astype(dtype), right.astype(dtype))


def softmax_python(a_np: Array, axis: int = 1) -> Array:
    """`nn.softmax`."""
    return _reference("nn.softmax", a_np, axis=axis)


def log_softmax_python(a_np: Array, axis: int = 1) -> Array:
    """`nn.log_softmax`."""
    return _reference("nn.log_softmax", a_np, axis=axis)


def l2_normalize_python(a_np: Array, eps: float, axis: Any = None) -> Array:
    """`nn.l2_normalize`."""
    return _reference("nn.l2_normalize", a_np, eps=eps, axis=axis)


def lrn_python(a_np: Array, size: int, axis: int, bias: float, alpha: float, beta: float) -> Array:
    """`nn.lrn`."""
    return _reference("nn.lrn", a_np, size=size, axis=axis, bias=bias, alpha=alpha, beta=beta)


def _along(vector: Array, axes: Sequence[int], data: Array) -> Array:
    """A tensor with the extents of `data` along axes, in the shape that broadcasts to `data`."""
    own = {axis % data.ndim for axis in axes}
    return np.reshape(vector, [extent if n in own else 1 for n, extent in enumerate(data.shape)])


def layer_norm_python(data: Array, gamma: Array, beta: Array | None, axis: Any, epsilon: float = 1e-5) -> Array:
    """The normalization of a tensor over its last axes. axis: these axes."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shift = None if beta is None else _along(beta, axes, data)
    return instance_norm_python(data, _along(gamma, axes, data), shift, axes, epsilon)


def instance_norm_python(data: Array, gamma: Array, beta: Array | None, axis: Any, epsilon: float = 1e-5) -> Array:
    """The normalization of a tensor over axes; gamma and beta broadcast to the tensor. axis: these axes."""
    axes = axis if isinstance(axis, int) else tuple(axis)
    result = (data - np.mean(data, axes, keepdims=True)) / np.sqrt(np.var(data, axes, keepdims=True) + epsilon) * gamma
    return result if beta is None else result + beta


def group_norm_python(
    data: Array, gamma: Array, beta: Array | None, num_groups: int, channel_axis: int, axes: Sequence[int],
    epsilon: float = 1e-5,
) -> Array:  # fmt: skip
    """The normalization of each group of channels over axes, in float32. axes: without that of the channels."""
    count, along = data.shape[channel_axis], [channel_axis + 1, *(n + (n > channel_axis) for n in axes)]
    grouped = [*data.shape[:channel_axis], num_groups, count // num_groups, *data.shape[channel_axis + 1 :]]
    parts = data.reshape(grouped).astype("float32")
    parts = instance_norm_python(parts, np.ones(1, "float32"), None, along, epsilon)
    result = parts.reshape(data.shape).astype(data.dtype) * _along(gamma, [channel_axis], data)
    return result if beta is None else result + _along(beta, [channel_axis], data)


def rms_norm_python(data: Array, weight: Array, axis: Any, epsilon: float = 1e-5) -> Array:
    """The quotient of a tensor by the root of the mean square of its elements along axes, times a weight of these
    axes."""
    return _reference("nn.rms_norm", data, weight, axis=axis, epsilon=epsilon)


def batch_norm(
    x: Array, gamma: Array, beta: Array, moving_mean: Array, moving_var: Array, axis: int, epsilon: float,
    center: bool, scale: bool, training: bool, momentum: float,
) -> list[Array]:  # fmt: skip
    """The normalization of the channels of a batch, and the moving moments. axis: that of the channels.  center,
    scale: whether beta is added, and whether gamma is a factor.  training: whether the moments are those of the batch,
    which update the moving ones by `momentum`."""
    said = {"axis": axis, "epsilon": epsilon, "center": center, "scale": scale}
    operands = x, gamma, beta, moving_mean, moving_var
    if training:
        return _reference("nn.batch_norm_training", *operands, momentum=momentum, **said)
    return _reference("nn.batch_norm", *operands, **said)


def slice_axis_python(data: Array, axis: int, begin: int, end: int | None = None) -> Array:
    """The slices of a tensor along an axis from `begin` up to `end`, exclusive; None for its end."""
    return data[tuple(slice(begin, end) if n == axis % data.ndim else slice(None) for n in range(data.ndim))]


def strided_set_python(
    data: Array, v: Array, begin: Sequence[int], end: Sequence[int], strides: Sequence[int]
) -> Array:
    """A tensor in which the elements of `strided_slice_python` are those of `v`."""
    result = data.copy()
    steps = list(strides) if len(strides) else [1] * len(begin)
    result[tuple(map(slice, begin, end, steps))] = v
    return result


def correlation_nchw_python(
    data1: Array, data2: Array, kernel_size: int, max_displacement: int, stride1: int, stride2: int, padding: int,
    is_multiply: bool,
) -> Array:  # fmt: skip
    """`nn.correlation`."""
    sizes = {"kernel_size": kernel_size, "max_displacement": max_displacement, "padding": padding}
    steps = {"stride1": stride1, "stride2": stride2, "is_multiply": is_multiply}
    return _reference("nn.correlation", data1, data2, **sizes, **steps)


def strided_slice_python(
    data: Array, begin: Sequence[int], end: Sequence[int], strides: Sequence[int] | None, slice_mode: str = "end",
    axes: Sequence[int] | None = None,
) -> Array:  # fmt: skip
    """The elements from `begin` to `end`, in steps. slice_mode: `size` if `end` are sizes, -1 for the rest."""
    index: list[slice] = [slice(None)] * data.ndim
    given = [] if slice_mode == "size" or strides is None else list(strides)
    for n, axis in enumerate(range(max(len(begin), len(end), len(given))) if axes is None else axes):
        start, stop = (each[n] if n < len(each) else None for each in (begin, end))
        if slice_mode == "size" and stop is not None:
            stop = None if stop < 0 else (start or 0) + stop
        index[axis] = slice(start, stop, given[n] if n < len(given) else 1)
    return data[tuple(index)]


def gather_python(data: Array, axis: int, indices: Array) -> Array:
    """`gather`."""
    return np.take_along_axis(data, np.asarray(indices).astype("int64"), axis)


def gather_nd_python(a_np: Array, indices_np: Array, batch_dims: int = 0) -> Array:
    """`gather_nd`."""
    return _reference("gather_nd", a_np, indices_np, batch_dims=batch_dims)


def one_hot(indices: Array, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str) -> Array:
    """An array with a new axis, along which it is `on_value` at the index and `off_value` elsewhere."""
    places = np.expand_dims(np.asarray(indices), axis)
    shape = [1] * places.ndim
    shape[axis] = depth
    return np.where(places == np.arange(depth).reshape(shape), on_value, off_value).astype(dtype)


def depth_to_space_python(data: Array, block_size: int, mode: str = "DCR") -> Array:
    """`nn.depth_to_space` in the layout NCHW."""
    return _reference("nn.depth_to_space", data, block_size=block_size, layout="NCHW", mode=mode)


def space_to_depth_python(data: Array, block_size: int) -> Array:
    """`nn.space_to_depth` in the layout NCHW."""
    return _reference("nn.space_to_depth", data, block_size=block_size, layout="NCHW")


def sequence_mask(data: Array, valid_length: Array, mask_value: float, axis: int) -> Array:
    """`sequence_mask`."""
    return _reference("sequence_mask", data, valid_length, mask_value=mask_value, axis=axis)


def matrix_set_diag(input_np: Array, diagonal: Array, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT") -> Array:
    """`matrix_set_diag`."""
    return _reference("matrix_set_diag", input_np, diagonal, **diagonal_attributes(k, align))


def nll_loss(
    predictions: Array, targets: Array, weights: Array, reduction: str = "mean", ignore_index: int = -100
) -> Array:
    """`nn.nll_loss`."""
    return _reference("nn.nll_loss", predictions, targets, weights, reduction=reduction, ignore_index=ignore_index)


def searchsorted_ref(sorted_sequence: Array, values: Array, right: bool, out_dtype: str) -> Array:
    """`searchsorted`."""
    return _reference("searchsorted", sorted_sequence, values, right=right, dtype=out_dtype)


def dilate_python(
    input_np: Array, strides: Sequence[int], dilation_value: float = 0.0, out_dtype: str | None = None
) -> Array:
    """An array with `strides - 1` elements of `dilation_value` between the elements of each axis."""
    shape = [(extent - 1) * step + 1 for extent, step in zip(input_np.shape, strides, strict=True)]
    result = np.full(shape, dilation_value, out_dtype or input_np.dtype)
    result[tuple(slice(None, None, step) for step in strides)] = input_np
    return result


# Schedules


def dispatch(target: TargetLike, dispatch_map: Mapping[str, Any]) -> Any:
    """The entry of a table for the first key of a target that it has, else that of `generic`."""
    return dispatch_map[next((key for key in Target(target).keys if key in dispatch_map), "generic")]


def get_conv2d_nchw_implement(target: TargetLike) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The function of convolutions NCHW and that of their schedules, for a target."""
    Target(target)
    return conv2d_nchw, generic.schedule_conv2d_nchw


def get_injective_schedule(target: TargetLike) -> Callable[[Any], Any]:
    """A function from tensors to a schedule of them, for a target."""
    Target(target)
    return generic.schedule_injective


get_broadcast_schedule = get_elemwise_schedule = get_reduce_schedule = get_injective_schedule


def compare_numpy_tvm(
    inputs: Sequence[Array], output: Array, target: TargetLike, device: Device, compute: Callable[..., Any],
    schedule: Callable[[Any], Any],
) -> None:  # fmt: skip
    """Raises AssertionError unless an operator, compiled for a target, computes `output` from `inputs`."""
    # lazy: the driver imports the package of this module
    from .. import build, te

    tensors = [te.placeholder(each.shape, str(each.dtype)) for each in inputs]
    with Target(target):
        result = compute(*tensors)
        func = build(schedule([result]), [*tensors, result])
        arrays = [array(each, device) for each in inputs]
        out = array(np.zeros(output.shape, output.dtype), device)
        func(*arrays, out)
    assert_allclose(out.numpy(), output, atol=1e-4, rtol=1e-4)


def lstm_python(
    Xs: Array, Wi: Array, Wh: Array, Bi: Array | None = None, Bh: Array | None = None,
    h_init: Array | None = None, c_init: Array | None = None, proj: Array | None = None, p_i: Array | None = None,
    p_f: Array | None = None, p_o: Array | None = None, f_act: str = "sigmoid", g_act: str = "tanh",
    h_act: str = "tanh", reverse: bool = False, weight_layout: str = "IFGO",
) -> tuple[Array, Array]:  # fmt: skip
    """`topi.nn.lstm` step by step. f_act, g_act, h_act: `sigmoid` or `tanh`."""
    functions = {"sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh}
    opened, made, shown = (functions[name] for name in (f_act, g_act, h_act))
    batch, hidden = Xs.shape[1], Wi.shape[0] // 4
    h = np.zeros((batch, Wh.shape[1]), Xs.dtype) if h_init is None else h_init
    c = np.zeros((batch, hidden), Xs.dtype) if c_init is None else c_init
    states: list[Array] = []
    cells: list[Array] = []
    for x in Xs[::-1] if reverse else Xs:
        sums = x @ Wi.T + h @ Wh.T + (0 if Bi is None else Bi) + (0 if Bh is None else Bh)
        gates = {letter: sums[:, n * hidden : (n + 1) * hidden] for n, letter in enumerate(weight_layout)}
        if p_i is not None and p_f is not None:
            gates["I"], gates["F"] = gates["I"] + p_i * c, gates["F"] + p_f * c
        c = opened(gates["F"]) * c + opened(gates["I"]) * made(gates["G"])
        h = opened(gates["O"] + (0 if p_o is None else p_o * c)) * shown(c)
        h = h if proj is None else h @ proj.T
        states.append(h)
        cells.append(c)
    return np.stack(states), np.stack(cells)
