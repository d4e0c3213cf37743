"""Packed functions of this package on images and signals, in numpy: operators whose attributes a program computes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.errors import ArgumentError
from ...operators import spectra
from ...operators.image.interpolation import Interpolation
from ...operators.image.positions import Dimension
from ...operators.image.reference import resize_array
from ...operators.image.scaling import antialias_weights, resampling, scaled_sizes, sizes_and_scales
from ...operators.vision import roi_align_reference
from ..runtime.packed import register_func
from .host_functions import on_host

Array = np.ndarray[Any, Any]


def resize(description: str, x: Array, numbers: Array, part: Array | None = None) -> Array:
    """`x` resized along axes. numbers: the scale factors, floats, or the sizes, integers.  part: the resized part, its
    starts and then its ends along the axes, as fractions.

    description: as JSON, the axes (`axes`), the attributes of `Interpolation` (`method`, `mode`, `rounding`,
    `cubic_alpha`, `excludes`, `extrapolation_value`), whether there is an antialiasing filter (`antialias`), and the
    policy of `sizes_and_scales` (`policy`).
    """
    given = json.loads(description)
    axes, extents = given["axes"], [x.shape[axis] for axis in given["axes"]]
    if numbers.dtype.kind == "f":
        scales = [float(each) for each in numbers]
        sizes = scaled_sizes(extents, scales)
    else:
        sizes, scales = sizes_and_scales(extents, numbers.tolist(), given["policy"])
    if 0 in sizes:
        raise ArgumentError(f"sizes {sizes}, expected at least 1")
    if given["antialias"] and any(scale < 1 for scale in scales):
        return _filter(x, axes, sizes, scales, given)
    mode, scales = resampling(given["mode"], extents, sizes, scales)
    method = Interpolation(
        given["method"], mode, given["rounding"], given["cubic_alpha"], given["excludes"], given["extrapolation_value"]
    )
    starts, ends = np.split(part.astype(float), 2) if part is not None else ([0.0] * len(axes), [1.0] * len(axes))
    parts = zip(axes, extents, sizes, scales, starts, ends, strict=True)
    dimensions = {axis: Dimension(n, size, scale, float(a), float(b)) for axis, n, size, scale, a, b in parts}
    return resize_array(x, dimensions, method, x.dtype.name)


def _filter(x: Array, axes: Sequence[int], sizes: Sequence[int], scales: Sequence[float], given: Any) -> Array:
    alpha = given["cubic_alpha"] if given["method"] == "cubic" else None
    result = x.astype("float64")
    for axis, size, scale in zip(axes, sizes, scales, strict=True):
        if (size, scale) != (x.shape[axis], 1):
            weights = antialias_weights(x.shape[axis], size, scale, given["mode"], alpha, given["excludes"])
            result = np.moveaxis(np.moveaxis(result, axis, -1) @ weights.T, -1, axis)
    return np.asarray(result.astype(x.dtype), order="C")


def col2im(description: str, x: Array, image: Array, block: Array) -> Array:
    """The sums of overlapping blocks, the columns of `x`, in an image: [batch, channels, *image]. block: the shape of a
    block.

    description: as JSON, for each dimension of the image the strides (`strides`), the dilations (`dilations`) and the
    padding (`pads`, that before each dimension and then that after it).
    """
    given = json.loads(description)
    extents, sizes, rank = image.tolist(), block.tolist(), len(image)
    strides, dilations, pads = given["strides"], given["dilations"], given["pads"]
    taps = math.prod(sizes)
    if min(*extents, *sizes) < 1 or x.shape[1] % taps:
        raise ArgumentError(f"blocks of {sizes} of an image of {extents}, {x.shape[1]} rows")
    padded = [n + pads[d] + pads[d + rank] for d, n in enumerate(extents)]
    counts = [(padded[d] - (sizes[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(rank)]
    if math.prod(counts) != x.shape[2]:
        raise ArgumentError(f"{x.shape[2]} columns, expected {math.prod(counts)} blocks")
    columns = x.reshape(x.shape[0], -1, taps, *counts)
    result = np.zeros((*columns.shape[:2], *padded), x.dtype)
    for tap, offsets in enumerate(np.ndindex(*sizes)):
        places = zip(offsets, dilations, strides, counts, strict=True)
        rows = tuple(slice(o * dilation, o * dilation + (n - 1) * s + 1, s) for o, dilation, s, n in places)
        result[:, :, *rows] += columns[:, :, tap]
    inside = tuple(slice(pads[d], pads[d] + n) for d, n in enumerate(extents))
    return np.asarray(result[:, :, *inside], order="C")


def dft(x: Array, length: Array, axis: Array, inverse: int, onesided: int) -> Array:
    """The discrete Fourier transform along an axis; the last axis has the real and the imaginary parts.

    length: the number of elements that are transformed; missing elements are 0.  onesided: whether the result is the
    first half of the frequencies of a real signal, or, if `inverse`, such a signal of its frequencies.
    """
    count, along = int(length.reshape(())), int(axis.reshape(())) % x.ndim
    if along == x.ndim - 1 or count < 1:
        raise ArgumentError(f"a transform of {count} elements along axis {along} of {x.ndim}")
    wide = x.astype("float64")
    signal = wide[..., 0] + 1j * wide[..., 1] if x.shape[-1] == 2 else wide[..., 0]
    if inverse and onesided:
        return np.fft.irfft(signal, count, along)[..., None].astype(x.dtype)
    result = (np.fft.ifft if inverse else np.fft.fft)(signal, count, along)
    if onesided:
        result = result.take(np.arange(count // 2 + 1), along)
    return np.stack([result.real, result.imag], -1).astype(x.dtype)


def stft(signal: Array, step: Array, window: Array, length: Array, onesided: int) -> Array:
    """The transforms of frames of a signal: [batch, frames, frequencies, 2] of [batch, elements, 1 or 2 parts].

    step: the distance of two frames.  window: a factor for each element of a frame, or one for all.  length: of a
    frame.  onesided: whether a transform is the first half of its frequencies.
    """
    hop, count = int(step.reshape(())), int(length.reshape(()))
    if hop < 1 or not 1 <= count <= signal.shape[1] or len(window) not in (1, count):
        raise ArgumentError(
            f"frames of {count} of {signal.shape[1]} elements, in steps of {hop}, with a window of {len(window)}"
        )
    places = np.arange(0, signal.shape[1] - count + 1, hop)[:, None] + np.arange(count)
    frames = signal[:, places] * window.reshape(-1, 1)
    return dft(frames, np.asarray(count), np.asarray(2), 0, onesided)


def mel_weights(bands: Array, length: Array, rate: Array, low: Array, high: Array) -> Array:
    """The weights of the frequencies of a spectrum in bands of the mel scale: see `operators.spectra`."""
    try:
        return spectra.mel_weights(*(each.item() for each in (bands, length, rate, low, high)))
    except ValueError as error:
        raise ArgumentError(str(error)) from None


def roi_align(description: str, x: Array, regions: Array) -> Array:
    """`vision.roi_align` with as many samples of each part as it has elements. description: the attributes, as JSON."""
    return np.asarray(roi_align_reference(x, regions, **json.loads(description), sample_ratio=0), order="C")


IMAGE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "col2im": col2im,
    "dft": dft,
    "mel_weights": mel_weights,
    "resize": resize,
    "roi_align": roi_align,
    "stft": stft,
}
"""The functions, which are registered with the prefix `stepwell.`."""

for _name, _function in IMAGE_FUNCTIONS.items():
    register_func(f"stepwell.{_name}", on_host(_function), override=True)
