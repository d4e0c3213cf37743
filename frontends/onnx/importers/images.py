"""Convolutions, pools and other operators on images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype
from ..call import Call, axis_in
from ..errors import OnnxError, OnnxUnsupportedError
from ..graph import Array
from ..registry import Results, importer
from ..symbols import Symbol
from ..values import Tensor, known_numbers
from .nn import powers_of, root_of
from .reductions import reduce_along
from .shapes import padded, transposed


@dataclass(frozen=True)
class Windows:
    """What is said of windows, for each dimension of an image. pads: in front and behind."""

    sizes: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[tuple[int, int]]

    @property
    def flat_pads(self) -> list[int]:
        """All in front, then all behind."""
        return [front for front, _ in self.pads] + [behind for _, behind in self.pads]


def windows_of(call: Call, data: Tensor, sizes: Sequence[int], rank: int) -> Windows:
    """The windows of a convolution or a pool."""
    if len(sizes) != rank:
        raise OnnxError(f"{call.op_type}: windows of {list(sizes)}, expected {rank} numbers")
    strides, dilations = (call.each(name, rank, 1, 1) for name in ("strides", "dilations"))
    auto = _auto_pad(call)
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        extents = known_numbers(data.shape[2:], f"{auto} of an image of extents")
        pads = [_same(*each, auto) for each in zip(extents, sizes, strides, dilations, strict=True)]
    else:
        pads = _pads(call, rank, auto)
    return Windows(list(sizes), strides, dilations, pads)


def _auto_pad(call: Call) -> str:
    return call.choice("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def _pads(call: Call, rank: int, auto: str) -> list[tuple[int, int]]:
    """What a node says is in front of and behind each dimension."""
    flat = [0] * (2 * rank) if auto == "VALID" else call.each("pads", 2 * rank, 0, -(2**31))
    return list(zip(flat[:rank], flat[rank:], strict=True))


def _same(extent: int, size: int, stride: int, dilation: int, auto: str) -> tuple[int, int]:
    """Padding such that there are as many windows as strides begin in the image."""
    count = -(-extent // stride)
    whole = max((count - 1) * stride + (size - 1) * dilation + 1 - extent, 0)
    return (whole // 2, whole - whole // 2) if auto == "SAME_UPPER" else (whole - whole // 2, whole // 2)


def rank_of(call: Call, data: Tensor) -> int:
    """How many dimensions an image has. OnnxUnsupportedError for more than 3."""
    if not 1 <= data.rank - 2 <= 3:
        raise OnnxUnsupportedError(f"{call.op_type} of {data.rank - 2} dimensions, expected 1 to 3")
    return data.rank - 2


# Convolutions


@importer("Conv")
def conv(call: Call) -> Tensor:
    x, w, bias = call.widened(call.tensor(0)), call.widened(call.tensor(1)), call.optional(2)
    made = convolved(call, x, w)
    return call.cast(_biased(call, made, bias), call.tensor().dtype)


def convolved(call: Call, x: Tensor, w: Tensor) -> Tensor:
    """The convolution that a node says, of other tensors than its own."""
    rank = rank_of(call, x)
    said = windows_of(call, x, call.integers("kernel_shape") or w.numbers[2:], rank)
    if any(n < 0 for pair in said.pads for n in pair):
        x = padded(call, x, [(0, 0), (0, 0), *said.pads], "constant")
        said = Windows(said.sizes, said.strides, said.dilations, [(0, 0)] * rank)
    return call.op(
        f"nn.conv{rank}d",
        x,
        w,
        strides=said.strides,
        padding=said.flat_pads,
        dilation=said.dilations,
        groups=call.integer("group", 1),
    )


def _biased(call: Call, data: Tensor, bias: Tensor | None) -> Tensor:
    return data if bias is None else call.op("nn.bias_add", data, call.widened(bias), axis=1)


@importer("ConvTranspose")
def conv_transpose(call: Call) -> Tensor:
    x, w = call.widened(call.tensor(0)), call.widened(call.tensor(1))
    rank = rank_of(call, x)
    sizes = list(call.integers("kernel_shape") or w.numbers[2:])
    strides, dilations = (call.each(name, rank, 1, 1) for name in ("strides", "dilations"))
    more = call.each("output_padding", rank, 0, 0)
    pads = _transposed_pads(call, x, sizes, strides, dilations, more)
    cropped = [(max(front, 0), max(behind, 0)) for front, behind in pads]
    made = call.op(
        f"nn.conv{rank}d_transpose",
        x,
        w,
        strides=strides,
        padding=[front for front, _ in cropped] + [behind for _, behind in cropped],
        dilation=dilations,
        output_padding=more,
        groups=call.integer("group", 1),
    )
    around = [(max(-front, 0), max(-behind, 0)) for front, behind in pads]
    made = padded(call, made, [(0, 0), (0, 0), *around], "constant")
    return call.cast(_biased(call, made, call.optional(2)), call.tensor().dtype)


def _transposed_pads(
    call: Call, x: Tensor, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int], more: Sequence[int]
) -> list[tuple[int, int]]:
    """What is cut off in front and behind; less than 0 where something is added."""
    rank, wanted, auto = len(sizes), call.integers("output_shape"), _auto_pad(call)
    same = auto in ("SAME_UPPER", "SAME_LOWER")
    if wanted is None and not same:
        return _pads(call, rank, auto)
    extents = known_numbers(x.shape[2:], "ConvTranspose to a shape from extents")
    target = wanted[-rank:] if wanted is not None else [n * stride for n, stride in zip(extents, strides, strict=True)]
    found: list[tuple[int, int]] = []
    for n, size, stride, dilation, extra, out in zip(extents, sizes, strides, dilations, more, target, strict=True):
        total = stride * (n - 1) + extra + (size - 1) * dilation + 1 - out
        small, rest = total // 2, total - total // 2
        found.append((small, rest) if auto == "SAME_UPPER" else (rest, small))
    return found


# Pools


def _pool_said(call: Call, x: Tensor, rank: int) -> dict[str, Any]:
    """What a node says of windows, as attributes of pools."""
    said = windows_of(call, x, call.integers("kernel_shape") or (), rank)
    return {
        "pool_size": said.sizes,
        "strides": said.strides,
        "dilation": said.dilations,
        "padding": said.flat_pads,
        "ceil_mode": call.integer("ceil_mode") == 1 and _auto_pad(call) == "NOTSET",
    }


@importer("MaxPool")
def max_pool(call: Call) -> Results:
    x = call.tensor()
    rank = rank_of(call, x)
    said = _pool_said(call, x, rank)
    if call.asked < 2:
        return Results([call.op(f"nn.max_pool{rank}d", x, **said)])
    made, places = call.ops(f"nn.max_pool{rank}d_with_places", x, **said)
    return Results([made, _places_in_all(call, call.cast(places, "int64"), x)])


def _places_in_all(call: Call, places: Tensor, x: Tensor) -> Tensor:
    """Places in each channel, counted row by row, as places among all elements, counted as `storage_order` says."""
    batch, channels, *image = x.extents
    if call.integer("storage_order"):
        left, weights = places, np.cumprod([1, *known_numbers(image, "MaxPool by columns of extents")])
        places = call.constant(0, "int64")
        for extent, weight in reversed(list(zip(image, weights, strict=False))):
            own = call.scalar("multiply", call.scalar("floor_mod", left, extent), int(weight))
            places, left = call.op("add", places, own), call.scalar("floor_divide", left, extent)
    first = call.op("expand_dims", call.builder.places(batch), axis=1, num_newaxis=len(image) + 1)
    second = call.op("expand_dims", call.builder.places(channels), axis=1, num_newaxis=len(image))
    channel = call.op("add", call.op("multiply", first, call.builder.size_value(channels)), second)
    return call.op("add", places, call.op("multiply", channel, call.builder.size_value(math.prod(image))))


@importer("MaxUnpool")
def max_unpool(call: Call) -> Tensor:
    """Zeros, and elements at the places that `MaxPool` gives; more zeros behind make the shape that is asked for."""
    x, places = call.tensor(0), call.tensor(1)
    rank = rank_of(call, x)
    said = windows_of(call, x, call.integers("kernel_shape") or (), rank)
    parts = zip(x.numbers[2:], said.strides, said.sizes, said.pads, strict=True)
    shape = [*x.numbers[:2], *((n - 1) * stride + size - sum(pads) for n, stride, size, pads in parts)]
    wanted = call.numbers(2, "output_shape") or shape
    if len(wanted) != len(shape) or any(n < least for n, least in zip(wanted, shape, strict=True)):
        raise OnnxError(f"MaxUnpool to output_shape {list(wanted)}, expected {shape} at least")
    zeros = call.builder.full([math.prod(shape)], np.zeros((), numpy_dtype(x.dtype)))
    flat = [call.builder.reshape(each, [math.prod(x.numbers)]) for each in (places, x)]
    made = call.builder.reshape(call.op("scatter_elements", zeros, *flat, axis=0), shape)
    return padded(call, made, [(0, n - least) for n, least in zip(wanted, shape, strict=True)], "constant")


@importer("AveragePool")
def average_pool(call: Call) -> Tensor:
    x = call.tensor()
    rank = rank_of(call, x)
    include = call.integer("count_include_pad") == 1
    made = call.op(f"nn.avg_pool{rank}d", call.widened(x), **_pool_said(call, x, rank), count_include_pad=include)
    return call.cast(made, x.dtype)


@importer("LpPool")
def lp_pool(call: Call) -> Tensor:
    """The root of sums of powers: a convolution of each channel with ones."""
    x, p = call.widened(call.tensor()), call.integer("p", 2)
    rank = rank_of(call, x)
    said = windows_of(call, x, call.integers("kernel_shape") or (), rank)
    pads = said.pads
    if call.integer("ceil_mode"):
        extents = known_numbers(x.shape[2:], "LpPool with ceil_mode of extents")
        pads = [_reached(*each) for each in zip(extents, said.sizes, said.strides, said.dilations, pads, strict=True)]
    channels = known_numbers(x.shape[1:2], "LpPool of channels")[0]
    ones = call.constant(np.ones((channels, 1, *said.sizes), numpy_dtype(x.dtype)))
    flat = [front for front, _ in pads] + [behind for _, behind in pads]
    options: dict[str, Any] = {"strides": said.strides, "padding": flat, "dilation": said.dilations}
    total = call.op(f"nn.conv{rank}d", powers_of(call, x, p), ones, groups=channels, **options)
    return call.cast(root_of(call, total, p), call.tensor().dtype)


def _reached(extent: int, size: int, stride: int, dilation: int, pads: tuple[int, int]) -> tuple[int, int]:
    """Padding as far as the last window reaches that begins in the image or in front of it."""
    front, behind = pads
    window = (size - 1) * dilation + 1
    count = -(-(extent + front + behind - window) // stride) + 1
    if (count - 1) * stride >= extent + front:
        count -= 1
    return front, max((count - 1) * stride + window - extent - front, behind)


@importer("GlobalAveragePool")
def global_average_pool(call: Call) -> Tensor:
    x = call.tensor()
    return reduce_along(call, "mean", x, range(2, x.rank), True)


@importer("GlobalMaxPool")
def global_max_pool(call: Call) -> Tensor:
    x = call.tensor()
    return reduce_along(call, "max", x, range(2, x.rank), True)


# Other sizes


@importer("DepthToSpace")
def depth_to_space(call: Call) -> Tensor:
    mode = call.choice("mode", "DCR", "CRD")
    return call.op("nn.depth_to_space", call.tensor(), block_size=call.integer("blocksize"), mode=mode)


@importer("SpaceToDepth")
def space_to_depth(call: Call) -> Tensor:
    x, size = call.tensor(), call.integer("blocksize")
    if call.choice("mode", "DCR", "CRD") == "DCR":
        return call.op("nn.space_to_depth", x, block_size=size)
    batch, channels, height, width = x.extents
    rows, columns = (known_numbers([n], "SpaceToDepth of")[0] // size for n in (height, width))
    blocks = call.builder.reshape(x, [batch, channels, rows, size, columns, size])
    moved = call.op("transpose", blocks, axes=[0, 1, 3, 5, 2, 4])
    return call.builder.reshape(moved, [batch, channels * size * size, rows, columns])


_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic", "bilinear": "linear"}


@importer("Upsample")
def upsample(call: Call) -> Tensor:
    x = call.tensor()
    scales = call.attribute("scales") if call.version < 9 else call.known(1, "scales")
    if scales is None:
        raise OnnxError("Upsample without scales")
    factors = [float(each) for each in scales]
    sizes = [math.floor(n * scale) for n, scale in zip(x.numbers, factors, strict=True)]
    return _resized(call, x, range(x.rank), sizes, factors, call.text("mode", "nearest"), "asymmetric", "floor", None)


@importer("Resize")
def resize(call: Call) -> Tensor:
    x = call.tensor()
    axes = [axis_in(axis, x.rank) for axis in call.integers("axes") or range(x.rank)]
    given = call.known(1, "scales") if call.version < 11 else call.known(2, "scales")
    wanted = None if call.version < 11 else call.known(3, "sizes")
    mode, where = call.text("mode", "nearest"), call.text("coordinate_transformation_mode", "half_pixel")
    if wanted is not None and wanted.size:
        changed = [n for n, size in enumerate(wanted) if not isinstance(size, Symbol) or repr(size) != x.shape[axes[n]]]
        call.refuse(len(changed) < len(axes) and call.attribute("keep_aspect_ratio_policy"), "a ratio of open sizes")
        axes, wanted = [axes[n] for n in changed], [wanted[n] for n in changed]
        sizes, scales = _kept_ratio(call, _extents(x, axes), known_numbers(wanted, "Resize to sizes"))
    elif given is not None and given.size:
        changed = [n for n, scale in enumerate(given) if scale != 1 or isinstance(x.shape[axes[n]], int)]
        axes, scales = [axes[n] for n in changed], [float(given[n]) for n in changed]
        sizes = [math.floor(n * scale) for n, scale in zip(_extents(x, axes), scales, strict=True)]
    else:
        raise OnnxError("Resize: neither scales nor sizes")
    if call.version < 11:
        return _resized(call, x, axes, sizes, scales, mode, "asymmetric", "floor", None)
    roi = call.known(1, "roi") if where == "tf_crop_and_resize" else None
    if roi is not None:
        every = [axis_in(axis, x.rank) for axis in call.integers("axes") or range(x.rank)]
        roi = roi.reshape(2, -1)[:, [every.index(axis) for axis in axes]].ravel()
    rounding = call.text("nearest_mode", "round_prefer_floor")
    return _resized(call, x, axes, sizes, scales, mode, where, rounding, roi)


def _extents(x: Tensor, axes: Sequence[int]) -> tuple[int, ...]:
    return known_numbers([x.shape[axis] for axis in axes], "Resize of extents")


def _kept_ratio(call: Call, extents: Sequence[int], sizes: Sequence[int]) -> tuple[list[int], list[float]]:
    """Sizes, and how many times they are what was there, by the policy about their ratio."""
    policy = call.choice("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
    ratios = [size / n for size, n in zip(sizes, extents, strict=True)]
    if policy == "stretch":
        return list(sizes), ratios
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(n * scale + 0.5) for n in extents], [scale] * len(extents)


def _resized(
    call: Call,
    x: Tensor,
    axes: Sequence[int],
    sizes: Sequence[int],
    scales: Sequence[float],
    mode: str,
    where: str,
    rounding: str,
    roi: Any,
) -> Tensor:
    """An image of another size. The axes that change are brought behind the others, of which there are then two."""
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
        return _antialiased(call, x, [(axes[n], sizes[n], scales[n]) for n in changed], mode, where)
    if len(changed) > 3:
        raise OnnxUnsupportedError(f"{call.op_type} of {len(changed)} dimensions, expected 3 at most")
    if where == "align_corners" and any(int(x.shape[axes[n]]) * scales[n] != sizes[n] for n in changed):
        # ONNX's length of the result is then no whole number.
        where, scales = "asymmetric", [_from_corners(int(x.shape[axes[n]]), scale) for n, scale in enumerate(scales)]
    last = [axes[n] for n in changed]
    order = [axis for axis in range(x.rank) if axis not in last] + last
    extents = x.extents[order]
    front = extents[: x.rank - len(last)]
    image = call.op("transpose", x, axes=order) if order != list(range(x.rank)) else x
    if len(front) != 2:
        image = call.builder.reshape(image, [1, math.prod(front), *extents[len(front) :]])
    options: dict[str, Any] = {}
    if roi is not None:
        options["roi"] = [float(starts[n]) for n in changed] + [float(ends[n]) for n in changed]
        options["extrapolation_value"] = call.floating("extrapolation_value")
    made = call.op(
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
    made = call.builder.reshape(made, [*front, *(sizes[n] for n in changed)])
    back = [order.index(axis) for axis in range(x.rank)]
    return call.op("transpose", made, axes=back) if back != list(range(x.rank)) else made


def _antialiased(call: Call, x: Tensor, said: Sequence[tuple[int, int, float]], mode: str, where: str) -> Tensor:
    """An image of another size, whose elements are means of as many as they stand for: a product along each axis."""
    made = call.widened(x)
    for axis, size, scale in said:
        weights = _antialias_weights(call, int(x.shape[axis]), size, scale, mode, where)
        order = [d for d in range(x.rank) if d != axis] + [axis]
        rows = transposed(call, made, order)
        rows = call.op("nn.dense", rows, call.constant(weights, made.dtype))
        made = transposed(call, rows, [order.index(d) for d in range(x.rank)])
    return call.cast(made, x.dtype)


def _antialias_weights(call: Call, extent: int, size: int, scale: float, mode: str, where: str) -> Array:
    """How much of each element of an axis is in each one of the result. Beyond the ends are those at the ends."""
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
    taps = np.floor(places)[:, None].astype(int) + np.arange(-reach, reach + 1)
    far = np.abs(taps - places[:, None]) * narrow
    weights = np.clip(1 - far, 0, 1) if mode != "cubic" else _cubic_weights(far, call.floating("cubic_coeff_a", -0.75))
    if call.integer("exclude_outside"):
        weights[(taps < 0) | (taps >= extent)] = 0
    weights /= weights.sum(1, keepdims=True)
    made = np.zeros((size, extent))
    np.add.at(made, (out[:, None], np.clip(taps, 0, extent - 1)), weights)
    return made


def _cubic_weights(far: Array, a: float) -> Array:
    """Keys' weights of elements at a distance."""
    near = ((a + 2) * far - (a + 3)) * far * far + 1
    return np.where(far <= 1, near, np.where(far < 2, ((a * far - 5 * a) * far + 8 * a) * far - 4 * a, 0.0))


def _from_corners(extent: int, scale: float) -> float:
    """How far the elements of a result are from each other whose first and last ones stand at those of an image."""
    if scale == 1 or extent == 1 or extent * scale == 1:
        return scale if scale == 1 else math.inf
    return (extent * scale - 1) / (extent - 1)
