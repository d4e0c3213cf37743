"""Spectra: Fourier transforms, and weights of frequencies."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import numpy.typing as npt

from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast, const
from ..expressions.tensor import Tensor, is_same_extent
from .definition import Pattern, operator
from .elements import build_tensor
from .extents import Extent, known_extent

Array = npt.NDArray[Any]


def _waves(length: Extent, dtype: str, name: str) -> tuple[Tensor, Tensor]:
    """The cosines and the sines of the angles of a circle, divided into `length` parts."""

    def angle(n: PrimExpr) -> PrimExpr:
        return cast("float64", n) * const(2 * pi, "float64") / cast("float64", length)

    cosines = build_tensor([length], lambda n: cast(dtype, scalar.cos(angle(n))), f"{name}_cosines")
    return cosines, build_tensor([length], lambda n: cast(dtype, scalar.sin(angle(n))), f"{name}_sines")


def _part(a: PrimExpr, b: PrimExpr, length: Extent) -> PrimExpr:
    """The product of two numbers of parts of a circle, as a part of the circle."""
    return cast("int64", a) * cast("int64", b) % cast("int64", length)


def _require_signal(name: str, data: Tensor, what: str) -> None:
    if data.dtype not in ("float32", "float64"):
        raise TeError(f"{name}: {what} of {data.dtype}, expected float32 or float64")


def _dft_reference(re_data: Array, im_data: Array, inverse: bool) -> list[Array]:
    signal = re_data.astype("complex128") + 1j * im_data.astype("complex128")
    if not signal.size:
        return [re_data.copy(), im_data.copy()]
    result = np.fft.ifft(signal) if inverse else np.fft.fft(signal)
    return [result.real.astype(re_data.dtype), result.imag.astype(re_data.dtype)]


@operator("dft", Pattern.OPAQUE, _dft_reference)
def dft(re_data: Tensor, im_data: Tensor, inverse: bool = False) -> list[Tensor]:
    """The real and the imaginary parts of the discrete Fourier transform along the last axis.

    re_data, im_data: the parts of the signal.  inverse: whether the transform is the inverse one, which is divided by
    the extent of the axis.
    """
    _require_signal("dft", re_data, "a signal")
    if im_data.dtype != re_data.dtype or im_data.ndim != re_data.ndim or not re_data.ndim:
        kinds = " and ".join(f"{each.dtype} of {each.ndim} dimensions" for each in (re_data, im_data))
        raise TeError(f"dft: parts of {kinds}, expected the same, with 1 dimension or more")
    if not all(map(is_same_extent, im_data.shape, re_data.shape)):
        raise TeError(f"dft: parts of shapes {list(re_data.shape)} and {list(im_data.shape)}, expected the same")
    length, sign = re_data.shape[-1], -1 if inverse else 1
    cosines, sines = _waves(length, re_data.dtype, "dft")

    def transform(along: Tensor, across: Tensor, side: int, name: str) -> Tensor:
        k = reduce_axis((0, length), "k")

        def element(*i: PrimExpr) -> PrimExpr:
            at = _part(i[-1], k.var, length)
            wave = across(*i[:-1], k.var) * sines(at)
            product = along(*i[:-1], k.var) * cosines(at)
            return scalar.sum(product + wave if side > 0 else product - wave, axis=k)

        total = build_tensor(re_data.shape, element, f"dft_{name}_sums")
        if not inverse:
            return total
        return build_tensor(re_data.shape, lambda *i: total(*i) / cast(re_data.dtype, length), f"dft_{name}")

    return [transform(re_data, im_data, sign, "real"), transform(im_data, re_data, -sign, "imaginary")]


def _stft_reference(
    data: Array, window: Array, n_fft: int, hop_length: int, win_length: int, normalized: bool, onesided: bool
) -> Array:
    rows, frames = (n_fft // 2 + 1 if onesided else n_fft), (data.shape[-1] - n_fft) // hop_length + 1
    angles = 2 * np.pi * (np.outer(np.arange(rows), np.arange(win_length)) % win_length) / win_length
    places = np.arange(frames)[:, None] * hop_length + np.arange(win_length)
    parts = data.astype("float64")[..., places] * window.astype("float64")
    waves = np.stack([np.cos(angles), -np.sin(angles)])
    result = np.einsum("...tw,pfw->...ftp", parts, waves)
    return np.ascontiguousarray(result / np.sqrt(n_fft) if normalized else result, data.dtype)


@operator("stft", Pattern.OPAQUE, _stft_reference)
def stft(
    data: Tensor,
    window: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    normalized: bool = False,
    onesided: bool = True,
) -> Tensor:
    """The Fourier transforms of overlapping parts of a signal: by frequency, part, and real or imaginary part.

    data: a signal, or a batch.  window: the factors of the elements of a part.  n_fft: the distance that the last part
    keeps from the end of the signal, and the number of frequencies, of which `onesided` keeps the first
    `n_fft // 2 + 1`.  hop_length: the distance between parts.  win_length: the number of elements of a part, up to
    n_fft; frequencies are multiples of `1 / win_length`.  normalized: whether the result is divided by the square root
    of n_fft.
    """
    _require_signal("stft", data, "a signal")
    if data.ndim not in (1, 2):
        raise TeError(f"stft: a signal of {data.ndim} dimensions, expected 1, or 2 for a batch")
    if not 0 < win_length <= n_fft or hop_length < 1:
        sizes = f"n_fft {n_fft}, win_length {win_length}, hop_length {hop_length}"
        raise TeError(f"stft: {sizes}, expected positive sizes, and win_length up to n_fft")
    if window.ndim != 1 or known_extent(window.shape[0]) != win_length:
        raise TeError(f"stft: window of shape {list(window.shape)}, expected [{win_length}]")
    length = known_extent(data.shape[-1])
    if length is not None and length < n_fft:
        raise TeError(f"stft: a signal of {length} elements, expected {n_fft} or more")
    rows, frames = (n_fft // 2 + 1 if onesided else n_fft), (data.shape[-1] - n_fft) // hop_length + 1
    cosines, sines = _waves(win_length, data.dtype, "stft")
    waves = build_tensor(
        [2, win_length], lambda part, n: scalar.if_then_else(part.equal(0), cosines(n), -sines(n)), "stft_waves"
    )
    w = reduce_axis((0, win_length), "w")

    def element(*i: PrimExpr) -> PrimExpr:
        *batch, row, frame, part = i
        value = data(*batch, frame * hop_length + w.var) * cast(data.dtype, window(w.var))
        return scalar.sum(value * waves(part, _part(row, w.var, win_length)), axis=w)

    shape = [*data.shape[:-1], rows, frames, 2]
    total = build_tensor(shape, element, "stft")
    factor = const(n_fft**-0.5, data.dtype)
    return build_tensor(shape, lambda *i: total(*i) * factor, "stft_normalized") if normalized else total


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
