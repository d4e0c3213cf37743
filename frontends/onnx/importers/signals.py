"""Importers of operators on signals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....operators.relay import Size
from ....operators.spectra import mel_weights
from ...models.call import normalized_axis
from ...models.data_sizes import call_host
from ...models.limits import require_created
from ...models.types import Array
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError
from ..registry import importer
from .data_sizes import computed, computed_scalar, is_computed
from .elementwise import dtype_of_code
from .shapes import concatenate_along, permute_axes, slice_along


@importer("DFT")
def dft(call: Call) -> ModelTensor:
    """The discrete Fourier transform, as products with the cosines and sines of each frequency. The last axis holds the
    real and the imaginary part."""
    x = call.tensor()
    if is_computed(call, 1) or (call.version >= 20 and is_computed(call, 2)):
        return _computed_dft(call, x)
    axis = call.integer("axis", 1) if call.version < 20 else int(call.constant_scalar(2, "axis", -2))
    axis = normalized_axis(axis, x.rank)
    if axis == x.rank - 1:
        raise OnnxError("DFT along the axis of real and imaginary parts")
    length, parts_count = known_integers([x.shape[axis], x.shape[-1]], "DFT of extents")
    if parts_count not in (1, 2):
        raise OnnxError(f"DFT of numbers of {parts_count} parts, expected 1 or 2, the real and the imaginary part")
    inverse, onesided = call.integer("inverse") == 1, call.integer("onesided") == 1
    if inverse and onesided:
        return _inverse_of_half(call, x, axis, int(call.constant_scalar(1, "dft_length", 2 * (length - 1))))
    wanted = int(call.constant_scalar(1, "dft_length", length))
    taken = min(length, wanted)  # missing elements are 0
    wide = call.widen_small_floats(slice_along(call, x, axis, 0, taken, 1))
    waves = _waves(taken, wanted, wanted // 2 + 1 if onesided else wanted, inverse)
    return call.cast(_transform(call, [_part(call, wide, n) for n in range(parts_count)], waves, axis), x.dtype)


def _transform(call: Call, parts: Sequence[ModelTensor], waves: tuple[Array, Array], axis: int) -> ModelTensor:
    """The transform along an axis of the real and, if there are any, the imaginary parts of a signal."""
    (real, imaginary), last = (_product(call, parts[0], wave, axis) for wave in waves), parts[0].rank
    if len(parts) == 2:
        cosines, sines = waves
        real = call.op("subtract", real, _product(call, parts[1], sines, axis))
        imaginary = call.op("add", imaginary, _product(call, parts[1], cosines, axis))
    both = [call.op("expand_dims", each, axis=last) for each in (real, imaginary)]
    return concatenate_along(call, both, last)


def _computed_dft(call: Call, x: ModelTensor) -> ModelTensor:
    """A transform whose axis or length the model computes."""
    default = call.integer("axis", 1) if call.version < 20 else -2
    has_axis = call.version >= 20 and call.has(2)
    axis = computed_scalar(call, 2) if has_axis else call.constant(default, "int64")
    inverse, onesided = call.integer("inverse"), call.integer("onesided")
    if call.has(1):
        length = computed_scalar(call, 1)
    else:
        extent = call.op("take", call.builder.symbols(x.extents), axis, axis=0)
        length = call.scalar("multiply", call.scalar("subtract", extent, 1), 2) if inverse and onesided else extent
    along = None if axis.array is None else normalized_axis(int(axis.array), x.rank)
    shape: list[Size] = [
        call.builder.new_size("dft") if d == along or along is None else n for d, n in enumerate(x.shape)
    ]
    shape[-1] = 1 if inverse and onesided else 2
    return call_host(call.builder, "dft", [x, length, axis, inverse, onesided], [(x.dtype, shape)])[0]


def _inverse_of_half(call: Call, x: ModelTensor, axis: int, length: int) -> ModelTensor:
    """The inverse transform of the first half of the frequencies of a real signal; the other half is their conjugate
    mirror."""
    taken = min(known_integers([x.shape[axis]], "DFT of so many elements")[0], length // 2 + 1)
    wide = call.widen_small_floats(slice_along(call, x, axis, 0, taken, 1))
    cosines, sines = _waves(taken, length, length, inverse=True)
    is_alone = np.isin(np.arange(taken) * 2, (0, length))
    often = np.where(is_alone, 1, 2)
    real, imaginary = (_product(call, _part(call, wide, n), w * often, axis) for n, w in enumerate((cosines, sines)))
    return call.cast(call.op("expand_dims", call.op("subtract", real, imaginary), axis=x.rank - 1), x.dtype)


def _waves(taken: int, length: int, count: int, inverse: bool) -> tuple[Array, Array]:
    """The cosines and the sines of each frequency (rows) at each element."""
    if length < 1:
        raise OnnxError(f"DFT of {length} elements, expected at least 1")
    require_created([count, taken], "the matrix of a DFT")
    turns = np.outer(np.arange(count), np.arange(taken)) % length / length
    angles = 2 * np.pi * turns * (1 if inverse else -1)
    return tuple(wave(angles) / (length if inverse else 1) for wave in (np.cos, np.sin))  # pyright: ignore[reportReturnType]


@importer("STFT")
def stft(call: Call) -> ModelTensor:
    """The transforms of overlapping frames of a signal [batch, length, parts], each element times that of a window."""
    signal, window = call.tensor_of_rank(0, 3), call.optional(2)
    if is_computed(call, 1, 3):
        return _computed_stft(call, signal, window)
    length, parts_count = known_integers(signal.shape[1:], "STFT of extents")
    step = int(call.constant_scalar(1, "frame_step"))
    default = length if window is None else known_integers(window.shape, "STFT with a window of extents")[0]
    frame = int(call.constant_scalar(3, "frame_length", default))
    if parts_count not in (1, 2) or step < 1 or not 1 <= frame <= length or (call.has(2) and frame != default):
        raise OnnxError(f"STFT of {length} elements of {parts_count} parts, frames of {frame} in steps of {step}")
    count = (length - frame) // step + 1
    require_created([count, frame], "the frames of STFT")
    places = call.constant(np.arange(count)[:, None] * step + np.arange(frame), "int64")
    wide = call.widen_small_floats(signal)
    parts = [call.op("take", _part(call, wide, n), places, axis=1) for n in range(parts_count)]
    if window is not None:
        parts = [call.op("multiply", part, call.widen_small_floats(window)) for part in parts]
    onesided = call.integer("onesided", 1) == 1
    waves = _waves(frame, frame, frame // 2 + 1 if onesided else frame, inverse=False)
    return call.cast(_transform(call, parts, waves, 2), signal.dtype)


def _computed_stft(call: Call, signal: ModelTensor, window: ModelTensor | None) -> ModelTensor:
    """A transform of frames whose step or length the model computes."""
    if call.has(3):
        length = computed_scalar(call, 3)
    else:
        length = call.builder.size_value((signal if window is None else window).extents[-2 if window is None else 0])
    ones = window or call.constant(np.ones(1), signal.dtype)
    shape: list[Size] = [signal.shape[0], call.builder.new_size("frames"), call.builder.new_size("bins"), 2]
    operands = [signal, computed_scalar(call, 1), ones, length, call.integer("onesided", 1)]
    return call_host(call.builder, "stft", operands, [(signal.dtype, shape)])[0]


@importer("MelWeightMatrix")
def mel_weight_matrix(call: Call) -> ModelTensor:
    """The weights of the frequencies of a spectrum in bands of the mel scale."""
    dtype = dtype_of_code(call.integer("output_datatype", 1))
    if is_computed(call, *range(5)):
        matrix = computed(call, "mel_weights", [computed_scalar(call, n) for n in range(5)], "float64", 2)
        return call.cast(matrix, dtype)
    names = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
    bands, length, rate, low, high = (call.constant_scalar(n, name).item() for n, name in enumerate(names))
    require_created([length // 2 + 1, bands], "MelWeightMatrix")
    try:
        weights = mel_weights(bands, length, rate, low, high)
    except ValueError as error:
        raise OnnxError(f"MelWeightMatrix: {error}") from None
    return call.cast(call.constant(weights, "float64"), dtype)


def _part(call: Call, x: ModelTensor, n: int) -> ModelTensor:
    """The real parts (n = 0) or the imaginary parts (n = 1)."""
    return call.op("take", x, call.constant(n, "int64"), axis=x.rank - 1)


def _product(call: Call, x: ModelTensor, weight: Array, axis: int) -> ModelTensor:
    """The products with the rows of a matrix along an axis."""
    order = [d for d in range(x.rank) if d != axis] + [axis]
    result = call.op("nn.dense", permute_axes(call, x, order), call.constant(weight, x.dtype))
    return permute_axes(call, result, [order.index(d) for d in range(x.rank)])
