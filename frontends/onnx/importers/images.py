"""Importers of convolutions, pools and other operators on images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype
from ...models.call import normalized_axis
from ...models.limits import require_created
from ...models.symbols import Symbol
from ...models.types import Array
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError, OnnxUnsupportedError
from ..registry import Results, importer
from .nn import absolute_powers, p_th_root
from .reductions import reduce_along
from .shapes import pad_axes, permute_axes


@dataclass(frozen=True)
class Windows:
    """The parameters of windows, for each spatial dimension. pads: the padding before and after the dimension."""

    sizes: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[tuple[int, int]]

    @property
    def flat_pads(self) -> list[int]:
        """The padding before each dimension, then the padding after each dimension."""
        return [before for before, _ in self.pads] + [after for _, after in self.pads]


def windows_of(call: Call, data: ModelTensor, sizes: Sequence[int], rank: int) -> Windows:
    """The windows of a convolution or a pool."""
    _check_windows(call, sizes, rank)
    strides, dilations = (call.integers_attribute(name, rank, 1, 1) for name in ("strides", "dilations"))
    auto = _auto_pad(call)
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        extents = known_integers(data.shape[2:], f"{auto} of an image of extents")
        pads = [_same_pads(*each, auto) for each in zip(extents, sizes, strides, dilations, strict=True)]
    else:
        pads = _pads(call, rank, auto)
    return Windows(list(sizes), strides, dilations, pads)


def _check_windows(call: Call, sizes: Sequence[int], rank: int) -> None:
    if len(sizes) != rank:
        raise OnnxError(f"{call.op_type}: windows of {list(sizes)}, expected {rank} numbers")


def _auto_pad(call: Call) -> str:
    return call.choice("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def _pads(call: Call, rank: int, auto: str) -> list[tuple[int, int]]:
    """The padding before and after each dimension, by the attributes of a node."""
    flat = [0] * (2 * rank) if auto == "VALID" else call.integers_attribute("pads", 2 * rank, 0, -(2**31))
    return list(zip(flat[:rank], flat[rank:], strict=True))


def _same_pads(extent: int, size: int, stride: int, dilation: int, auto: str) -> tuple[int, int]:
    """The padding of a dimension for which the number of windows is `ceil(extent / stride)`."""
    count = -(-extent // stride)
    whole = max((count - 1) * stride + (size - 1) * dilation + 1 - extent, 0)
    return (whole // 2, whole - whole // 2) if auto == "SAME_UPPER" else (whole - whole // 2, whole // 2)


def spatial_rank(call: Call, data: ModelTensor) -> int:
    """The number of spatial dimensions of an image. Raises OnnxUnsupportedError unless it is 1 to 3."""
    if not 1 <= data.rank - 2 <= 3:
        raise OnnxUnsupportedError(f"{call.op_type} of {data.rank - 2} dimensions, expected 1 to 3")
    return data.rank - 2


# Convolutions


@importer("Conv")
def conv(call: Call) -> ModelTensor:
    x, w, bias = call.widen_small_floats(call.tensor(0)), call.widen_small_floats(call.tensor(1)), call.optional(2)
    result = convolve(call, x, w)
    return call.cast(_add_bias(call, result, bias), call.tensor().dtype)


def convolve(call: Call, x: ModelTensor, w: ModelTensor) -> ModelTensor:
    """A convolution of `x` and `w` with the attributes of a node."""
    rank = spatial_rank(call, x)
    windows = windows_of(call, x, call.integers("kernel_shape") or w.static_shape[2:], rank)
    if any(n < 0 for pair in windows.pads for n in pair):
        x = pad_axes(call, x, [(0, 0), (0, 0), *windows.pads], "constant")
        windows = Windows(windows.sizes, windows.strides, windows.dilations, [(0, 0)] * rank)
    return call.op(
        f"nn.conv{rank}d",
        x,
        w,
        strides=windows.strides,
        padding=windows.flat_pads,
        dilation=windows.dilations,
        groups=call.integer("group", 1),
    )


def _add_bias(call: Call, data: ModelTensor, bias: ModelTensor | None) -> ModelTensor:
    return data if bias is None else call.op("nn.bias_add", data, call.widen_small_floats(bias), axis=1)


@importer("ConvTranspose")
def conv_transpose(call: Call) -> ModelTensor:
    x, w = call.widen_small_floats(call.tensor(0)), call.widen_small_floats(call.tensor(1))
    rank = spatial_rank(call, x)
    sizes = list(call.integers("kernel_shape") or w.static_shape[2:])
    _check_windows(call, sizes, rank)
    strides, dilations = (call.integers_attribute(name, rank, 1, 1) for name in ("strides", "dilations"))
    more = call.integers_attribute("output_padding", rank, 0, 0)
    pads = _transposed_pads(call, x, sizes, strides, dilations, more)
    cropped = [(max(before, 0), max(after, 0)) for before, after in pads]
    result = call.op(
        f"nn.conv{rank}d_transpose",
        x,
        w,
        strides=strides,
        padding=[before for before, _ in cropped] + [after for _, after in cropped],
        dilation=dilations,
        output_padding=more,
        groups=call.integer("group", 1),
    )
    around = [(max(-before, 0), max(-after, 0)) for before, after in pads]
    result = pad_axes(call, result, [(0, 0), (0, 0), *around], "constant")
    return call.cast(_add_bias(call, result, call.optional(2)), call.tensor().dtype)


def _transposed_pads(
    call: Call,
    x: ModelTensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    more: Sequence[int],
) -> list[tuple[int, int]]:
    """The cropping before and after each dimension of a transposed convolution; negative for padding."""
    rank, wanted, auto = len(sizes), call.integers("output_shape"), _auto_pad(call)
    same = auto in ("SAME_UPPER", "SAME_LOWER")
    if wanted is None and not same:
        return _pads(call, rank, auto)
    extents = known_integers(x.shape[2:], "ConvTranspose to a shape from extents")
    if wanted is not None and len(wanted) not in (rank, rank + 2):
        raise OnnxError(f"attribute 'output_shape': expected {rank} numbers, got {list(wanted)}")
    target = wanted[-rank:] if wanted is not None else [n * stride for n, stride in zip(extents, strides, strict=True)]
    pads: list[tuple[int, int]] = []
    for n, size, stride, dilation, extra, out in zip(extents, sizes, strides, dilations, more, target, strict=True):
        total = stride * (n - 1) + extra + (size - 1) * dilation + 1 - out
        small, rest = total // 2, total - total // 2
        pads.append((small, rest) if auto == "SAME_UPPER" else (rest, small))
    return pads


# Pools


def _pool_attributes(call: Call, x: ModelTensor, rank: int) -> dict[str, Any]:
    """The attributes of the relay pool operator for a node."""
    windows = windows_of(call, x, call.integers("kernel_shape") or (), rank)
    return {
        "pool_size": windows.sizes,
        "strides": windows.strides,
        "dilation": windows.dilations,
        "padding": windows.flat_pads,
        "ceil_mode": call.integer("ceil_mode") == 1 and _auto_pad(call) == "NOTSET",
    }


@importer("MaxPool")
def max_pool(call: Call) -> Results:
    x = call.tensor()
    rank = spatial_rank(call, x)
    attributes = _pool_attributes(call, x, rank)
    if call.used_result_count < 2:
        return Results([call.op(f"nn.max_pool{rank}d", x, **attributes)])
    maxima, places = call.ops(f"nn.max_pool{rank}d_with_places", x, **attributes)
    return Results([maxima, _flat_positions(call, call.cast(places, "int64"), x)])


def _flat_positions(call: Call, places: ModelTensor, x: ModelTensor) -> ModelTensor:
    """Converts row-major positions within a channel to positions within the whole tensor, in the order of the attribute
    `storage_order`."""
    batch, channels, *image = x.extents
    if call.integer("storage_order"):
        left, weights = places, np.cumprod([1, *known_integers(image, "MaxPool by columns of extents")])
        places = call.constant(0, "int64")
        for extent, weight in reversed(list(zip(image, weights, strict=False))):
            own = call.scalar("multiply", call.scalar("floor_mod", left, extent), int(weight))
            places, left = call.op("add", places, own), call.scalar("floor_divide", left, extent)
    first = call.op("expand_dims", call.builder.index_vector(batch), axis=1, num_newaxis=len(image) + 1)
    second = call.op("expand_dims", call.builder.index_vector(channels), axis=1, num_newaxis=len(image))
    channel = call.op("add", call.op("multiply", first, call.builder.size_value(channels)), second)
    return call.op("add", places, call.op("multiply", channel, call.builder.size_value(math.prod(image))))


@importer("MaxUnpool")
def max_unpool(call: Call) -> ModelTensor:
    """Scatters elements to the positions returned by `MaxPool` in a tensor of zeros; pads it with zeros to
    `output_shape`."""
    x, places = call.tensor(0), call.tensor(1)
    rank = spatial_rank(call, x)
    windows = windows_of(call, x, call.integers("kernel_shape") or (), rank)
    parts = zip(x.static_shape[2:], windows.strides, windows.sizes, windows.pads, strict=True)
    shape = [*x.static_shape[:2], *((n - 1) * stride + size - sum(pads) for n, stride, size, pads in parts)]
    wanted = call.constant_integers(2, "output_shape") or shape
    if len(wanted) != len(shape) or any(n < least for n, least in zip(wanted, shape, strict=True)):
        raise OnnxError(f"MaxUnpool to output_shape {list(wanted)}, expected {shape} at least")
    zeros = call.builder.full([math.prod(shape)], np.zeros((), numpy_dtype(x.dtype)))
    flat = [call.builder.reshape(each, [math.prod(x.static_shape)]) for each in (places, x)]
    unpooled = call.builder.reshape(call.op("scatter_elements", zeros, *flat, axis=0), shape)
    return pad_axes(call, unpooled, [(0, n - least) for n, least in zip(wanted, shape, strict=True)], "constant")


@importer("AveragePool")
def average_pool(call: Call) -> ModelTensor:
    x = call.tensor()
    rank = spatial_rank(call, x)
    include = call.integer("count_include_pad") == 1
    result = call.op(
        f"nn.avg_pool{rank}d", call.widen_small_floats(x), **_pool_attributes(call, x, rank), count_include_pad=include
    )
    return call.cast(result, x.dtype)


@importer("LpPool")
def lp_pool(call: Call) -> ModelTensor:
    """The root of the sums of powers, computed by a convolution of each channel with ones."""
    x, p = call.widen_small_floats(call.tensor()), call.integer("p", 2)
    rank = spatial_rank(call, x)
    windows = windows_of(call, x, call.integers("kernel_shape") or (), rank)
    pads = windows.pads
    if call.integer("ceil_mode"):
        extents = known_integers(x.shape[2:], "LpPool with ceil_mode of extents")
        pads = [
            _ceil_pads(*each)
            for each in zip(extents, windows.sizes, windows.strides, windows.dilations, pads, strict=True)
        ]
    channels = known_integers(x.shape[1:2], "LpPool of channels")[0]
    require_created([channels, *windows.sizes], "the weight of LpPool")
    ones = call.constant(np.ones((channels, 1, *windows.sizes), numpy_dtype(x.dtype)))
    flat = [before for before, _ in pads] + [after for _, after in pads]
    options: dict[str, Any] = {"strides": windows.strides, "padding": flat, "dilation": windows.dilations}
    total = call.op(f"nn.conv{rank}d", absolute_powers(call, x, p), ones, groups=channels, **options)
    return call.cast(p_th_root(call, total, p), call.tensor().dtype)


def _ceil_pads(extent: int, size: int, stride: int, dilation: int, pads: tuple[int, int]) -> tuple[int, int]:
    """The padding of a dimension in ceil mode: up to the end of the last window that starts in the image or before
    it."""
    before, after = pads
    window = (size - 1) * dilation + 1
    count = -(-(extent + before + after - window) // stride) + 1
    if (count - 1) * stride >= extent + before:
        count -= 1
    return before, max((count - 1) * stride + window - extent - before, after)


@importer("GlobalAveragePool")
def global_average_pool(call: Call) -> ModelTensor:
    x = call.tensor()
    return reduce_along(call, "mean", x, range(2, x.rank), True)


@importer("GlobalMaxPool")
def global_max_pool(call: Call) -> ModelTensor:
    x = call.tensor()
    return reduce_along(call, "max", x, range(2, x.rank), True)


# Other sizes


@importer("DepthToSpace")
def depth_to_space(call: Call) -> ModelTensor:
    mode = call.choice("mode", "DCR", "CRD")
    return call.op("nn.depth_to_space", call.tensor(), block_size=call.integer("blocksize"), mode=mode)


@importer("SpaceToDepth")
def space_to_depth(call: Call) -> ModelTensor:
    x, size = call.tensor(), call.integer("blocksize")
    if call.choice("mode", "DCR", "CRD") == "DCR":
        return call.op("nn.space_to_depth", x, block_size=size)
    batch, channels, height, width = x.extents
    rows, columns = (known_integers([n], "SpaceToDepth of")[0] // size for n in (height, width))
    blocks = call.builder.reshape(x, [batch, channels, rows, size, columns, size])
    moved = call.op("transpose", blocks, axes=[0, 1, 3, 5, 2, 4])
    return call.builder.reshape(moved, [batch, channels * size * size, rows, columns])


_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic", "bilinear": "linear"}


@importer("Upsample")
def upsample(call: Call) -> ModelTensor:
    x = call.tensor()
    scales = call.attribute("scales") if call.version < 9 else call.constant_vector(1, "scales")
    if scales is None:
        raise OnnxError("Upsample without scales")
    factors = [float(each) for each in scales]
    sizes = _scaled_sizes(call, x.static_shape, factors)
    return _resize(call, x, range(x.rank), sizes, factors, call.text("mode", "nearest"), "asymmetric", "floor", None)


@importer("Resize")
def resize(call: Call) -> ModelTensor:
    x = call.tensor()
    axes = every = [normalized_axis(axis, x.rank) for axis in call.integers("axes") or range(x.rank)]
    factors = call.constant_elements(1, "scales") if call.version < 11 else call.constant_elements(2, "scales")
    wanted = None if call.version < 11 else call.constant_elements(3, "sizes")
    mode, where = call.text("mode", "nearest"), call.text("coordinate_transformation_mode", "half_pixel")
    for what, numbers in (("scales", factors), ("sizes", wanted)):
        if numbers is not None and numbers.size and numbers.shape != (len(axes),):
            raise OnnxError(f"Resize: {what} of shape {list(numbers.shape)}, expected [{len(axes)}]")
    if wanted is not None and wanted.size:
        changed = [n for n, size in enumerate(wanted) if not isinstance(size, Symbol) or repr(size) != x.shape[axes[n]]]
        call.raise_unsupported_if(
            len(changed) < len(axes) and call.attribute("keep_aspect_ratio_policy"), "a ratio of open sizes"
        )
        axes, wanted = [axes[n] for n in changed], [wanted[n] for n in changed]
        sizes, scales = _sizes_and_scales(call, _extents(x, axes), known_integers(wanted, "Resize to sizes"))
    elif factors is not None and factors.size:
        changed = [n for n, scale in enumerate(factors) if scale != 1 or isinstance(x.shape[axes[n]], int)]
        axes, scales = [axes[n] for n in changed], [float(factors[n]) for n in changed]
        sizes = _scaled_sizes(call, _extents(x, axes), scales)
    else:
        raise OnnxError("Resize: neither scales nor sizes")
    if call.version < 11:
        return _resize(call, x, axes, sizes, scales, mode, "asymmetric", "floor", None)
    roi = call.constant_elements(1, "roi") if where == "tf_crop_and_resize" else None
    if roi is not None:
        if roi.size != 2 * len(every):
            raise OnnxError(f"Resize: roi of {roi.size} numbers, expected {2 * len(every)}")
        roi = roi.reshape(2, -1)[:, [every.index(axis) for axis in axes]].ravel()
    rounding = call.text("nearest_mode", "round_prefer_floor")
    return _resize(call, x, axes, sizes, scales, mode, where, rounding, roi)


def _scaled_sizes(call: Call, extents: Sequence[int], scales: Sequence[float]) -> list[int]:
    """The extents times scale factors, rounded down. Raises OnnxError for factors that are no positive numbers."""
    if len(scales) != len(extents) or not all(0 < scale < math.inf for scale in scales):
        raise OnnxError(f"{call.op_type}: scales {list(scales)}, expected {len(extents)} finite numbers above 0")
    return [math.floor(n * scale) for n, scale in zip(extents, scales, strict=True)]


def _extents(x: ModelTensor, axes: Sequence[int]) -> tuple[int, ...]:
    return known_integers([x.shape[axis] for axis in axes], "Resize of extents")


def _sizes_and_scales(call: Call, extents: Sequence[int], sizes: Sequence[int]) -> tuple[list[int], list[float]]:
    """The sizes and scales of a resize, by the attribute `keep_aspect_ratio_policy`."""
    policy = call.choice("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
    if 0 in extents:
        raise OnnxUnsupportedError(f"Resize of extents {list(extents)}, expected at least 1")
    ratios = [size / n for size, n in zip(sizes, extents, strict=True)]
    if policy == "stretch":
        return list(sizes), ratios
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(n * scale + 0.5) for n in extents], [scale] * len(extents)


def _resize(
    call: Call,
    x: ModelTensor,
    axes: Sequence[int],
    sizes: Sequence[int],
    scales: Sequence[float],
    mode: str,
    where: str,
    rounding: str,
    roi: Any,
) -> ModelTensor:
    """Resizes an image. Moves the resized axes after the others, which are folded into two axes."""
    if mode not in _METHODS:
        raise OnnxUnsupportedError(f"{call.op_type}: mode '{mode}' is not supported")
    if any(n == 0 for n in sizes):
        raise OnnxUnsupportedError(f"{call.op_type}: to an extent of 0")
    changed = [n for n, axis in enumerate(axes) if sizes[n] != x.shape[axis] or scales[n] != 1 or roi is not None]
    starts, ends = ([], []) if roi is None else (list(roi[: len(axes)]), list(roi[len(axes) :]))
    if roi is not None:
        changed = [n for n in changed if (starts[n], ends[n], sizes[n]) != (0, 1, x.shape[axes[n]])]
    if not changed:
        return x
    if call.integer("antialias") and mode != "nearest" and any(scale < 1 for scale in scales):
        return _resize_antialiased(call, x, [(axes[n], sizes[n], scales[n]) for n in changed], mode, where)
    if len(changed) > 3:
        raise OnnxUnsupportedError(f"{call.op_type} of {len(changed)} dimensions, expected 3 at most")
    if where == "align_corners" and any(int(x.shape[axes[n]]) * scales[n] != sizes[n] for n in changed):
        # The length of the result by ONNX's formula is then not an integer.
        where, scales = "asymmetric", [_from_corners(int(x.shape[axes[n]]), scale) for n, scale in enumerate(scales)]
    last = [axes[n] for n in changed]
    order = [axis for axis in range(x.rank) if axis not in last] + last
    extents = x.extents[order]
    leading = extents[: x.rank - len(last)]
    image = call.op("transpose", x, axes=order) if order != list(range(x.rank)) else x
    if len(leading) != 2:
        image = call.builder.reshape(image, [1, math.prod(leading), *extents[len(leading) :]])
    options: dict[str, Any] = {}
    if roi is not None:
        options["roi"] = [float(starts[n]) for n in changed] + [float(ends[n]) for n in changed]
        options["extrapolation_value"] = call.floating("extrapolation_value")
    resized = call.op(
        f"image.resize{len(last)}d",
        image,
        size=[int(sizes[n]) for n in changed],
        method=_METHODS[mode],
        coordinate_transformation_mode=where,
        rounding_method=rounding if mode == "nearest" else "",
        cubic_alpha=call.floating("cubic_coeff_a", -0.75),
        cubic_exclude=call.integer("exclude_outside"),
        scales=[float(scales[n]) for n in changed],
        **options,
    )
    resized = call.builder.reshape(resized, [*leading, *(sizes[n] for n in changed)])
    back = [order.index(axis) for axis in range(x.rank)]
    return call.op("transpose", resized, axes=back) if back != list(range(x.rank)) else resized


def _resize_antialiased(
    call: Call, x: ModelTensor, targets: Sequence[tuple[int, int, float]], mode: str, where: str
) -> ModelTensor:
    """Resizes an image with an antialiasing filter, as a matrix product along each axis. targets: (axis, size, scale)
    of each resized axis."""
    resized = call.widen_small_floats(x)
    for axis, size, scale in targets:
        weights = _antialias_weights(call, int(x.shape[axis]), size, scale, mode, where)
        order = [d for d in range(x.rank) if d != axis] + [axis]
        rows = permute_axes(call, resized, order)
        rows = call.op("nn.dense", rows, call.constant(weights, resized.dtype))
        resized = permute_axes(call, rows, [order.index(d) for d in range(x.rank)])
    return call.cast(resized, x.dtype)


def _antialias_weights(call: Call, extent: int, size: int, scale: float, mode: str, where: str) -> Array:
    """The filter weights of an axis, (size, extent). Elements beyond the ends repeat the elements at the ends."""
    require_created([size, extent], "the matrix of a resize")
    out = np.arange(size)
    match where:
        case "asymmetric":
            places = out / scale
        case "align_corners":
            places = out * (extent - 1) / (extent * scale - 1) if extent * scale != 1 else out * 0.0
        case "half_pixel" | "pytorch_half_pixel":
            places = (out + 0.5) / scale - 0.5 if size > 1 or where == "half_pixel" else out - 0.5
        case "half_pixel_symmetric":
            places = extent / 2 * (1 - size / (extent * scale)) + (out + 0.5) / scale - 0.5
        case _:
            raise OnnxUnsupportedError(f"{call.op_type}: {where} with antialias is not supported")
    narrow = min(scale, 1.0)
    reach = math.ceil(2 / narrow) + 1
    require_created([size, 2 * reach + 1], "the weights of a resize")
    taps = np.floor(places)[:, None].astype(int) + np.arange(-reach, reach + 1)
    far = np.abs(taps - places[:, None]) * narrow
    weights = np.clip(1 - far, 0, 1) if mode != "cubic" else _cubic_weights(far, call.floating("cubic_coeff_a", -0.75))
    if call.integer("exclude_outside"):
        weights[(taps < 0) | (taps >= extent)] = 0
    weights /= weights.sum(1, keepdims=True)
    matrix = np.zeros((size, extent))
    np.add.at(matrix, (out[:, None], np.clip(taps, 0, extent - 1)), weights)
    return matrix


def _cubic_weights(far: Array, a: float) -> Array:
    """Keys' cubic weights for distances `far`."""
    near = ((a + 2) * far - (a + 3)) * far * far + 1
    return np.where(far <= 1, near, np.where(far < 2, ((a * far - 5 * a) * far + 8 * a) * far - 4 * a, 0.0))


def _from_corners(extent: int, scale: float) -> float:
    """The scale of a resize that aligns the first and last elements of the result with the corners of the image."""
    if scale == 1 or extent == 1 or extent * scale == 1:
        return scale if scale == 1 else math.inf
    return (extent * scale - 1) / (extent - 1)
