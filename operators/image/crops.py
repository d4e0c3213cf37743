"""Parts of images, resized by interpolation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ...expressions import functions as scalar
from ...expressions.errors import TeError
from ...expressions.expr import PrimExpr, Select, cast, const
from ...expressions.tensor import Tensor, compute, is_same_extent
from ..definition import Pattern, operator
from ..extents import known_extent
from ..requirements import require_floats, require_integers, require_one_of
from ..rounding import saturating_cast
from ..windows import Window, each_dimension, layout_axes
from .interpolation import interpolation_dtype
from .positions import index_of

Array = Any

_NAME = "image.crop_and_resize"
_METHODS = ("bilinear", "nearest_neighbor")


def _reference(
    data: Array,
    boxes: Array,
    box_indices: Array,
    crop_size: Window,
    layout: str,
    method: str,
    extrapolation_value: float,
    out_dtype: str,
) -> Array:
    order, sizes = layout_axes(layout, "NCHW", _NAME), each_dimension(crop_size, 2, f"{_NAME}: crop_size")
    images = data.transpose(order).astype(interpolation_dtype(data.dtype.name))
    result = np.full((len(boxes), images.shape[1], *sizes), extrapolation_value, images.dtype)
    for n, (box, image) in enumerate(zip(boxes.astype("float64"), box_indices, strict=True)):
        source = images[int(np.clip(image, 0, len(images) - 1))]
        positions = [
            _positions(box[d], box[d + 2], extent, size)
            for d, (extent, size) in enumerate(zip(source.shape[1:], sizes, strict=True))
        ]
        for place in np.ndindex(*sizes):
            at = [float(along[index]) for along, index in zip(positions, place, strict=True)]
            if all(0 <= position <= extent - 1 for position, extent in zip(at, source.shape[1:], strict=True)):
                result[(n, slice(None), *place)] = _element(source, at, method)
    kind = np.dtype(out_dtype or data.dtype.name)
    if np.issubdtype(kind, np.integer):
        limits = np.iinfo(kind)
        result = np.clip(np.round(result), limits.min, limits.max)
    return result.astype(kind).transpose(np.argsort(order))


def _positions(start: float, end: float, extent: int, size: int) -> Array:
    """The positions of the elements of a part along one dimension."""
    if size == 1:
        return np.array([(start + end) * (extent - 1) / 2])
    return start * (extent - 1) + np.arange(size) * ((end - start) * (extent - 1)) / (size - 1)


def _element(image: Array, at: list[float], method: str) -> Array:
    """The elements of all channels of an image at a position."""
    if method == "nearest_neighbor":
        return image[(slice(None), *(int(np.round(position)) for position in at))]
    taps = [_taps(position, extent) for position, extent in zip(at, image.shape[1:], strict=True)]
    return sum((image[:, y, x] * image.dtype.type(v) * image.dtype.type(w) for (y, v), (x, w) in product(*taps)), 0)


def _taps(position: float, extent: int) -> list[tuple[int, float]]:
    low = int(np.floor(position))
    return [(low, 1 - (position - low)), (min(low + 1, extent - 1), position - low)]


@operator(_NAME, Pattern.INJECTIVE, _reference)
def crop_and_resize(
    data: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Window,
    layout: str = "NCHW",
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    out_dtype: str = "",
) -> Tensor:
    """Parts of images, each resized to the same size; the first axis of the result counts the parts.

    boxes: [B, 4], for each part the coordinates y and x of two opposite corners, where 0 is the centre of the first and
    1 that of the last element; reversed corners mirror the part.  box_indices: [B], the image of each part; an index of
    no image denotes the first or the last one.  crop_size: the extents of the result; the one element of an extent of 1
    is at the middle of the part.  layout: the order of the axes of data and of the result.  method: the weighted mean
    of four elements ("bilinear"), or the nearest element, halves to even ("nearest_neighbor").  extrapolation_value:
    the value of elements outside of the image.  out_dtype: the data type of the result, by default that of data; means
    are rounded to the nearest integer.
    """
    require_one_of(method, _METHODS, f"{_NAME}: method")
    require_floats(boxes, f"{_NAME}: boxes")
    require_integers(box_indices, f"{_NAME}: box_indices")
    if data.data_type.is_bool and method == "bilinear":
        raise TeError(f"{_NAME}: method {method!r} of bool, expected numbers")
    if data.ndim != 4 or boxes.ndim != 2 or known_extent(boxes.shape[1]) != 4 or box_indices.ndim != 1:
        shapes = ", ".join(str(list(each.shape)) for each in (data, boxes, box_indices))
        raise TeError(f"{_NAME}: operands of shapes {shapes}, expected an image, [B, 4] boxes and [B] indices")
    if not is_same_extent(boxes.shape[0], box_indices.shape[0]):
        raise TeError(f"{_NAME}: {boxes.shape[0]} boxes and {box_indices.shape[0]} indices, expected as many")
    batch, _, *spatial = layout_axes(layout, "NCHW", _NAME)
    if any(known_extent(data.shape[d]) == 0 for d in (batch, *spatial)):
        raise TeError(f"{_NAME}: an image of shape {list(data.shape)} has no elements")
    sizes = dict(zip(spatial, each_dimension(crop_size, 2, f"{_NAME}: crop_size"), strict=True))
    kind, dtype = interpolation_dtype(data.dtype), out_dtype or data.dtype

    def position(box: PrimExpr, dimension: int, axis: int, index: PrimExpr) -> PrimExpr:
        start, end = (cast("float64", boxes(box, column)) for column in (dimension, dimension + 2))
        last = cast("float64", data.shape[axis] - 1)
        if sizes[axis] == 1:
            return (start + end) * last / _float(2)
        return start * last + cast("float64", index) * ((end - start) * last) / _float(sizes[axis] - 1)

    def element(*axes: PrimExpr) -> PrimExpr:
        at, taps, outside = list(axes), list[list[tuple[int, PrimExpr, PrimExpr]]](), list[PrimExpr]()
        at[batch] = index_of(cast("float64", box_indices(axes[batch])), data.shape[batch])
        for dimension, axis in enumerate(spatial):
            where, extent = position(axes[batch], dimension, axis, axes[axis]), data.shape[axis]
            outside += [where < _float(0), where > cast("float64", extent - 1)]
            if method == "nearest_neighbor":
                at[axis] = index_of(scalar.round(where), extent)
                continue
            low = scalar.floor(where)
            t = where - low
            places = (index_of(low, extent), _float(1) - t), (index_of(low + _float(1), extent), t)
            taps.append([(axis, index, cast(kind, weight)) for index, weight in places])
        total: PrimExpr | None = None
        for chosen in product(*taps):
            indices, weights = list(at), [weight for *_, weight in chosen]
            for axis, index, _ in chosen:
                indices[axis] = index
            term = cast(kind, data(*indices))
            for weight in weights:
                term = term * weight
            total = term if total is None else total + term
        assert total is not None
        value = cast(dtype, data(*at)) if method == "nearest_neighbor" else saturating_cast(total, dtype)
        return Select(scalar.any(*outside), const(extrapolation_value, dtype), value)

    shape = [sizes.get(d, extent) for d, extent in enumerate(data.shape)]
    shape[batch] = boxes.shape[0]
    return compute(shape, element, "crop_and_resize", "injective", varargs_names=[f"ax{d}" for d in range(4)])


def _float(value: float) -> PrimExpr:
    return const(float(value), "float64")
