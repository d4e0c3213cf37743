"""Importers of operators that move elements: reshapes, slices, concatenations, pads."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...models.call import normalized_axis
from ...models.errors import ModelUnsupportedError
from ...models.limits import require_created
from ...models.shapes import concatenate_along, insert_axes, pad_axes, permute_axes, reshape_to
from ...models.slices import slice_along
from ...models.symbols import Symbol
from ...models.types import Array
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..registry import aten


@aten("view.default", "_unsafe_view.default", "reshape.default")
def view(call: Call) -> ModelTensor:
    return reshape_to(call, call.tensor(), call.get("size", call.get("shape")), keep_zero=True)


@aten("permute.default")
def permute(call: Call) -> ModelTensor:
    x = call.tensor()
    return permute_axes(call, x, [normalized_axis(axis, x.rank) for axis in call.get("dims")])


@aten("unsqueeze.default")
def unsqueeze(call: Call) -> ModelTensor:
    return insert_axes(call, call.tensor(), [call.get("dim")])


@aten("squeeze.dim", "squeeze.dims")
def squeeze(call: Call) -> ModelTensor:
    x = call.tensor()
    axes = [axis for axis in call.axes() if x.shape[axis] == 1]
    return call.builder.reshape(x, [n for axis, n in enumerate(x.extents) if axis not in axes]) if axes else x


@aten("expand.default")
def expand(call: Call) -> ModelTensor:
    x, wanted = call.tensor(), call.get("size")
    own = [1] * (len(wanted) - x.rank) + list(x.extents)
    return call.builder.expand(x, [_extent(a, b) for a, b in zip(own, wanted, strict=True)])


def _extent(own: Any, wanted: Any) -> Any:
    """The extent of an axis that is expanded to `wanted`; -1 keeps it."""
    return own if not isinstance(wanted, Symbol) and wanted == -1 else wanted


@aten("repeat.default")
def repeat(call: Call) -> ModelTensor:
    x, repeats = call.tensor(), call.integers("repeats")
    x = insert_axes(call, x, list(range(len(repeats) - x.rank))) if len(repeats) > x.rank else x
    if 0 in repeats:
        return call.filled([n * count for n, count in zip(x.extents, repeats, strict=True)], 0, x.dtype)
    return call.op("tile", x, reps=repeats) if any(n != 1 for n in repeats) else x


@aten("flip.default")
def flip(call: Call) -> ModelTensor:
    x = call.tensor()
    for axis in call.get("dims"):
        x = call.op("reverse", x, axis=normalized_axis(axis, x.rank))
    return x


@aten("as_strided.default")
def as_strided(call: Call) -> ModelTensor:
    """A view of the memory of a tensor, by the positions of its elements in memory."""
    x, own = call.tensor(), call.examples["self"]
    size, strides = call.get("size"), call.get("stride")
    is_same = [a == b for a, b in zip(own.shape, call.examples["size"], strict=False)]
    if len(size) == x.rank and all(is_same) and _is_same_layout(own, call.examples["stride"]):
        return x
    extents, steps = known_integers(size, "as_strided to extents"), known_integers(strides, "as_strided by strides")
    offset = call.get("storage_offset", int(own.storage_offset())) - int(own.storage_offset())
    places = _memory_positions(x.static_shape, [int(each) for each in own.stride()])
    wanted = _memory_positions(extents, steps) + offset
    require_created([wanted.size], call.op_type)
    order = np.argsort(places, kind="stable")
    index = np.searchsorted(places[order], wanted).clip(0, max(len(places) - 1, 0))
    if not (places[order][index] == wanted).all():
        raise ModelUnsupportedError(f"{call.op_type} to elements outside of its operand")
    flat = call.builder.reshape(x, [len(places)])
    return call.builder.reshape(call.op("take", flat, call.constant(order[index], "int64"), axis=0), list(extents))


def _is_same_layout(own: Any, strides: Sequence[Any]) -> bool:
    """Whether strides are those of a tensor, where its extents are not 1."""
    return all(extent == 1 or a == b for extent, a, b in zip(own.shape, own.stride(), strides, strict=True))


def _memory_positions(extents: Sequence[int], strides: Sequence[int]) -> Array:
    """The positions in memory of all elements of a tensor, in row-major order."""
    positions = np.zeros((), "int64")
    for extent, stride in zip(extents, strides, strict=True):
        positions = positions[..., None] + np.arange(extent) * stride
    return positions.ravel()


# Parts


@aten("cat.default")
def cat(call: Call) -> ModelTensor:
    dtype = call.result_dtype
    tensors = [call.cast(each, dtype) for each in call.tensors() if each.shape != (0,)] or call.tensors()[:1]
    return concatenate_along(call, tensors, normalized_axis(call.get("dim", 0), tensors[0].rank))


@aten("split_with_sizes.default")
def split(call: Call) -> list[ModelTensor]:
    x, axis = call.tensor(), call.axis()
    ends = list(itertools.accumulate(call.get("split_sizes")))
    return [slice_along(call, x, axis, start, end, 1) for start, end in zip([0, *ends], ends, strict=False)]


@aten("slice.Tensor")
def slice_tensor(call: Call) -> ModelTensor:
    start, end, step = slice_bounds(call)
    return slice_along(call, call.tensor(), call.axis(), start, end, step)


def slice_bounds(call: Call) -> tuple[Any, Any, int]:
    """The start, end and step of a slice."""
    start, end, step = call.get("start", 0), call.get("end", 2**63 - 1), call.get("step")
    return start, end, known_integers([step], f"the step of {call.op_type}")[0]


@aten("select.int")
def select(call: Call) -> ModelTensor:
    x, axis, index = call.tensor(), call.axis(), call.get("index")
    end = index + 1 if isinstance(index, Symbol) or index != -1 else 2**63 - 1
    part = slice_along(call, x, axis, index, end, 1)
    return call.builder.reshape(part, [n for d, n in enumerate(x.extents) if d != axis])


@aten("diagonal.default")
def diagonal(call: Call) -> ModelTensor:
    """The elements at equal indices of two axes, as the last axis."""
    x, offset = call.tensor(), call.get("offset")
    first, second = (normalized_axis(call.get(name), x.rank) for name in ("dim1", "dim2"))
    rows, columns = known_integers([x.shape[first], x.shape[second]], "diagonal of extents")
    count = max(min(rows - max(-offset, 0), columns - max(offset, 0)), 0)
    rest = [axis for axis in range(x.rank) if axis not in (first, second)]
    moved = permute_axes(call, x, [*rest, first, second])
    leading = list(moved.extents[: len(rest)])
    flat = call.builder.reshape(moved, [*leading, rows * columns])
    places = (np.arange(count) + max(-offset, 0)) * columns + np.arange(count) + max(offset, 0)
    return call.op("take", flat, call.constant(places, "int64"), axis=len(rest))


@aten("tril.default", "triu.default")
def triangle(call: Call) -> ModelTensor:
    x, upper = call.tensor(), call.operator == "triu"
    if x.dtype == "bool":
        return call.cast(call.op("trilu", call.cast(x, "uint8"), k=call.get("diagonal"), upper=upper), "bool")
    return call.op("trilu", x, k=call.get("diagonal"), upper=upper)


# Pads


@aten("constant_pad_nd.default")
def constant_pad(call: Call) -> ModelTensor:
    x = call.tensor()
    pairs = pad_pairs(x, call.integers("pad"))
    cropped = crop(call, x, pairs)
    value = call.as_tensor(call.get("value", 0), x.dtype)
    return pad_axes(call, cropped, [(max(a, 0), max(b, 0)) for a, b in pairs], "constant", value)


def pad_pairs(x: ModelTensor, widths: Sequence[int]) -> list[tuple[int, int]]:
    """The padding before and after each axis. widths: of the last axis first."""
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    return [(0, 0)] * (x.rank - len(pairs)) + pairs[::-1]


def crop(call: Call, x: ModelTensor, pairs: Sequence[tuple[int, int]]) -> ModelTensor:
    """Removes the elements at negative widths of padding."""
    for axis, (before, after) in enumerate(pairs):
        if before < 0 or after < 0:
            end = min(after, 0) or 2**63 - 1
            x = slice_along(call, x, axis, max(-before, 0), end, 1)
    return x


@aten(*(f"{mode}_pad{rank}d.default" for mode in ("reflection", "replication") for rank in (1, 2, 3)))
def mirror_pad(call: Call) -> ModelTensor:
    x = call.tensor()
    pairs = pad_pairs(x, call.integers("padding"))
    if any(n < 0 for pair in pairs for n in pair):
        raise ModelUnsupportedError(f"{call.op_type} by {pairs}, expected widths of at least 0")
    return pad_axes(call, x, pairs, "reflect" if "reflection" in call.operator else "edge")
