"""Importers of operators on signals."""

from __future__ import annotations

import numpy as np

from ..call import Call, axis_in
from ..errors import OnnxError
from ..graph import Array
from ..registry import importer
from ..values import Tensor, known_numbers
from .shapes import concatenated, sliced, transposed


@importer("DFT")
def dft(call: Call) -> Tensor:
    """The discrete Fourier transform, as products with the cosines and sines of each frequency. The last axis holds the
    real and the imaginary part."""
    x = call.tensor()
    axis = call.integer("axis", 1) if call.version < 20 else int(call.number(2, "axis", -2))
    axis = axis_in(axis, x.rank)
    if axis == x.rank - 1:
        raise OnnxError("DFT along the axis of real and imaginary parts")
    length = known_numbers([x.shape[axis]], "DFT of so many elements")[0]
    inverse, onesided = call.integer("inverse") == 1, call.integer("onesided") == 1
    if inverse and onesided:
        return _inverse_of_half(call, x, axis, int(call.number(1, "dft_length", 2 * (length - 1))))
    wanted = int(call.number(1, "dft_length", length))
    taken = min(length, wanted)  # missing elements are 0
    wide = call.widened(sliced(call, x, axis, 0, taken, 1))
    cosines, sines = _waves(taken, wanted, wanted // 2 + 1 if onesided else wanted, inverse)
    parts = [_part(call, wide, n) for n in range(known_numbers(x.shape[-1:], "DFT of")[0])]
    real, imaginary = _product(call, parts[0], cosines, axis), _product(call, parts[0], sines, axis)
    if len(parts) == 2:
        real = call.op("subtract", real, _product(call, parts[1], sines, axis))
        imaginary = call.op("add", imaginary, _product(call, parts[1], cosines, axis))
    both = [call.op("expand_dims", each, axis=x.rank - 1) for each in (real, imaginary)]
    return call.cast(concatenated(call, both, x.rank - 1), x.dtype)


def _inverse_of_half(call: Call, x: Tensor, axis: int, length: int) -> Tensor:
    """The inverse transform of the first half of the frequencies of a real signal; the other half is their conjugate
    mirror."""
    taken = min(known_numbers([x.shape[axis]], "DFT of so many elements")[0], length // 2 + 1)
    wide = call.widened(sliced(call, x, axis, 0, taken, 1))
    cosines, sines = _waves(taken, length, length, inverse=True)
    is_alone = np.isin(np.arange(taken) * 2, (0, length))
    often = np.where(is_alone, 1, 2)
    real, imaginary = (_product(call, _part(call, wide, n), w * often, axis) for n, w in enumerate((cosines, sines)))
    return call.cast(call.op("expand_dims", call.op("subtract", real, imaginary), axis=x.rank - 1), x.dtype)


def _waves(taken: int, length: int, count: int, inverse: bool) -> tuple[Array, Array]:
    """The cosines and the sines of each frequency (rows) at each element."""
    turns = np.outer(np.arange(count), np.arange(taken)) % length / length
    angles = 2 * np.pi * turns * (1 if inverse else -1)
    return tuple(wave(angles) / (length if inverse else 1) for wave in (np.cos, np.sin))  # pyright: ignore[reportReturnType]


def _part(call: Call, x: Tensor, n: int) -> Tensor:
    """The real parts (n = 0) or the imaginary parts (n = 1)."""
    return call.op("take", x, call.constant(n, "int64"), axis=x.rank - 1)


def _product(call: Call, x: Tensor, weight: Array, axis: int) -> Tensor:
    """The products with the rows of a matrix along an axis."""
    order = [d for d in range(x.rank) if d != axis] + [axis]
    result = call.op("nn.dense", transposed(call, x, order), call.constant(weight, x.dtype))
    return transposed(call, result, [order.index(d) for d in range(x.rank)])
