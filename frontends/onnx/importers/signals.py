"""Signals and their frequencies."""

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
    """Products with the cosines and sines of each frequency. The last axis has the real and the imaginary part."""
    x = call.tensor()
    axis = call.integer("axis", 1) if call.version < 20 else int(call.number(2, "axis", -2))
    axis = axis_in(axis, x.rank)
    if axis == x.rank - 1:
        raise OnnxError("DFT along the axis of real and imaginary parts")
    length = known_numbers([x.shape[axis]], "DFT of so many elements")[0]
    inverse, onesided = call.integer("inverse") == 1, call.integer("onesided") == 1
    if inverse and onesided:
        return _of_half(call, x, axis, int(call.number(1, "dft_length", 2 * (length - 1))))
    wanted = int(call.number(1, "dft_length", length))
    taken = min(length, wanted)  # what is missing is 0
    wide = call.widened(sliced(call, x, axis, 0, taken, 1))
    cosines, sines = _waves(taken, wanted, wanted // 2 + 1 if onesided else wanted, inverse)
    parts = [_part(call, wide, n) for n in range(known_numbers(x.shape[-1:], "DFT of")[0])]
    real, imaginary = _product(call, parts[0], cosines, axis), _product(call, parts[0], sines, axis)
    if len(parts) == 2:
        real = call.op("subtract", real, _product(call, parts[1], sines, axis))
        imaginary = call.op("add", imaginary, _product(call, parts[1], cosines, axis))
    both = [call.op("expand_dims", each, axis=x.rank - 1) for each in (real, imaginary)]
    return call.cast(concatenated(call, both, x.rank - 1), x.dtype)


def _of_half(call: Call, x: Tensor, axis: int, length: int) -> Tensor:
    """The signal, which is real, of the first half of its frequencies: the others are their mirror."""
    taken = min(known_numbers([x.shape[axis]], "DFT of so many elements")[0], length // 2 + 1)
    wide = call.widened(sliced(call, x, axis, 0, taken, 1))
    cosines, sines = _waves(taken, length, length, inverse=True)
    is_alone = np.isin(np.arange(taken) * 2, (0, length))
    often = np.where(is_alone, 1, 2)
    real, imaginary = (_product(call, _part(call, wide, n), w * often, axis) for n, w in enumerate((cosines, sines)))
    return call.cast(call.op("expand_dims", call.op("subtract", real, imaginary), axis=x.rank - 1), x.dtype)


def _waves(taken: int, length: int, count: int, inverse: bool) -> tuple[Array, Array]:
    """The cosine and the sine of each frequency (rows) at each element."""
    turns = np.outer(np.arange(count), np.arange(taken)) % length / length
    angles = 2 * np.pi * turns * (1 if inverse else -1)
    return tuple(wave(angles) / (length if inverse else 1) for wave in (np.cos, np.sin))  # pyright: ignore[reportReturnType]


def _part(call: Call, x: Tensor, n: int) -> Tensor:
    """The real parts, or the imaginary ones."""
    return call.op("take", x, call.constant(n, "int64"), axis=x.rank - 1)


def _product(call: Call, x: Tensor, weight: Array, axis: int) -> Tensor:
    """Along an axis the products with rows of a matrix."""
    order = [d for d in range(x.rank) if d != axis] + [axis]
    made = call.op("nn.dense", transposed(call, x, order), call.constant(weight, x.dtype))
    return transposed(call, made, [order.index(d) for d in range(x.rank)])
