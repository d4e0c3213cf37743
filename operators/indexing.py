"""Operators that read or write elements at positions in index tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..core.dtypes import is_float_dtype
from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, as_expr, cast, const
from ..expressions.tensor import Tensor, is_same_extent
from .axes import nonnegative_axis
from .definition import Pattern, operator
from .elements import build_tensor, element_or_zero
from .extents import known_extent
from .requirements import require_floats, require_integers
from .updates import SCATTER_COMBINERS, Updates, apply_updates, key_of, normalize_index

Array = Any


def clamp_index(index: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """The position that an index denotes: negative indices count from the end, indices out of range are clamped."""
    position, limit = normalize_index(index, extent)
    return cast(extent.dtype, scalar.min(scalar.max(position, const(0, position.dtype)), limit - 1))


def _require_fit(name: str, indices: Tensor, data: Tensor, axis: int) -> None:
    """TeError unless indices have the rank of data, and no greater extent except along the axis."""
    fits = indices.ndim == data.ndim
    for d, (own, whole) in enumerate(zip(indices.shape, data.shape, strict=False)):
        shorter = (known_extent(own) or 0) <= (known_extent(whole) or 0)
        known = known_extent(own) is not None and known_extent(whole) is not None
        fits &= d == axis or is_same_extent(own, whole) or (known and shorter)
    if not fits:
        shapes = f"{list(indices.shape)} for data of {list(data.shape)}"
        raise TeError(
            f"{name}: indices of shape {shapes}, expected as many dimensions, and none longer but axis {axis}"
        )


# Reading


def _gather_reference(data: Array, indices: Array, axis: int) -> Array:
    dimension = axis % data.ndim
    if data.shape[dimension] == 0:
        return np.zeros(indices.shape, data.dtype)
    part = data[tuple(slice(None if d == dimension else n) for d, n in enumerate(indices.shape))]
    wide = indices.astype("int64")
    wide = np.clip(np.where(wide < 0, wide + data.shape[dimension], wide), 0, data.shape[dimension] - 1)
    return np.take_along_axis(part, wide, dimension)


@operator("gather", Pattern.INJECTIVE, _gather_reference)
def gather(data: Tensor, indices: Tensor, axis: int) -> Tensor:
    """The elements of `data` at the positions in `indices` along `axis`.

    indices: of the rank of data, with no greater extent except along the axis; along the other axes, an index selects
    at its own position. A negative index counts from the end, an index out of range denotes the nearest element; an
    axis without elements yields 0.
    """
    require_integers(indices, "gather: indices")
    along = nonnegative_axis(axis, data.ndim, "gather")
    _require_fit("gather", indices, data, along)
    extent = data.shape[along]

    def source(*i: PrimExpr) -> PrimExpr:
        position = clamp_index(indices(*i), extent)
        return element_or_zero([extent], data.dtype, lambda: data(*i[:along], position, *i[along + 1 :]))

    return build_tensor(indices.shape, source, "T_gather", "injective")


def _tuple_size(name: str, indices: Tensor, most: int) -> int:
    """The extent of the first axis of indices, the length of each index tuple. TeError for an extent unknown or too
    large."""
    require_integers(indices, f"{name}: indices")
    count = known_extent(indices.shape[0]) if indices.ndim else None
    if count is None or count > most:
        raise TeError(f"{name}: indices of shape {list(indices.shape)}, expected a first axis of at most {most}")
    return count


def _gather_nd_reference(data: Array, indices: Array, batch_dims: int) -> Array:
    count = indices.shape[0]
    rest = data.shape[batch_dims + count :]
    result = np.zeros((*indices.shape[1:], *rest), data.dtype)
    for at in np.ndindex(indices.shape[1:]):
        extents = data.shape[batch_dims : batch_dims + count]
        if 0 not in extents:
            subscripts = [int(indices[(m, *at)]) for m in range(count)]
            result[at] = data[
                *at[:batch_dims],
                *(min(max(k + n * (k < 0), 0), n - 1) for k, n in zip(subscripts, extents, strict=True)),
            ]
    return result


@operator("gather_nd", Pattern.INJECTIVE, _gather_nd_reference)
def gather_nd(data: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """The elements or slices of `data` at index tuples: `out[y, ...] = data[indices[0, y], indices[1, y], ..., ...]`.

    indices: the first axis holds an index for each of the indexed axes of data. A negative index counts from the end,
    an index out of range denotes the nearest element; axes without elements yield 0.  batch_dims: the number of axes of
    data that precede the indexed axes, and are the first axes of y.
    """
    name = "gather_nd"
    if not 0 <= batch_dims <= min(data.ndim, max(indices.ndim - 1, 0)):
        ranks = f"data of {data.ndim} and indices of {indices.ndim} dimensions"
        raise TeError(f"{name}: batch_dims {batch_dims} for {ranks}")
    count = _tuple_size(name, indices, data.ndim - batch_dims)
    if not all(map(is_same_extent, indices.shape[1 : batch_dims + 1], data.shape[:batch_dims])):
        shapes = f"indices of shape {list(indices.shape)} and data of {list(data.shape)}"
        raise TeError(f"{name}: {shapes}, expected {batch_dims} axes of the same extents behind the first of indices")
    extents = data.shape[batch_dims : batch_dims + count]
    behind = indices.ndim - 1

    def source(*i: PrimExpr) -> PrimExpr:
        positions = [clamp_index(indices(m, *i[:behind]), extent) for m, extent in enumerate(extents)]
        return element_or_zero(extents, data.dtype, lambda: data(*i[:batch_dims], *positions, *i[behind:]))

    return build_tensor([*indices.shape[1:], *data.shape[batch_dims + count :]], source, "T_gather_nd", "injective")


# Sequences


def _require_lengths(name: str, lengths: Tensor, data: Tensor, batch: int) -> None:
    require_integers(lengths, f"{name}: lengths")
    if lengths.ndim != 1 or not is_same_extent(lengths.shape[0], data.shape[batch]):
        shapes = f"{list(lengths.shape)} for data of {list(data.shape)}"
        raise TeError(f"{name}: lengths of shape {shapes}, expected one for each number of axis {batch}")


def _reverse_reference(data: Array, seq_lengths: Array, seq_axis: int, batch_axis: int) -> Array:
    turned = np.moveaxis(data, (batch_axis, seq_axis), (0, 1)).copy()
    for row, length in zip(turned, seq_lengths, strict=True):
        row[: max(int(length), 0)] = row[: max(int(length), 0)][::-1].copy()
    return np.moveaxis(turned, (0, 1), (batch_axis, seq_axis))


@operator("reverse_sequence", Pattern.INJECTIVE, _reverse_reference)
def reverse_sequence(data: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0) -> Tensor:
    """Reverses the first `seq_lengths[i]` elements of each sequence i.

    seq_axis: the axis of the elements of a sequence.  batch_axis: the axis of the sequences. A negative length counts
    as 0, a length above the extent as the extent.
    """
    name = "reverse_sequence"
    along, batch = nonnegative_axis(seq_axis, data.ndim, name), nonnegative_axis(batch_axis, data.ndim, name)
    if along == batch:
        raise TeError(f"{name}: axis {along} as seq_axis and as batch_axis, expected two axes")
    _require_lengths(name, seq_lengths, data, batch)
    extent = data.shape[along]

    def source(*i: PrimExpr) -> PrimExpr:
        length = seq_lengths(i[batch])
        wide = cast("int64", length) if length.data_type.bits < 64 else length
        end = cast(extent.dtype, scalar.min(scalar.max(wide, const(0, wide.dtype)), cast(wide.dtype, extent)))
        return data(*i[:along], Select(i[along] < end, end - 1 - i[along], i[along]), *i[along + 1 :])

    return build_tensor(data.shape, source, "T_reverse_sequence", "injective")


def _mask_reference(data: Array, valid_length: Array, mask_value: float, axis: int) -> Array:
    turned = np.moveaxis(data, axis, 0)
    valid = np.arange(turned.shape[0])[:, None] < valid_length.astype("int64")
    valid = valid.reshape(*valid.shape, *[1] * (data.ndim - 2))
    return np.moveaxis(np.where(valid, turned, data.dtype.type(mask_value)), 0, axis)


@operator("sequence_mask", Pattern.INJECTIVE, _mask_reference)
def sequence_mask(data: Tensor, valid_length: Tensor, mask_value: float = 0.0, axis: int = 0) -> Tensor:
    """Replaces the elements past the valid length of each sequence by `mask_value`.

    valid_length: the length of each sequence.  axis: 0 or 1, the axis of the elements of a sequence; the other is the
    axis of the sequences.
    """
    name = "sequence_mask"
    along = nonnegative_axis(axis, data.ndim, name)
    if data.ndim < 2 or along > 1:
        raise TeError(f"{name}: axis {along} of {data.ndim} dimensions, expected 0 or 1 of at least 2")
    _require_lengths(name, valid_length, data, 1 - along)
    masked = const(mask_value, data.dtype)

    def source(*i: PrimExpr) -> PrimExpr:
        length = valid_length(i[1 - along])
        wide = cast("int64", length) if length.data_type.bits < 64 else length
        return Select(cast(wide.dtype, i[along]) < wide, data(*i), masked)

    return build_tensor(data.shape, source, "T_sequence_mask", "injective")


# Writing


def _require_mode(name: str, data: Tensor, updates: Tensor, mode: str, modes: Sequence[str]) -> None:
    """TeError for an unknown mode of combination, and for data types unsupported by the mode."""
    if mode not in modes:
        raise TeError(f"{name}: {mode!r}, expected one of {', '.join(map(repr, modes))}")
    if updates.dtype != data.dtype:
        raise TeError(f"{name}: updates of {updates.dtype}, expected {data.dtype} as data")
    if data.data_type.is_bool and mode != "update":
        raise TeError(f"{name}: {mode!r} of bool, expected numbers")
    if mode == "mean":
        require_floats(data, f"{name}: 'mean'")


def _combine_reference(data: Array, pairs: Iterable[tuple[Any, Array]], mode: str) -> Array:
    """The array after updates of its parts, in order."""
    wide = data.astype("float64" if is_float_dtype(data.dtype) else data.dtype)
    counts = np.ones(data.shape)
    with np.errstate(all="ignore"):
        for at, update in pairs:
            counts[at] += 1
            value = np.asarray(update).astype(wide.dtype)
            match mode:
                case "update":
                    wide[at] = value
                case "mul":
                    wide[at] = wide[at] * value
                case "min" | "max":
                    wide[at] = (np.minimum if mode == "min" else np.maximum)(wide[at], value)
                case _:
                    wide[at] = wide[at] + value
        return np.asarray(wide / counts if mode == "mean" else wide).astype(data.dtype)


def _scatter_elements_reference(data: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
    extent, dimension = data.shape[axis], axis % data.ndim

    def pairs() -> Iterable[tuple[Any, Array]]:
        for at in np.ndindex(indices.shape):
            index = int(indices[at])
            if -extent <= index < extent:
                yield (*at[:dimension], index, *at[dimension + 1 :]), updates[at]

    return _combine_reference(data, pairs(), reduction)


@operator("scatter_elements", Pattern.OPAQUE, _scatter_elements_reference)
def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """Writes updates to the positions in `indices` along `axis`, in a copy of `data`.

    indices: of the rank of data, with no greater extent except along the axis. A negative index counts from the end; an
    update out of range is ignored.  updates: of the shape of indices.  reduction: "update" for the last update of an
    element, "add", "mul", "min" or "max" for the combination of the element and all its updates, "mean" for their mean
    (floats).
    """
    name = "scatter_elements"
    _require_mode(name, data, updates, reduction, ("update", *SCATTER_COMBINERS, "mean"))
    require_integers(indices, f"{name}: indices")
    along = nonnegative_axis(axis, data.ndim, name)
    _require_fit(name, indices, data, along)
    if updates.ndim != indices.ndim or not all(map(is_same_extent, updates.shape, indices.shape)):
        raise TeError(f"{name}: updates of shape {list(updates.shape)}, expected {list(indices.shape)} as indices")
    others = [extent for d, extent in enumerate(indices.shape) if d != along]
    keys = build_tensor(
        [indices.shape[along], *others],
        lambda n, *i: key_of([indices(*i[:along], n, *i[along:])], [data.shape[along]]),
        f"{name}_keys",
    )
    done = Updates(name, data, [along], keys, lambda n, i: updates(*i[:along], n, *i[along:]), others)
    return apply_updates(done, reduction)


def _scatter_nd_reference(data: Array, indices: Array, updates: Array, mode: str) -> Array:
    def pairs() -> Iterable[tuple[Any, Array]]:
        for at in np.ndindex(indices.shape[1:]):
            position = tuple(int(indices[(m, *at)]) for m in range(indices.shape[0]))
            if all(-n <= index < n for index, n in zip(position, data.shape, strict=False)):
                yield position, updates[at]

    return _combine_reference(data, pairs(), mode)


@operator("scatter_nd", Pattern.OPAQUE, _scatter_nd_reference)
def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """Writes updates, elements or slices, to the positions of index tuples, in a copy of `data`.

    `out[indices[0, y], indices[1, y], ...] = updates[y, ...]`.  indices: the first axis holds an index for each of the
    first axes of data. A negative index counts from the end; an update out of range is ignored.  mode: "update" for the
    last update of an element, "add", "mul", "min" or "max" for the combination of the element and all its updates.
    """
    name = "scatter_nd"
    _require_mode(name, data, updates, mode, ("update", *SCATTER_COMBINERS))
    count = _tuple_size(name, indices, data.ndim)
    expected = [*indices.shape[1:], *data.shape[count:]]
    if updates.ndim != len(expected) or not all(map(is_same_extent, updates.shape, expected)):
        raise TeError(f"{name}: updates of shape {list(updates.shape)}, expected {expected}")
    rows = indices.shape[1:]
    number = reduce(lambda a, b: a * b, rows, as_expr(1))

    def unflatten(n: PrimExpr) -> list[PrimExpr]:
        subscripts: list[PrimExpr] = []
        for extent in reversed(rows[1:]):
            subscripts.insert(0, n % extent)
            n = n // extent
        return [n, *subscripts] if rows else []

    keys = build_tensor(
        [number],
        lambda n: key_of([indices(m, *unflatten(n)) for m in range(count)], data.shape[:count]),
        f"{name}_keys",
    )
    done = Updates(name, data, range(count), keys, lambda n, i: updates(*unflatten(n), *i), data.shape[count:])
    return apply_updates(done, mode)


def _segment_sum_reference(data: Array, segment_ids: Array, num_segments: int) -> Array:
    zeros = np.zeros((num_segments, *data.shape[1:]), data.dtype)
    return _scatter_nd_reference(zeros, segment_ids[None], data, "add")


@operator("segment_sum", Pattern.OPAQUE, _segment_sum_reference)
def segment_sum(data: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """The sums of the slices of `data` along the first axis that have one number, for the numbers from 0 on.

    segment_ids: the number of each slice. A negative number counts from the end; a slice with a number out of range is
    ignored.  num_segments: the number of sums.
    """
    name = "segment_sum"
    require_integers(segment_ids, f"{name}: segment_ids")
    if segment_ids.ndim != 1 or not data.ndim or not is_same_extent(segment_ids.shape[0], data.shape[0]):
        shapes = f"data of shape {list(data.shape)} with segment_ids of shape {list(segment_ids.shape)}"
        raise TeError(f"{name}: {shapes}, expected a number for each slice")
    if num_segments < 0:
        raise TeError(f"{name}: num_segments {num_segments}, expected 0 or more")
    zeros = build_tensor([num_segments, *data.shape[1:]], lambda *i: const(0, data.dtype), f"{name}_zeros")
    places = build_tensor([1, *segment_ids.shape], lambda _, n: segment_ids(n), f"{name}_places", "injective")
    return scatter_nd(zeros, places, data, "add")
