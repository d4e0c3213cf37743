"""Importers of operators on signals."""

from __future__ import annotations

import numpy as np

from ....operators.relay import Size
from ...models.call import normalized_axis
from ...models.data_sizes import call_host
from ...models.limits import require_created
from ...models.types import Array
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError
from ..registry import importer
from .data_sizes import computed_scalar, is_computed
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
    cosines, sines = _waves(taken, wanted, wanted // 2 + 1 if onesided else wanted, inverse)
    parts = [_part(call, wide, n) for n in range(parts_count)]
    real, imaginary = _product(call, parts[0], cosines, axis), _product(call, parts[0], sines, axis)
    if len(parts) == 2:
        real = call.op("subtract", real, _product(call, parts[1], sines, axis))
        imaginary = call.op("add", imaginary, _product(call, parts[1], cosines, axis))
    both = [call.op("expand_dims", each, axis=x.rank - 1) for each in (real, imaginary)]
    return call.cast(concatenate_along(call, both, x.rank - 1), x.dtype)


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


def _part(call: Call, x: ModelTensor, n: int) -> ModelTensor:
    """The real parts (n = 0) or the imaginary parts (n = 1)."""
    return call.op("take", x, call.constant(n, "int64"), axis=x.rank - 1)


def _product(call: Call, x: ModelTensor, weight: Array, axis: int) -> ModelTensor:
    """The products with the rows of a matrix along an axis."""
    order = [d for d in range(x.rank) if d != axis] + [axis]
    result = call.op("nn.dense", permute_axes(call, x, order), call.constant(weight, x.dtype))
    return permute_axes(call, result, [order.index(d) for d in range(x.rank)])
