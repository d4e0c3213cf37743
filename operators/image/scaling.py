"""Sizes and scales of resized images, and the weights of antialiasing filters, as ONNX defines them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.errors import ArgumentError

Array = Any


def scaled_sizes(extents: Sequence[int], scales: Sequence[float]) -> list[int]:
    """The extents times scale factors, rounded down. Raises ArgumentError for factors that are no positive numbers."""
    if len(scales) != len(extents) or not all(0 < scale < math.inf for scale in scales):
        raise ArgumentError(f"scales {list(scales)}, expected {len(extents)} finite numbers above 0")
    return [math.floor(n * scale) for n, scale in zip(extents, scales, strict=True)]


def sizes_and_scales(extents: Sequence[int], sizes: Sequence[int], policy: str) -> tuple[list[int], list[float]]:
    """The sizes and scales of a resize to `sizes`. Raises ArgumentError for an extent of 0.

    policy: `stretch`, or, for one scale for all dimensions, `not_larger` or `not_smaller` than the sizes.
    """
    if 0 in extents:
        raise ArgumentError(f"extents {list(extents)}, expected at least 1")
    ratios = [size / n for size, n in zip(sizes, extents, strict=True)]
    if policy == "stretch":
        return list(sizes), ratios
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(n * scale + 0.5) for n in extents], [scale] * len(extents)


def resampling(
    mode: str, extents: Sequence[int], sizes: Sequence[int], scales: Sequence[float]
) -> tuple[str, Sequence[float]]:
    """The coordinate transformation mode and the scales of the operators that resize images. The length of a result
    with aligned corners may be no integer by ONNX's formula; the positions are then those of other scales."""
    exact = all(n * scale == size for n, scale, size in zip(extents, scales, sizes, strict=True))
    if mode != "align_corners" or exact:
        return mode, scales
    return "asymmetric", [_from_corners(n, scale) for n, scale in zip(extents, scales, strict=True)]


def _from_corners(extent: int, scale: float) -> float:
    """The scale of a resize that aligns the first and last elements of the result with the corners of the image."""
    if scale == 1 or extent == 1 or extent * scale == 1:
        return scale if scale == 1 else math.inf
    return (extent * scale - 1) / (extent - 1)


# Antialiasing

ANTIALIASED_MODES = ("asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")
"""The coordinate transformation modes with weights of antialiasing filters."""


def filter_reach(scale: float) -> int:
    """The greatest distance of an element with a weight, in elements."""
    return math.ceil(2 / min(scale, 1.0)) + 1


def antialias_weights(
    extent: int, size: int, scale: float, mode: str, cubic_alpha: float | None, excludes: bool
) -> Array:
    """The filter weights of an axis, (size, extent). Elements beyond the ends repeat the elements at the ends.

    mode: one of `ANTIALIASED_MODES`.  cubic_alpha: the slope of cubic weights, None for linear ones.  excludes: whether
    elements beyond the ends have weight 0.
    """
    out, places = np.arange(size), _places(extent, size, scale, mode)
    reach = filter_reach(scale)
    taps = np.floor(places)[:, None].astype(int) + np.arange(-reach, reach + 1)
    far = np.abs(taps - places[:, None]) * min(scale, 1.0)
    weights = np.clip(1 - far, 0, 1) if cubic_alpha is None else _cubic_weights(far, cubic_alpha)
    if excludes:
        weights[(taps < 0) | (taps >= extent)] = 0
    weights /= weights.sum(1, keepdims=True)
    matrix = np.zeros((size, extent))
    np.add.at(matrix, (out[:, None], np.clip(taps, 0, extent - 1)), weights)
    return matrix


def _places(extent: int, size: int, scale: float, mode: str) -> Array:
    """The positions in the image of the elements of the result."""
    out = np.arange(size)
    match mode:
        case "asymmetric":
            return out / scale
        case "align_corners":
            return out * (extent - 1) / (extent * scale - 1) if extent * scale != 1 else out * 0.0
        case "half_pixel_symmetric":
            return extent / 2 * (1 - size / (extent * scale)) + (out + 0.5) / scale - 0.5
        case _:
            return (out + 0.5) / scale - 0.5 if size > 1 or mode == "half_pixel" else out - 0.5


def _cubic_weights(far: Array, a: float) -> Array:
    """Keys' cubic weights for distances `far`."""
    near = ((a + 2) * far - (a + 3)) * far * far + 1
    return np.where(far <= 1, near, np.where(far < 2, ((a * far - 5 * a) * far + 8 * a) * far - 4 * a, 0.0))
