"""References in numpy of the resizing operators."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ...core.dtypes import int_range, parse_dtype
from .interpolation import LEAST_SUM, Interpolation
from .positions import Dimension

Array = Any


def _exact_position(x: int, along: Dimension, mode: str) -> Any:
    """The position of element x of the result in the image, as ONNX defines it: a fraction, or a float for a float
    scale or part."""
    extent, size = along.extent, along.size
    scale: Any = Fraction(size, extent) if along.scale is None else along.scale
    half = Fraction(1, 2)
    match mode:
        case "align_corners":
            return Fraction(x * (extent - 1), size - 1) if size > 1 else 0
        case "asymmetric":
            return x / scale
        case "tf_half_pixel_for_nn":
            return (x + half) / scale
        case "tf_crop_and_resize" if size > 1:
            return along.start * (extent - 1) + x * (along.end - along.start) * (extent - 1) / (size - 1)
        case "tf_crop_and_resize":
            return 0.5 * (along.start + along.end) * (extent - 1)
        case "half_pixel_symmetric":
            return Fraction(extent, 2) * (1 - size / (scale * extent)) + (x + half) / scale - half
        case "pytorch_half_pixel" if size == 1:
            return 0
        case _:
            return (x + half) / scale - half


def _exact_nearest(position: Any, how: str) -> int:
    match how:
        case "round":
            return round(position)
        case "floor":
            return math.floor(position)
        case "ceil":
            return math.ceil(position)
        case "round_prefer_floor":
            return math.ceil(position - Fraction(1, 2))
        case _:
            return math.floor(position + Fraction(1, 2))


def _exact_cubic(x: float, alpha: float) -> float:
    """The cubic weight of an element at a distance."""
    if x <= 1:
        return (alpha + 2) * x**3 - (alpha + 3) * x**2 + 1
    return alpha * (x**3 - 5 * x**2 + 8 * x - 4)


def _matrix(along: Dimension, how: Interpolation) -> Array:
    """The weight of each element of the image in each element of the result, along one dimension."""
    matrix = np.zeros((along.size, along.extent))
    for x in range(along.size):
        position = _exact_position(x, along, how.mode)
        base = math.floor(position)
        t = float(position - base)
        taps = {base: 1 - t, base + 1: t}
        if how.is_nearest:
            taps = {_exact_nearest(position, how.index_rounding): 1.0}
        elif how.method == "cubic":
            taps = {n: _exact_cubic(abs(float(position - n)), how.cubic_alpha) for n in range(base - 1, base + 3)}
        if how.method == "cubic" and how.cubic_exclude:
            taps = {n: weight for n, weight in taps.items() if 0 <= n < along.extent}
            total = sum(taps.values())
            taps = {n: weight / (1 if abs(total) < LEAST_SUM else total) for n, weight in taps.items()}
        for n, weight in taps.items():
            matrix[x, min(max(n, 0), along.extent - 1)] += weight
    return matrix


def resize_array(data: Array, dimensions: dict[int, Dimension], how: Interpolation, dtype: str) -> Array:
    """The reference of `resize` in numpy, by a matrix for each dimension."""
    nearest = how.is_nearest
    result = data if nearest else data.astype("float64")
    outside = np.zeros(data.shape, bool)
    for d, along in dimensions.items():
        matrix = _matrix(along, how)
        if nearest:
            result = np.take(result, matrix.argmax(1), d)
        else:
            result = np.moveaxis(np.tensordot(matrix, result, (1, d)), 0, d)
        positions = [_exact_position(x, along, how.mode) for x in range(along.size)]
        beyond = np.array([position < 0 or position > along.extent - 1 for position in positions])
        line = beyond.reshape([-1 if n == d else 1 for n in range(data.ndim)])
        outside = np.take(outside, [0] * along.size, d) | line
    if np.dtype(dtype).kind in "iu" and not nearest:
        result = np.clip(np.rint(result), *int_range(parse_dtype(dtype)))
    result = result.astype(dtype)
    return np.where(outside, np.dtype(dtype).type(how.extrapolation_value), result) if "crop" in how.mode else result
