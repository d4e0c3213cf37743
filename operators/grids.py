"""Images at places that another tensor has, and such places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.tensor import Tensor, compute, is_same_extent
from .definition import Pattern, operator
from .extents import Extent, known_extent
from .image import cubic_weights
from .requirements import require_floats, require_one_of
from .windows import SPATIAL, order_of

Array = Any

_METHODS = ("nearest", "bilinear", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
_ALPHA = -0.75


def _float(value: float) -> PrimExpr:
    return const(float(value), "float64")


def _clipped(place: PrimExpr, own: PrimExpr) -> PrimExpr:
    return scalar.min(scalar.max(place, _float(0)), own - 1)


def _reflected(place: PrimExpr, own: PrimExpr, align_corners: bool) -> PrimExpr:
    """A place with those outside mirrored at the middle of the first and the last element, or at their outer sides."""
    low = _float(0 if align_corners else -0.5)
    span = scalar.max(own - 1, _float(1)) if align_corners else own
    far = scalar.abs(place - low)
    rest = far - scalar.floor(far / (span * 2)) * (span * 2)
    return _clipped(scalar.min(rest, span * 2 - rest) + low, own)


def _padded(place: PrimExpr, own: PrimExpr, padding_mode: str, align_corners: bool) -> PrimExpr:
    """Where an element is taken from in place of one that is outside."""
    if padding_mode == "border":
        return _clipped(place, own)
    return _reflected(place, own, align_corners) if padding_mode == "reflection" else place


def _taps(
    number: PrimExpr, extent: PrimExpr, method: str, padding_mode: str, align_corners: bool
) -> list[tuple[PrimExpr, PrimExpr, PrimExpr]]:
    """Along one dimension, for a place from -1 to 1: indices of elements, what each counts and whether it is inside."""
    own = cast("float64", extent)
    x = cast("float64", number)
    place = (x + 1) / 2 * (own - 1) if align_corners else ((x + 1) * own - 1) / 2
    if method != "bicubic":
        place = _padded(place, own, padding_mode, align_corners)
    base = scalar.round(place) if method == "nearest" else scalar.floor(place)
    t = place - base
    weights = {"nearest": [_float(1)], "bilinear": [1 - t, t], "bicubic": cubic_weights(t, _ALPHA)}[method]
    found: list[tuple[PrimExpr, PrimExpr, PrimExpr]] = []
    for n, weight in enumerate(weights, -1 if method == "bicubic" else 0):
        at = base + _float(n)
        if method == "bicubic":
            at = _padded(at, own, padding_mode, align_corners)
        inside = scalar.all(at >= _float(0), at <= own - 1)
        found.append((cast(extent.dtype, _clipped(at, own)), weight, inside))
    return found


def _exact_taps(x: float, own: int, method: str, padding_mode: str, align_corners: bool) -> dict[int, float]:
    """What elements count along one dimension."""

    def brought(place: float) -> float:
        low, high = (0.0, own - 1.0) if align_corners else (-0.5, own - 0.5)
        while padding_mode == "reflection" and low < high and not low <= place <= high:
            place = 2 * low - place if place < low else 2 * high - place
        return place if padding_mode == "zeros" else min(max(place, 0), own - 1)

    place = (x + 1) / 2 * (own - 1) if align_corners else ((x + 1) * own - 1) / 2
    if method == "bicubic":
        base, found = int(np.floor(place)), dict[int, float]()
        for n, weight in enumerate(cubic_weights(place - base, _ALPHA), base - 1):
            at = int(brought(n))
            found[at] = found.get(at, 0) + weight
        return found
    place = brought(place)
    if method == "nearest":
        return {round(place): 1.0}
    base = int(np.floor(place))
    return {base: 1 - (place - base), base + 1: place - base}


def _grid_sample_reference(
    data: Array, grid: Array, method: str, layout: str, padding_mode: str, align_corners: bool
) -> Array:
    rank = len(layout) - 2
    order = order_of(layout, f"NC{SPATIAL[3 - rank :]}", "image.grid_sample")
    x = data.transpose(order).astype("float64")
    made = np.zeros((*x.shape[:2], *grid.shape[2:]))
    for n, *place in product(*map(range, (grid.shape[0], *grid.shape[2:]))):
        numbers = grid[(n, slice(None), *place)][::-1]
        taps = [
            _exact_taps(float(number), own, method, padding_mode, align_corners)
            for number, own in zip(numbers, x.shape[2:], strict=True)
        ]
        for indices in product(*taps):
            if all(0 <= i < own for i, own in zip(indices, x.shape[2:], strict=True)):
                weight = np.prod([tap[i] for tap, i in zip(taps, indices, strict=True)])
                made[(n, slice(None), *place)] += x[(n, slice(None), *indices)] * weight
    return made.astype(data.dtype).transpose(np.argsort(order))


@operator("image.grid_sample", Pattern.INJECTIVE, _grid_sample_reference)
def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Tensor:
    """An image whose elements are those at the places of an image that `grid` has.

    grid: of shape (N, 2, H, W) for an image, (N, 3, D, H, W) for a volume: x, y and z of each place, -1 at the first
    element and 1 at the last one, or at the outer sides of these if align_corners is False.  method: the element that
    is next to a place ("nearest"), or a mean of two ("bilinear") or, of images, of four ("bicubic") along each
    dimension.  layout: the order of axes of data.  padding_mode: what is outside: "zeros", "border" the elements at the
    sides, "reflection" the image mirrored there. A place that is NaN is outside, with the last two the first element.
    """
    name, rank = "image.grid_sample", len(layout) - 2
    if rank not in (2, 3) or data.ndim != rank + 2 or grid.ndim != rank + 2:
        raise TeError(f"{name}: layout {layout!r}, data and grid of {data.ndim} and {grid.ndim} dimensions")
    n, c, *spatial = order_of(layout, f"NC{SPATIAL[3 - rank :]}", name)
    require_floats(data, f"{name}: data")
    require_floats(grid, f"{name}: grid")
    require_one_of(method, _METHODS if rank == 2 else _METHODS[:2], f"{name}: method")
    require_one_of(padding_mode, _PADDINGS, f"{name}: padding_mode")
    if known_extent(grid.shape[1]) != rank or not is_same_extent(grid.shape[0], data.shape[n]):
        shapes = f"data {list(data.shape)} and grid {list(grid.shape)}"
        raise TeError(f"{name}: {shapes}, expected a grid of shape [{data.shape[n]}, {rank}, ...]")
    if any(known_extent(data.shape[d]) == 0 for d in spatial):
        raise TeError(f"{name}: an image of shape {list(data.shape)} has no elements")
    kind = "float64" if data.dtype == "float64" else "float32"

    def source(*axes: PrimExpr) -> PrimExpr:
        place = [axes[d] for d in spatial]
        taps = [
            _taps(grid(axes[n], rank - 1 - i, *place), data.shape[d], method, padding_mode, align_corners)
            for i, d in enumerate(spatial)
        ]
        total: PrimExpr = const(0.0, kind)
        for chosen in product(*taps):
            at = {n: axes[n], c: axes[c], **{d: index for d, (index, *_) in zip(spatial, chosen, strict=True)}}
            weight = cast(kind, _product([weight for _, weight, _ in chosen]))
            part = cast(kind, data(*(at[d] for d in range(data.ndim)))) * weight
            inside = scalar.all(*(inside for *_, inside in chosen))
            total = total + (Select(inside, part, const(0.0, kind)) if padding_mode == "zeros" else part)
        return cast(data.dtype, total)

    wanted: dict[int, Extent] = dict(zip(spatial, grid.shape[2:], strict=True))
    shape = [wanted.get(d, extent) for d, extent in enumerate(data.shape)]
    names = [f"ax{d}" for d in range(data.ndim)]
    return compute(shape, source, "grid_sample", "injective", varargs_names=names)


def _product(weights: Sequence[PrimExpr]) -> PrimExpr:
    result = weights[0]
    for weight in weights[1:]:
        result = result * weight
    return result


def _affine_reference(data: Array, target_shape: Sequence[int], align_corners: bool) -> Array:
    rows, columns = (
        (2 * np.arange(n) + 1 - n) / max(n - 1, 1) if align_corners else (2 * np.arange(n) + 1) / n - 1
        for n in target_shape
    )
    y, x = np.meshgrid(rows, columns, indexing="ij")
    return np.einsum("nij,jyx->niyx", data.astype("float64"), np.stack([x, y, np.ones_like(x)])).astype(data.dtype)


@operator("image.affine_grid", Pattern.INJECTIVE, _affine_reference)
def affine_grid(data: Tensor, target_shape: Sequence[int], align_corners: bool = True) -> Tensor:
    """The places for `image.grid_sample` of an image that is turned, moved and made larger or smaller.

    data: a matrix of 2 by 3 for each image, that takes `[x, y, 1]` to the place of an element; the result has x and y
    of these, (N, 2, H, W).  target_shape: H and W.  align_corners: -1 and 1 are the first and the last element, and not
    the outer sides of these.
    """
    name = "image.affine_grid"
    require_floats(data, name)
    if data.ndim != 3 or [known_extent(extent) for extent in data.shape[1:]] != [2, 3]:
        raise TeError(f"{name}: data of shape {list(data.shape)}, expected [N, 2, 3]")
    if len(target_shape) != 2 or min(target_shape) < 1:
        raise TeError(f"{name}: target_shape {list(target_shape)}, expected 2 numbers from 1 on")
    kind = "float64" if data.dtype == "float64" else "float32"

    def number(index: PrimExpr, extent: int) -> PrimExpr:
        if align_corners:
            m, p, q = (2, 1 - extent, extent - 1) if extent > 1 else (0, 0, 1)
        else:
            m, p, q = 2, 1 - extent, extent
        return (cast(kind, index) * const(float(m), kind) + const(float(p), kind)) / const(float(q), kind)

    def source(n: PrimExpr, i: PrimExpr, y: PrimExpr, x: PrimExpr) -> PrimExpr:
        a, b, c = (cast(kind, data(n, i, j)) for j in range(3))
        return cast(data.dtype, a * number(x, target_shape[1]) + b * number(y, target_shape[0]) + c)

    return compute([data.shape[0], 2, *target_shape], source, "affine_grid", "injective")
