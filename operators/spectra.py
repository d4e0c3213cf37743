"""Weights of the frequencies of spectra."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def mel_weights(bands: int, length: int, rate: float, low: float, high: float) -> Array:
    """The weights of the frequencies of a spectrum (rows) in bands of the mel scale (columns), as ONNX defines them.

    A band is a triangle of height 1 from the centre of the band before to the centre of the band after.  length: the
    number of transformed samples, of which the spectrum has `length // 2 + 1` frequencies.  rate: samples per second.
    low, high: the frequencies in hertz between which the bands lie. ValueError for bands outside of the spectrum.
    """
    rows = max(length, 0) // 2 + 1
    if bands < 1 or length < 1 or rate <= 0 or not 0 <= low < high:
        raise ValueError(f"{bands} bands from {low} to {high} Hz, {length} samples at {rate} per second")
    first, last = (2595 * np.log10(1 + hertz / 700) for hertz in (low, high))
    mels = first + np.arange(bands + 2) * (last - first) / (bands + 2)
    edges = ((length + 1) * 700 * (10 ** (mels / 2595) - 1) // rate).astype(int)
    if edges[-1] > rows:
        raise ValueError(f"bands up to frequency {edges[-1]} of a spectrum of {rows}")
    return np.stack([_triangle(rows, *edges[n : n + 3]) for n in range(bands)], axis=1)


def _triangle(rows: int, left: int, center: int, right: int) -> Array:
    """A band of the mel scale: it rises from `left` to `center` and falls to `right`, at which it is 0."""
    places = np.arange(rows)
    rising = np.where(places == center, 1.0, 0.0) if left == center else (places - left) / (center - left)
    falling = np.zeros(rows) if right == center else (right - places) / (right - center)
    is_rising = (places >= left) & (places <= center if right == center else places < center)
    is_falling = (places >= center) & (places < right)
    return np.where(is_falling, falling, np.where(is_rising, rising, 0.0))
