"""Importers of operators that read and write at computed indices."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....operators.relay import Size
from ...models.call import normalized_axis
from ...models.data_sizes import call_host, call_operator
from ...models.indices import check_indices
from ...models.limits import require_created
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError, OnnxUnsupportedError
from ..registry import importer
from .data_sizes import computed, computed_nonzero, computed_scalar, element_count, is_computed
from .images import add_channel_bias, windows_of
from .shapes import concatenate_along, insert_axes, is_foldable, moved_constant, permute_axes, reshape_to


@importer("Gather")
def gather(call: Call) -> ModelTensor:
    data, indices = call.tensor(0), call.tensor(1)
    axis = normalized_axis(call.integer("axis"), data.rank)
    check_indices(call, indices, [data.shape[axis]])
    if is_foldable(data) and indices.array is not None:
        assert data.known_elements is not None
        return moved_constant(data, np.take(data.known_elements, indices.array, axis))
    extent = data.shape[axis]
    if extent == 0:
        raise OnnxUnsupportedError("Gather along an axis without elements")
    is_plain = indices.array is not None and bool((indices.array >= 0).all())
    return call.op("take", data, indices, axis=axis, mode="clip" if is_plain else "wrap")


@importer("GatherElements")
def gather_elements(call: Call) -> ModelTensor:
    data, indices = call.tensor(0), call.tensor(1)
    axis = normalized_axis(call.integer("axis"), data.rank)
    check_indices(call, indices, data.shape[axis : axis + 1])
    return call.op("gather", data, indices, axis=axis)


@importer("GatherND")
def gather_nd(call: Call) -> ModelTensor:
    data, indices, shared = call.tensor(0), call.tensor(1), call.integer("batch_dims")
    _check_tuples(call, indices, data.shape[shared:])
    order = [indices.rank - 1, *range(indices.rank - 1)]
    return call.op("gather_nd", data, permute_axes(call, indices, order), batch_dims=shared)


def _check_tuples(call: Call, indices: ModelTensor, extents: Sequence[Size]) -> None:
    """Checks constant indices whose last dimension holds an index for each of the first `extents`."""
    if indices.array is not None and 1 <= indices.array.ndim and 1 <= indices.array.shape[-1] <= len(extents):
        check_indices(call, indices, extents[: indices.array.shape[-1]])


_COMBINED = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


@importer("ScatterElements", "Scatter")
def scatter_elements(call: Call) -> ModelTensor:
    data, indices, updates = call.tensors
    axis = normalized_axis(call.integer("axis"), data.rank)
    check_indices(call, indices, data.shape[axis : axis + 1])
    how = _COMBINED[call.choice("reduction", *_COMBINED)]
    return call.op("scatter_elements", data, indices, updates, axis=axis, reduction=how)


@importer("ScatterND")
def scatter_nd(call: Call) -> ModelTensor:
    data, indices, updates = call.tensors
    _check_tuples(call, indices, data.shape)
    order = [indices.rank - 1, *range(indices.rank - 1)]
    how = _COMBINED[call.choice("reduction", *_COMBINED)]
    return call.op("scatter_nd", data, permute_axes(call, indices, order), updates, mode=how)


@importer("OneHot")
def one_hot(call: Call) -> ModelTensor:
    indices, values = call.tensor(0), call.tensor(2)
    depth = call.cast(computed_scalar(call, 1), "int64")
    axis = normalized_axis(call.integer("axis", -1), indices.rank + 1)
    places = call.cast(indices, "int64")
    places = call.op("where", call.scalar("less", places, 0), call.op("add", places, depth), places)
    attributes = {"on_value": 1, "off_value": 0, "axis": axis, "dtype": "int8"}
    if is_computed(call, 1):
        shape: list[Size] = [*places.shape[:axis], call.builder.new_size("one_hot"), *places.shape[axis:]]
        types = [("int8", shape)]
        is_there = call_operator(call.builder, "one_hot", [places], {"depth": depth}, types, **attributes)[0]
    else:
        is_there = call.op("one_hot", places, depth=int(call.constant_scalar(1, "depth")), **attributes)
    off, on = (call.op("take", values, call.constant(n, "int64"), axis=0) for n in range(2))
    return call.op("where", call.scalar("not_equal", is_there, 0), on, off)


@importer("ReverseSequence")
def reverse_sequence(call: Call) -> ModelTensor:
    axes: dict[str, Any] = {"seq_axis": call.integer("time_axis"), "batch_axis": call.integer("batch_axis", 1)}
    return call.op("reverse_sequence", call.tensor(0), call.tensor(1), **axes)


@importer("NonZero")
def non_zero(call: Call) -> ModelTensor:
    if is_computed(call, 0):
        return computed_nonzero(call, call.tensor())
    return call.constant(np.stack(np.nonzero(np.asarray(call.constant_elements(0, "the operand")))), "int64")


@importer("Compress")
def compress(call: Call) -> ModelTensor:
    data, axis = call.tensor(0), call.attribute("axis")
    if axis is None:
        data, axis = reshape_to(call, data, [-1]), 0
    axis = normalized_axis(axis, data.rank)
    if is_computed(call, 1):
        places = computed_nonzero(call, call.tensor_of_rank(1, 1))
        return call.op("take", data, call.op("squeeze", places, axis=[0]), axis=axis, mode="clip")
    indices = call.constant(np.flatnonzero(call.required_vector(1, "condition")), "int64")
    check_indices(call, indices, [data.shape[axis]])
    return call.op("take", data, indices, axis=axis)


@importer("TensorScatter")
def tensor_scatter(call: Call) -> ModelTensor:
    """Writes updates along an axis, from a start index for each index of the first axis."""
    data, update = call.tensor(0), call.tensor(1)
    if update.rank != data.rank:
        raise OnnxError(f"TensorScatter of {update.rank} dimensions into {data.rank}, expected as many")
    axis = normalized_axis(call.integer("axis", -2), data.rank)
    circular = call.choice("mode", "linear", "circular") == "circular"
    batch, count, extent = known_integers([data.shape[0], update.shape[axis], data.shape[axis]], "TensorScatter of")
    require_created([batch, count], "the positions of TensorScatter")
    start = call.optional(2) or call.constant(np.zeros(batch), "int64")
    offsets = call.constant(np.arange(count), "int64")
    places = call.op("add", insert_axes(call, start, [1]), insert_axes(call, offsets, [0]))
    if circular:
        places = call.scalar("floor_mod", places, extent)
    middle = [batch if d == 0 else count if d == axis else 1 for d in range(data.rank)]
    spread = call.builder.expand(call.builder.reshape(places, middle), update.extents)
    return call.op("scatter_elements", data, spread, update, axis=axis)


# Images read at computed coordinates


@importer("GridSample")
def grid_sample(call: Call) -> ModelTensor:
    x, grid = call.widen_small_floats(call.tensor(0)), call.widen_small_floats(call.tensor(1))
    names = {"linear": "bilinear", "cubic": "bicubic"}
    mode = call.text("mode", "linear")
    if x.rank not in (4, 5):
        raise OnnxUnsupportedError(f"GridSample of {x.rank - 2} dimensions, expected 2 or 3")
    result = call.op(
        "image.grid_sample",
        x,
        permute_axes(call, grid, [0, grid.rank - 1, *range(1, grid.rank - 1)]),
        method=names.get(mode, mode),
        layout="NCHW" if x.rank == 4 else "NCDHW",
        padding_mode=call.text("padding_mode", "zeros"),
        align_corners=call.integer("align_corners") == 1,
    )
    return call.cast(result, call.tensor().dtype)


@importer("ImageDecoder")
def image_decoder(call: Call) -> ModelTensor:
    data, pixels = call.tensor_of_rank(0, 1), call.choice("pixel_format", "RGB", "BGR", "Grayscale")
    sizes = [call.builder.new_size("image") for _ in range(2)]
    shape: list[Size] = [*sizes, 1 if pixels == "Grayscale" else 3]
    return call_host(call.builder, "decode_image", [pixels, data], [("uint8", shape)])[0]


@importer("RoiAlign")
def roi_align(call: Call) -> ModelTensor:
    x, rois, batches = call.widen_small_floats(call.tensor_of_rank(0, 4)), call.tensor_of_rank(1, 2), call.tensor(2)
    if rois.shape[1] != 4 or batches.shape != rois.shape[:1]:
        raise OnnxError(f"RoiAlign of regions {list(rois.shape)} and batch_indices {list(batches.shape)}")
    boxes = call.widen_small_floats(rois)
    numbers = call.op("expand_dims", call.cast(batches, boxes.dtype), axis=1)
    mode = call.choice("mode", "avg", "max")
    half = call.choice("coordinate_transformation_mode", "half_pixel", "output_half_pixel") == "half_pixel"
    attributes: dict[str, Any] = {
        "pooled_size": [call.integer("output_height", 1), call.integer("output_width", 1)],
        "spatial_scale": call.floating("spatial_scale", 1.0),
        "layout": "NCHW",
        "mode": "max_tap" if mode == "max" else mode,
        "aligned": half and call.version >= 16,
    }
    regions, samples = concatenate_along(call, [numbers, boxes], 1), call.integer("sampling_ratio")
    if samples:
        result = call.op("vision.roi_align", x, regions, **attributes, sample_ratio=samples)
    else:
        shape = [rois.shape[0], x.shape[1], *attributes["pooled_size"]]
        result = call_host(call.builder, "roi_align", [json.dumps(attributes), x, regions], [(x.dtype, shape)])[0]
    return call.cast(result, call.tensor().dtype)


@importer("DeformConv")
def deform_conv(call: Call) -> ModelTensor:
    """The product of weights and the elements of deformed windows, as a convolution of windows of one element."""
    x, weight = call.widen_small_floats(call.tensor(0)), call.widen_small_floats(call.tensor(1))
    if x.rank != 4 or weight.rank != 4:
        raise OnnxUnsupportedError(f"DeformConv of {x.rank - 2} dimensions, expected 2")
    features, inner, *sizes = weight.static_shape
    windows, groups = windows_of(call, x, call.integers("kernel_shape") or sizes, 2), call.integer("offset_group", 1)
    if windows.sizes != sizes:
        raise OnnxError(f"DeformConv: weight for windows of {sizes}, expected {windows.sizes}")
    patches = call.op(
        "vision.deformable_patches",
        x,
        call.tensor(2),
        kernel_size=sizes,
        strides=windows.strides,
        padding=windows.flat_pads,
        dilation=windows.dilations,
        deformable_groups=groups,
    )
    batch, channels, taps, *counts = patches.extents
    mask = call.optional(4)
    if mask is not None:
        grouped = call.builder.reshape(patches, [batch, groups, channels // groups, taps, *counts])
        factors = call.builder.reshape(call.widen_small_floats(mask), [batch, groups, 1, taps, *counts])
        patches = call.op("multiply", grouped, factors)
    columns = call.builder.reshape(patches, [batch, channels * taps, *counts])
    rows = call.builder.reshape(weight, [features, inner * math.prod(sizes), 1, 1])
    sums = call.op("nn.conv2d", columns, rows, groups=call.integer("group", 1))
    return call.cast(add_channel_bias(call, sums, call.optional(3)), call.tensor().dtype)


@importer("AffineGrid")
def affine_grid(call: Call) -> ModelTensor:
    """The products of matrices and the positions of the elements of an image or a volume."""
    theta, size = call.tensor_of_rank(0, 3), call.tensor_of_rank(1, 1)
    rank = known_integers(size.shape, "AffineGrid of a size of numbers")[0] - 2
    if rank not in (2, 3) or theta.shape[1:] != (rank, rank + 1):
        raise OnnxError(f"AffineGrid: matrices {list(theta.shape)} for a size of {rank + 2} numbers")
    wide, grid = call.widen_small_floats(theta), None
    for column in range(rank + 1):
        weights = call.op("take", wide, call.constant(column, "int64"), axis=2)
        part = insert_axes(call, weights, range(1, rank + 1))
        if column < rank:
            d = rank - 1 - column
            along = _grid_coordinates(call, _index_vector_at(call, size, d + 2), wide.dtype)
            axes = [axis for axis in range(rank + 2) if axis != d + 1]
            part = call.op("multiply", part, insert_axes(call, along, axes))
        grid = part if grid is None else call.op("add", grid, part)
    assert grid is not None
    return call.cast(grid, theta.dtype)


def _index_vector_at(call: Call, sizes: ModelTensor, n: int) -> ModelTensor:
    """The indices of an axis whose extent is an element of a vector."""
    if sizes.known_elements is not None:
        return call.builder.index_vector(sizes.known_elements[n])
    limit = call.op("take", sizes, call.constant(n, "int64"), axis=0)
    return computed(call, "arange", [call.constant(0, "int64"), limit, call.constant(1, "int64")], "int64", 1)


def _grid_coordinates(call: Call, indices: ModelTensor, dtype: str) -> ModelTensor:
    """The coordinates of the elements of an axis, between the centres or the outer edges of the first element, -1, and
    the last element, 1."""
    extent = call.builder.size_value(indices.extents[0])
    doubled = call.op("subtract", call.scalar("add", call.scalar("multiply", indices, 2), 1), extent)
    span = extent
    if call.integer("align_corners"):
        span = call.scalar("maximum", call.scalar("subtract", extent, 1), 1)
    return call.op("divide", call.cast(doubled, dtype), call.cast(span, dtype))


@importer("Col2Im")
def col2im(call: Call) -> ModelTensor:
    """Sums overlapping blocks into an image, by a transposed convolution whose weights are 1 at one position each."""
    x = call.tensor()
    if is_computed(call, 1, 2):
        return _computed_col2im(call, x)
    image, block = call.constant_integers(1, "image_shape") or (), call.constant_integers(2, "block_shape") or ()
    rank = len(image)
    if not 1 <= rank <= 3:
        raise OnnxUnsupportedError(f"Col2Im of {rank} dimensions, expected 1 to 3")
    if len(block) != rank or min(*image, *block) < 1 or x.rank != 3:
        raise OnnxError(f"Col2Im: blocks of {list(block)} of an image of {list(image)}, expected {rank} positive sizes")
    strides, dilations = (call.integers_attribute(name, rank, 1, 1) for name in ("strides", "dilations"))
    pads = call.integers_attribute("pads", 2 * rank, 0, 0)
    batch, rows = x.static_shape[:2]
    taps = math.prod(block)
    require_created([taps, taps], "the weight of Col2Im")
    if rows % taps:
        raise OnnxError(f"Col2Im: {rows} rows, expected a multiple of {taps}, the elements of a block")
    counts = [
        (n + pads[d] + pads[d + rank] - ((block[d] - 1) * dilations[d] + 1)) // strides[d] + 1
        for d, n in enumerate(image)
    ]
    left = [
        n + pads[d] + pads[d + rank] - ((counts[d] - 1) * strides[d] + (block[d] - 1) * dilations[d] + 1)
        for d, n in enumerate(image)
    ]
    data = call.builder.reshape(x, [batch * rows // taps, taps, *counts])
    weight = np.eye(taps, dtype=x.dtype).reshape(taps, 1, *block)
    result = call.op(
        f"nn.conv{rank}d_transpose",
        data,
        call.constant(weight),
        strides=strides,
        dilation=dilations,
        padding=pads,
        output_padding=left,
    )
    return call.builder.reshape(result, [batch, rows // taps, *image])


def _computed_col2im(call: Call, x: ModelTensor) -> ModelTensor:
    image, block = call.tensor_of_rank(1, 1), call.tensor_of_rank(2, 1)
    rank = element_count(call, 1, "image_shape") if image.known_elements is None else int(image.static_shape[0])
    if x.rank != 3 or block.shape != (rank,):
        raise OnnxError(f"Col2Im: blocks of {block.shape[0]} and an image of {rank} dimensions, expected as many")
    windows = {name: call.integers_attribute(name, rank, 1, 1) for name in ("strides", "dilations")}
    description = json.dumps({**windows, "pads": call.integers_attribute("pads", 2 * rank, 0, 0)})
    shape: list[Size] = [x.shape[0], *(call.builder.new_size("col2im") for _ in range(rank + 1))]
    return call_host(call.builder, "col2im", [description, x, image, block], [(x.dtype, shape)])[0]
