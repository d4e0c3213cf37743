"""Importers of convolutions, pools and other operators on images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype
from ....operators.relay import Size
from ...models.data_sizes import call_host
from ...models.limits import require_created
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError, OnnxUnsupportedError
from ..registry import Results, importer
from .data_sizes import is_computed
from .nn import absolute_powers, p_th_root
from .reductions import reduce_along
from .shapes import pad_axes


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
    return call.cast(add_channel_bias(call, result, bias), call.tensor().dtype)


def convolve(call: Call, x: ModelTensor, w: ModelTensor, name: str = "", *parameters: ModelTensor) -> ModelTensor:
    """A convolution of `x` and `w` with the attributes of a node. name: of the operator, by default `nn.conv2d` or that
    of the rank of the image.  parameters: its other operands."""
    rank = spatial_rank(call, x)
    windows = windows_of(call, x, call.integers("kernel_shape") or w.static_shape[2:], rank)
    if any(n < 0 for pair in windows.pads for n in pair):
        x = pad_axes(call, x, [(0, 0), (0, 0), *windows.pads], "constant")
        windows = Windows(windows.sizes, windows.strides, windows.dilations, [(0, 0)] * rank)
    return call.op(
        name or f"nn.conv{rank}d",
        x,
        w,
        *parameters,
        strides=windows.strides,
        padding=windows.flat_pads,
        dilation=windows.dilations,
        groups=call.integer("group", 1),
    )


def add_channel_bias(call: Call, data: ModelTensor, bias: ModelTensor | None) -> ModelTensor:
    """The result of a convolution with a number added to each channel, in the data type of the sums."""
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
    return call.cast(add_channel_bias(call, result, call.optional(2)), call.tensor().dtype)


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
        "skip_padding": call.integer("ceil_mode") == 1,
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
    zeros = call.builder.full([math.prod(shape)], np.zeros((), numpy_dtype(x.dtype)))
    flat = [call.builder.reshape(each, [math.prod(x.static_shape)]) for each in (places, x)]
    unpooled = call.builder.reshape(call.op("scatter_elements", zeros, *flat, axis=0), shape)
    if is_computed(call, 2):
        return _pad_to_computed_shape(call, unpooled)
    wanted = call.constant_integers(2, "output_shape") or shape
    if len(wanted) != len(shape) or any(n < least for n, least in zip(wanted, shape, strict=True)):
        raise OnnxError(f"MaxUnpool to output_shape {list(wanted)}, expected {shape} at least")
    return pad_axes(call, unpooled, [(0, n - least) for n, least in zip(wanted, shape, strict=True)], "constant")


def _pad_to_computed_shape(call: Call, data: ModelTensor) -> ModelTensor:
    """The tensor with zeros at the ends of its spatial axes, up to the shape that operand 2 states."""
    axes = np.arange(2, data.rank)
    own = call.constant(np.array(data.static_shape[2:]), "int64")
    after = call.op("subtract", call.op("take", call.tensor_of_rank(2, 1), call.constant(axes, "int64"), axis=0), own)
    widths = call.op("concatenate", call.op("zeros_like", after), after, axis=0)
    shape: list[Size] = [*data.shape[:2], *(call.builder.new_size("unpool") for _ in axes)]
    zero = call.constant(np.zeros((), numpy_dtype(data.dtype)))
    operands = [data, widths, call.constant(axes, "int64"), zero, "constant"]
    return call_host(call.builder, "pad", operands, [(data.dtype, shape)])[0]


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
