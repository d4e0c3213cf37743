"""Sampling of images at the positions of a grid, and affine grids."""

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
from .image.interpolation import cubic_weights
from .requirements import require_floats, require_one_of
from .windows import SPATIAL, layout_axes

Array = Any

_METHODS = ("nearest", "bilinear", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
_ALPHA = -0.75


def _float(value: float) -> PrimExpr:
    return const(float(value), "float64")


def _clip(position: PrimExpr, own: PrimExpr) -> PrimExpr:
    return scalar.min(scalar.max(position, _float(0)), own - 1)


def _reflect(position: PrimExpr, own: PrimExpr, align_corners: bool) -> PrimExpr:
    """The position reflected at the centres of the first and the last element, or at their outer edges."""
    low = _float(0 if align_corners else -0.5)
    span = scalar.max(own - 1, _float(1)) if align_corners else own
    far = scalar.abs(position - low)
    rest = far - scalar.floor(far / (span * 2)) * (span * 2)
    return _clip(scalar.min(rest, span * 2 - rest) + low, own)


def _pad(position: PrimExpr, own: PrimExpr, padding_mode: str, align_corners: bool) -> PrimExpr:
    """The position moved into the image, as `padding_mode` requires; unchanged for zeros."""
    if padding_mode == "border":
        return _clip(position, own)
    return _reflect(position, own, align_corners) if padding_mode == "reflection" else position


def _taps(
    coordinate: PrimExpr, extent: PrimExpr, method: str, padding_mode: str, align_corners: bool
) -> list[tuple[PrimExpr, PrimExpr, PrimExpr]]:
    """The indices, weights and in-bounds conditions of the taps along one dimension, for a coordinate from -1 to 1."""
    own = cast("float64", extent)
    x = cast("float64", coordinate)
    position = (x + 1) / 2 * (own - 1) if align_corners else ((x + 1) * own - 1) / 2
    if method != "bicubic":
        position = _pad(position, own, padding_mode, align_corners)
    base = scalar.round(position) if method == "nearest" else scalar.floor(position)
    t = position - base
    weights = {"nearest": [_float(1)], "bilinear": [1 - t, t], "bicubic": cubic_weights(t, _ALPHA)}[method]
    taps: list[tuple[PrimExpr, PrimExpr, PrimExpr]] = []
    for n, weight in enumerate(weights, -1 if method == "bicubic" else 0):
        at = base + _float(n)
        if method == "bicubic":
            at = _pad(at, own, padding_mode, align_corners)
        inside = scalar.all(at >= _float(0), at <= own - 1)
        taps.append((cast(extent.dtype, _clip(at, own)), weight, inside))
    return taps


def _exact_taps(coordinate: float, own: int, method: str, padding_mode: str, align_corners: bool) -> dict[int, float]:
    """The weights of the elements along one dimension, by index."""

    def pad(position: float) -> float:
        low, high = (0.0, own - 1.0) if align_corners else (-0.5, own - 0.5)
        while padding_mode == "reflection" and low < high and not low <= position <= high:
            position = 2 * low - position if position < low else 2 * high - position
        return position if padding_mode == "zeros" else min(max(position, 0), own - 1)

    position = (coordinate + 1) / 2 * (own - 1) if align_corners else ((coordinate + 1) * own - 1) / 2
    if method == "bicubic":
        base, weights = int(np.floor(position)), dict[int, float]()
        for n, weight in enumerate(cubic_weights(position - base, _ALPHA), base - 1):
            at = int(pad(n))
            weights[at] = weights.get(at, 0) + weight
        return weights
    position = pad(position)
    if method == "nearest":
        return {round(position): 1.0}
    base = int(np.floor(position))
    return {base: 1 - (position - base), base + 1: position - base}


def _grid_sample_reference(
    data: Array, grid: Array, method: str, layout: str, padding_mode: str, align_corners: bool
) -> Array:
    rank = len(layout) - 2
    order = layout_axes(layout, f"NC{SPATIAL[3 - rank :]}", "image.grid_sample")
    x = data.transpose(order).astype("float64")
    result = np.zeros((*x.shape[:2], *grid.shape[2:]))
    for n, *indices in product(*map(range, (grid.shape[0], *grid.shape[2:]))):
        coordinates = grid[(n, slice(None), *indices)][::-1]
        taps = [
            _exact_taps(float(coordinate), own, method, padding_mode, align_corners)
            for coordinate, own in zip(coordinates, x.shape[2:], strict=True)
        ]
        for tap_indices in product(*taps):
            if all(0 <= i < own for i, own in zip(tap_indices, x.shape[2:], strict=True)):
                weight = np.prod([tap[i] for tap, i in zip(taps, tap_indices, strict=True)])
                result[(n, slice(None), *indices)] += x[(n, slice(None), *tap_indices)] * weight
    return result.astype(data.dtype).transpose(np.argsort(order))


@operator("image.grid_sample", Pattern.INJECTIVE, _grid_sample_reference)
def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Tensor:
    """Samples an image at the positions in `grid`.

    grid: of shape (N, 2, H, W) for an image, (N, 3, D, H, W) for a volume: the coordinates x, y and z of each position;
    -1 denotes the first element and 1 the last, or their outer edges if align_corners is False.  method: the nearest
    element ("nearest"), or the mean of two ("bilinear") or, for images, of four elements ("bicubic") along each
    dimension.  layout: the order of the axes of data.  padding_mode: the values outside of the image: "zeros", "border"
    for the elements at the border, "reflection" for the mirrored image. A NaN position is outside; in the last two
    modes it denotes the first element.
    """
    name, rank = "image.grid_sample", len(layout) - 2
    if rank not in (2, 3) or data.ndim != rank + 2 or grid.ndim != rank + 2:
        raise TeError(f"{name}: layout {layout!r}, data and grid of {data.ndim} and {grid.ndim} dimensions")
    n, c, *spatial = layout_axes(layout, f"NC{SPATIAL[3 - rank :]}", name)
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
        indices = [axes[d] for d in spatial]
        taps = [
            _taps(grid(axes[n], rank - 1 - i, *indices), data.shape[d], method, padding_mode, align_corners)
            for i, d in enumerate(spatial)
        ]
        total: PrimExpr = const(0.0, kind)
        for combination in product(*taps):
            at = {n: axes[n], c: axes[c], **{d: index for d, (index, *_) in zip(spatial, combination, strict=True)}}
            weight = cast(kind, _product([weight for _, weight, _ in combination]))
            part = cast(kind, data(*(at[d] for d in range(data.ndim)))) * weight
            inside = scalar.all(*(inside for *_, inside in combination))
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
    """The grid for `image.grid_sample` that applies an affine transformation to an image.

    data: a 2 by 3 matrix for each image, which maps `[x, y, 1]` to the position of an element; the result holds x and y
    of these positions, (N, 2, H, W).  target_shape: H and W.  align_corners: whether -1 and 1 denote the first and the
    last element, and not their outer edges.
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
