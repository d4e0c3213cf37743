"""Operators that read images at computed positions: regions of interest, and deformed windows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.tensor import Tensor, compute, is_same_extent
from . import reduction
from .definition import Pattern, operator
from .extents import Extent, known_extent
from .requirements import require_floats, require_one_of
from .transform import transpose
from .windows import Window, each_dimension, layout_axes, paddings, require_known_extents, window_count

Array = Any

_Tap = tuple[PrimExpr, PrimExpr]
"""The index and the weight of an element along one dimension."""

_MODES = ("avg", "max", "max_tap")


def _float(value: float) -> PrimExpr:
    return const(float(value), "float64")


def _index(position: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """A whole position as an index, moved into the image."""
    last = cast("float64", extent) - 1
    return cast(extent.dtype, scalar.min(scalar.max(position, _float(0)), last))


def _wide(dtype: str) -> str:
    """The data type of sums."""
    return "float64" if dtype == "float64" else "float32"


def _weighted_taps(data: Tensor, at: Sequence[PrimExpr], taps: dict[int, list[_Tap]]) -> list[PrimExpr]:
    """The products of elements and weights. at: the indices along other axes.  taps: along an axis of the image."""
    kind, products = _wide(data.dtype), list[PrimExpr]()
    for combination in product(*taps.values()):
        indices = list(at)
        for axis, (index, _) in zip(taps, combination, strict=True):
            indices[axis] = index
        weight = combination[0][1]
        for _, factor in combination[1:]:
            weight = weight * factor
        products.append(cast(kind, data(*indices)) * cast(kind, weight))
    return products


def _total(terms: Sequence[PrimExpr]) -> PrimExpr:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


# Regions of interest


def roi_align_reference(
    data: Array,
    rois: Array,
    pooled_size: Window,
    spatial_scale: float,
    sample_ratio: int,
    layout: str,
    mode: str,
    aligned: bool,
) -> Array:
    """`vision.roi_align` in numpy. sample_ratio: 0 for as many samples as a part of a region has elements."""
    order = layout_axes(layout, "NCHW", "vision.roi_align")
    image, counts = data.transpose(order), each_dimension(pooled_size, 2, "vision.roi_align: pooled_size")
    result = np.zeros((len(rois), image.shape[1], *counts))
    for n, (batch, *corners) in enumerate(rois.astype("float64")):
        x0, y0, x1, y1 = np.array(corners) * spatial_scale - (0.5 if aligned else 0)
        source = image[int(np.clip(batch, 0, image.shape[0] - 1))].astype("float64")
        sides = [
            _region_taps(start, end, extent, count, sample_ratio, aligned)
            for start, end, extent, count in zip((y0, x0), (y1, x1), source.shape[1:], counts, strict=True)
        ]
        for y, x in np.ndindex(*counts):
            result[n, :, y, x] = _region_element(source, sides[0][y], sides[1][x], mode)
    return result.astype(data.dtype).transpose(np.argsort(order))


def _region_taps(
    start: float, end: float, extent: int, count: int, sample_ratio: int, aligned: bool
) -> list[list[list[tuple[int, float]]]]:
    """The taps of the samples of each part of a region along one dimension; none for a sample outside."""
    length = end - start if aligned else max(end - start, 1.0)
    samples = sample_ratio if sample_ratio > 0 else int(np.ceil(length / count))
    parts: list[list[list[tuple[int, float]]]] = []
    for part in range(count):
        taps: list[list[tuple[int, float]]] = []
        for n in range(samples):
            position = start + (part + (n + 0.5) / samples) * length / count
            inside = min(max(position, 0.0), extent - 1.0)
            low = int(inside)
            both = [(low, 1 - (inside - low)), (min(low + 1, extent - 1), inside - low)]
            taps.append(both if -1 <= position <= extent else [])
        parts.append(taps)
    return parts


def _region_element(image: Array, rows: Any, columns: Any, mode: str) -> Array:
    """The elements of all channels for the samples of a part of a region."""
    values: list[Array] = []
    for row_taps, column_taps in product(rows, columns):
        terms = [image[:, y, x] * (v * w) for y, v in row_taps for x, w in column_taps] or [0 * image[:, 0, 0]]
        values.append(np.max(terms, 0) if mode == "max_tap" else np.sum(terms, 0))
    if not values:
        return np.zeros(len(image))
    return np.mean(values, 0) if mode == "avg" else np.max(values, 0)


def _check_regions(
    name: str, data: Tensor, rois: Tensor, pooled_size: Window, layout: str
) -> tuple[list[int], list[int]]:
    """The numbers of parts of regions along the dimensions, and the axes of the images in the order of `NCHW`. TeError
    for operands that are no images and regions."""
    require_floats(data, f"{name}: data")
    require_floats(rois, f"{name}: rois")
    counts = each_dimension(pooled_size, 2, f"{name}: pooled_size")
    if data.ndim != 4 or rois.ndim != 2 or known_extent(rois.shape[1]) != 5:
        raise TeError(
            f"{name}: data and rois of shapes {list(data.shape)} and {list(rois.shape)}, expected [R, 5] rois"
        )
    axes = list(layout_axes(layout, "NCHW", name))
    if any(known_extent(data.shape[d]) == 0 for d in (axes[0], *axes[2:])):
        raise TeError(f"{name}: an image of shape {list(data.shape)} has no elements")
    return list(counts), axes


@operator("vision.roi_align", Pattern.OUT_FUSABLE, roi_align_reference)
def roi_align(
    data: Tensor,
    rois: Tensor,
    pooled_size: Window,
    spatial_scale: float,
    sample_ratio: int,
    layout: str = "NCHW",
    mode: str = "avg",
    aligned: bool = False,
) -> Tensor:
    """Samples regions of images, in a number of parts along each dimension.

    rois: [R, 5], for each region the index of its image, and the coordinates x and y of two corners; the first axis of
    the result counts regions.  pooled_size: the number of parts along each dimension.  spatial_scale: the factor from
    coordinates to positions in the image.  sample_ratio: the number of samples of each part along each dimension, each
    interpolated from four elements; 0 outside of the image.  layout: the order of the axes of data and of the result.
    mode: the mean ("avg") or the maximum ("max") of the samples, or the maximum of their weighted elements ("max_tap").
    aligned: whether the coordinate 0 is the outer edge of the first element, and not its centre; regions are at least
    one element wide and high otherwise. An index of no image denotes the first or the last image.
    """
    name = "vision.roi_align"
    require_one_of(mode, _MODES, f"{name}: mode")
    counts, (batch, _, *spatial) = _check_regions(name, data, rois, pooled_size, layout)
    if sample_ratio < 1:
        raise TeError(f"{name}: sample_ratio {sample_ratio}, expected at least 1")
    kind, samples = _wide(data.dtype), [reduce_axis((0, sample_ratio), f"s{letter}") for letter in "hw"]

    def position(region: PrimExpr, dimension: int, part: PrimExpr) -> PrimExpr:
        start, end = (
            cast("float64", rois(region, column)) * _float(spatial_scale) - _float(0.5 if aligned else 0)
            for column in (2 - dimension, 4 - dimension)
        )
        length = end - start if aligned else scalar.max(end - start, _float(1))
        sample = (cast("float64", samples[dimension].var) + _float(0.5)) / _float(sample_ratio)
        return start + (cast("float64", part) + sample) * length / _float(counts[dimension])

    def element(*axes: PrimExpr) -> PrimExpr:
        region, at, inside = axes[batch], list(axes), list[PrimExpr]()
        at[batch] = _index(cast("float64", rois(region, 0)), data.shape[batch])
        taps: dict[int, list[_Tap]] = {}
        for dimension, axis in enumerate(spatial):
            where, own = position(region, dimension, axes[axis]), cast("float64", data.shape[axis])
            inside += [where >= _float(-1), where <= own]
            inner = scalar.min(scalar.max(where, _float(0)), own - 1)
            low = scalar.floor(inner)
            t = inner - low
            taps[axis] = [(_index(low, data.shape[axis]), 1 - t), (_index(low + 1, data.shape[axis]), t)]
        terms = _weighted_taps(data, at, taps)
        value = _greatest(terms) if mode == "max_tap" else _total(terms)
        value = Select(scalar.all(*inside), value, const(0.0, kind))
        if mode == "avg":
            return scalar.sum(value * const(1 / sample_ratio**2, kind), axis=samples)
        return reduction.max_reducer(value, axis=samples)

    sizes = {batch: rois.shape[0], **dict(zip(spatial, counts, strict=True))}
    shape, names = [sizes.get(d, extent) for d, extent in enumerate(data.shape)], [f"ax{d}" for d in range(4)]
    result = compute(shape, element, "roi_align", "roi_align", varargs_names=names)
    if kind == data.dtype:
        return result
    return compute(shape, lambda *i: cast(data.dtype, result(*i)), "roi_align_cast", "elemwise", varargs_names=names)


def _greatest(terms: Sequence[PrimExpr]) -> PrimExpr:
    greatest = terms[0]
    for term in terms[1:]:
        greatest = scalar.max(greatest, term)
    return greatest


def _roi_pool_reference(data: Array, rois: Array, pooled_size: Window, spatial_scale: float, layout: str) -> Array:
    order, kind = layout_axes(layout, "NCHW", "vision.roi_pool"), rois.dtype.type
    image, counts = data.transpose(order), each_dimension(pooled_size, 2, "vision.roi_pool: pooled_size")
    result = np.zeros((len(rois), image.shape[1], *counts), data.dtype)
    for n, (batch, *corners) in enumerate(rois):
        x0, y0, x1, y1 = (int(np.floor(each * kind(spatial_scale) + kind(0.5))) for each in corners)
        source = image[int(np.clip(batch, 0, image.shape[0] - 1))]
        for part in np.ndindex(*counts):
            sides = list[slice]()
            for first, last, extent, count, index in zip(
                (y0, x0), (y1, x1), source.shape[1:], counts, part, strict=True
            ):
                length = kind(max(last - first + 1, 1)) / kind(count)
                ends = np.floor(kind(index) * length), np.ceil(kind(index + 1) * length)
                sides.append(slice(*(int(np.clip(end + first, 0, extent)) for end in ends)))
            elements = source[:, sides[0], sides[1]]
            if elements.shape[1] and elements.shape[2]:
                result[n, :, *part] = elements.max((1, 2))
    return result.transpose(np.argsort(order))


@operator("vision.roi_pool", Pattern.OUT_FUSABLE, _roi_pool_reference)
def roi_pool(data: Tensor, rois: Tensor, pooled_size: Window, spatial_scale: float, layout: str = "NCHW") -> Tensor:
    """The maxima of the elements of regions of images, in a number of parts along each dimension; 0 of no element.

    rois, pooled_size, layout: as of `vision.roi_align`.  spatial_scale: the factor from coordinates to indices, which
    are rounded, halves up; a region has both of its corners. Parts overlap by an element where a boundary between two
    parts is within it.
    """
    name = "vision.roi_pool"
    counts, (batch, _, *spatial) = _check_regions(name, data, rois, pooled_size, layout)
    kind = rois.dtype
    places = [reduce_axis((0, data.shape[axis]), f"r{letter}") for axis, letter in zip(spatial, "hw", strict=True)]

    def bounds(region: PrimExpr, dimension: int, part: PrimExpr, extent: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        first, last = (
            cast("int32", scalar.floor(rois(region, column) * const(spatial_scale, kind) + const(0.5, kind)))
            for column in (2 - dimension, 4 - dimension)
        )
        length = cast(kind, scalar.max(last - first + 1, 1)) / const(float(counts[dimension]), kind)
        ends = scalar.floor(cast(kind, part) * length), scalar.ceil(cast(kind, part + 1) * length)
        start, end = (cast(extent.dtype, cast("int32", each) + first) for each in ends)
        return scalar.min(scalar.max(start, 0), extent), scalar.min(scalar.max(end, 0), extent)

    def element(*axes: PrimExpr) -> PrimExpr:
        region, at, inside = axes[batch], list(axes), list[PrimExpr]()
        at[batch] = _index(cast("float64", rois(region, 0)), data.shape[batch])
        for dimension, axis in enumerate(spatial):
            start, end = bounds(region, dimension, axes[axis], data.shape[axis])
            at[axis] = places[dimension].var
            inside += [start <= at[axis], at[axis] < end]
        outside = reduction.least_value(data.dtype)
        return reduction.max_reducer(Select(scalar.all(*inside), data(*at), outside), axis=places)

    def pooled(*axes: PrimExpr) -> PrimExpr:
        pairs = [bounds(axes[batch], d, axes[axis], data.shape[axis]) for d, axis in enumerate(spatial)]
        return Select(scalar.all(*(start < end for start, end in pairs)), greatest(*axes), const(0.0, data.dtype))

    sizes = {batch: rois.shape[0], **dict(zip(spatial, counts, strict=True))}
    shape, names = [sizes.get(d, extent) for d, extent in enumerate(data.shape)], [f"ax{d}" for d in range(4)]
    greatest = compute(shape, element, "roi_pool", "roi_pool", varargs_names=names)
    return compute(shape, pooled, "roi_pool_parts", "elemwise", varargs_names=names)


# Deformed windows


def _patches_reference(
    data: Array,
    offset: Array,
    kernel_size: Window,
    strides: Window,
    padding: Window,
    dilation: Window,
    deformable_groups: int,
    inner: bool = False,
) -> Array:
    name = "vision.deformable_patches"
    sizes, steps, far = (each_dimension(each, 2, name) for each in (kernel_size, strides, dilation))
    fronts = [front for front, _ in paddings(padding, 2, name)]
    batches, channels, *extents = data.shape
    counts = offset.shape[2:]
    moves = offset.astype("float64").reshape(batches, deformable_groups, prod(sizes), 2, *counts)
    result = np.zeros((batches, channels, prod(sizes), *counts))
    for n, c, tap, *window in np.ndindex(*result.shape):
        indices = np.unravel_index(tap, sizes)
        group = c * deformable_groups // channels
        starts = [window[d] * steps[d] - fronts[d] + indices[d] * far[d] for d in range(2)]
        positions = [start + moves[(n, group, tap, d, *window)] for d, start in enumerate(starts)]
        if inner and min(positions) < 0:
            continue
        for corner in np.ndindex(2, 2):
            weight, at = 1.0, list[int]()
            for d, position in enumerate(positions):
                low = np.floor(position)
                weight *= position - low if corner[d] else 1 - (position - low)
                at.append(int(low) + corner[d])
            if all(0 <= index < extent for index, extent in zip(at, extents, strict=True)):
                result[(n, c, tap, *window)] += data[(n, c, *at)] * weight
    return result.astype(data.dtype)


@operator("vision.deformable_patches", Pattern.INJECTIVE, _patches_reference)
def deformable_patches(
    data: Tensor,
    offset: Tensor,
    kernel_size: Window,
    strides: Window = 1,
    padding: Window = 0,
    dilation: Window = 1,
    deformable_groups: int = 1,
    inner: bool = False,
) -> Tensor:
    """The elements of windows whose taps are moved by `offset`: [N, C, taps, H, W].

    The product with weights over channels and taps is a deformable convolution. data: images [N, C, H, W].  offset: for
    each group of channels, each tap in row-major order and each window a distance along y and one along x: [N,
    2 * taps * deformable_groups, H, W]. An element between four elements of an image is interpolated; elements outside
    are 0.  kernel_size: the taps of a window.  strides, padding, dilation: as of `nn.conv2d`.  deformable_groups: the
    number of groups of channels whose windows are moved alike.  inner: whether a tap before the first row or column is
    0; else it is interpolated between the first element and 0.
    """
    name = "vision.deformable_patches"
    require_floats(data, f"{name}: data")
    require_floats(offset, f"{name}: offset")
    sizes, steps, far = (each_dimension(each, 2, name) for each in (kernel_size, strides, dilation))
    around = paddings(padding, 2, name)
    if data.ndim != 4 or offset.ndim != 4:
        raise TeError(f"{name}: data and offset of {data.ndim} and {offset.ndim} dimensions, expected 4")
    (channels,) = require_known_extents(data.shape[1:2], name)
    if deformable_groups < 1 or channels % deformable_groups:
        raise TeError(f"{name}: {channels} channels in {deformable_groups} deformable groups")
    parts = zip(data.shape[2:], sizes, steps, far, around, strict=True)
    counts = [window_count(extent, size, step, distance, pair) for extent, size, step, distance, pair in parts]
    expected = [data.shape[0], 2 * prod(sizes) * deformable_groups, *counts]
    if not all(_fits(own, extent) for own, extent in zip(offset.shape, expected, strict=True)):
        raise TeError(f"{name}: offset of shape {list(offset.shape)}, expected {expected}")
    if any(known_extent(extent) == 0 for extent in data.shape[2:]):
        raise TeError(f"{name}: an image of shape {list(data.shape)} has no elements")
    per_group = channels // deformable_groups

    def element(n: PrimExpr, c: PrimExpr, tap: PrimExpr, *window: PrimExpr) -> PrimExpr:
        first = (c // per_group * prod(sizes) + tap) * 2
        taps: dict[int, list[_Tap]] = {}
        behind: list[PrimExpr] = []
        for d, index in enumerate((tap // sizes[1], tap % sizes[1])):
            extent = data.shape[d + 2]
            start = window[d] * steps[d] - around[d][0] + index * far[d]
            position = cast("float64", start) + cast("float64", offset(n, first + d, *window))
            behind.append(position >= _float(0))
            low = scalar.floor(position)
            taps[d + 2] = [_inner_tap(low, 1 - (position - low), extent), _inner_tap(low + 1, position - low, extent)]
        total = cast(data.dtype, _total(_weighted_taps(data, [n, c, *window], taps)))
        return Select(scalar.all(*behind), total, const(0.0, data.dtype)) if inner else total

    shape = [data.shape[0], channels, prod(sizes), *offset.shape[2:]]
    return compute(shape, element, "deformable_patches", "injective", varargs_names=["y", "x"])


def _fits(own: PrimExpr, expected: Extent) -> bool:
    return known_extent(own) == expected if isinstance(expected, int) else is_same_extent(own, expected)


def _inner_tap(position: PrimExpr, weight: PrimExpr, extent: PrimExpr) -> _Tap:
    """A tap whose weight is 0 outside of the image."""
    inside = scalar.all(position >= _float(0), position <= cast("float64", extent) - 1)
    return _index(position, extent), Select(inside, weight, _float(0))


def _convolution_reference(
    data: Array, offset: Array, weight: Array, strides: Window, padding: Window, dilation: Window,
    deformable_groups: int, groups: int, data_layout: str, kernel_layout: str, out_layout: str, out_dtype: str,
    **_expected: Any,
) -> Array:  # fmt: skip
    image, kernel = _orders("nn.deformable_conv2d", data_layout, kernel_layout, out_layout)
    data, offset, weight = data.transpose(image), offset.transpose(image), weight.transpose(kernel)
    options = (weight.shape[2:], strides, padding, dilation, deformable_groups, True)
    patches = _patches_reference(data, offset, *options)
    batch, _, taps, *counts = patches.shape
    features, inner = weight.shape[:2]
    columns = patches.reshape(batch, groups, inner * taps, *counts).astype("float64")
    rows = weight.reshape(groups, features // groups, inner * taps).astype("float64")
    sums = np.einsum("bgkyx,gfk->bgfyx", columns, rows).reshape(batch, features, *counts)
    return sums.transpose(np.argsort(image)).astype(out_dtype or data.dtype)


def _orders(name: str, data_layout: str, kernel_layout: str, out_layout: str) -> tuple[list[int], list[int]]:
    """The axes of batch, channels and image, and those of weights for results, channels and taps."""
    if out_layout not in ("", data_layout):
        raise TeError(f"{name}: out_layout {out_layout!r}, expected {data_layout!r}")
    return layout_axes(data_layout, "NCHW", name), layout_axes(kernel_layout, "OIHW", name)


@operator("nn.deformable_conv2d", Pattern.OUT_FUSABLE, _convolution_reference)
def deformable_conv2d(
    data: Tensor,
    offset: Tensor,
    weight: Tensor,
    strides: Window = 1,
    padding: Window = 0,
    dilation: Window = 1,
    deformable_groups: int = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Window | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Tensor:
    """The convolution of images whose windows have moved taps: `vision.deformable_patches` with `inner`, times weights.

    offset: the distances of taps, in the layout of data.  strides, padding, dilation, groups, channels,
    kernel_size: as of `nn.conv2d`. data_layout, kernel_layout: the orders of the axes; out_layout is data_layout.
    out_dtype: the data type of the sums and the result, by default that of data.
    """
    name = "nn.deformable_conv2d"
    image, kernel = _orders(name, data_layout, kernel_layout, out_layout)
    if weight.ndim != 4 or data.ndim != 4 or offset.ndim != 4:
        ranks = f"{data.ndim}, {offset.ndim} and {weight.ndim}"
        raise TeError(f"{name}: data, offset and weight of {ranks} dimensions, expected 4")
    features, inner, *sizes = require_known_extents([weight.shape[axis] for axis in kernel], name)
    (inputs,) = require_known_extents([data.shape[image[1]]], name)
    if groups < 1 or features % groups or inputs != inner * groups:
        raise TeError(f"{name}: {inputs} channels and weights of {inner} for {features} in {groups} groups")
    taps = sizes if kernel_size is None else list(each_dimension(kernel_size, 2, name))
    if channels not in (None, features) or taps != sizes:
        raise TeError(f"{name}: weights of {sizes} for {features} channels, expected {taps} for {channels}")
    images, moves = (_transposed(each, image) for each in (data, offset))
    patches = deformable_patches(images, moves, sizes, strides, padding, dilation, deformable_groups, True)
    dtype = out_dtype or data.dtype
    over = [reduce_axis((0, extent), f"r{letter}") for extent, letter in zip((inner, *sizes), "cyx", strict=True)]
    rc, ry, rx = (axis.var for axis in over)

    def element(*i: PrimExpr) -> PrimExpr:
        n, f, y, x = (i[axis] for axis in image)
        channel = f // (features // groups) * inner + rc
        at: list[Any] = [None] * 4
        for axis, index in zip(kernel, (f, rc, ry, rx), strict=True):
            at[axis] = index
        value = cast(dtype, patches(n, channel, ry * sizes[1] + rx, y, x))
        return scalar.sum(value * cast(dtype, weight(*at)), axis=over)

    shape: list[Any] = [None] * 4
    for axis, extent in zip(image, (data.shape[image[0]], features, *patches.shape[3:]), strict=True):
        shape[axis] = extent
    return compute(shape, element, "deformable_conv2d", "deformable_conv2d", varargs_names=[f"ax{d}" for d in range(4)])


def _transposed(data: Tensor, axes: Sequence[int]) -> Tensor:
    """The tensor with its axes in another order; the tensor itself if the order is the same."""
    return data if list(axes) == sorted(axes) else transpose(data, axes)
