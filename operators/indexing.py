"""Operators that read where numbers in tensors say, or write there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, as_expr, cast, const
from ..expressions.tensor import Tensor, is_same_extent
from .axes import axis_of
from .definition import Pattern, operator
from .elements import computed, if_any
from .extents import known_extent
from .requirements import require_floats, require_integers
from .updates import COMBINED, Updates, from_end, key_of, written

Array = Any


def _nearest(index: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """The place that a number means: a negative one counts from the end, one outside means the nearest."""
    place, limit = from_end(index, extent)
    return cast(extent.dtype, scalar.min(scalar.max(place, const(0, place.dtype)), limit - 1))


def _require_goes_into(name: str, indices: Tensor, data: Tensor, axis: int) -> None:
    """TeError unless indices have as many dimensions as data, and none longer but that of the axis."""
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
    place = axis % data.ndim
    if data.shape[place] == 0:
        return np.zeros(indices.shape, data.dtype)
    part = data[tuple(slice(None if d == place else n) for d, n in enumerate(indices.shape))]
    wide = indices.astype("int64")
    wide = np.clip(np.where(wide < 0, wide + data.shape[place], wide), 0, data.shape[place] - 1)
    return np.take_along_axis(part, wide, place)


@operator("gather", Pattern.INJECTIVE, _gather_reference)
def gather(data: Tensor, indices: Tensor, axis: int) -> Tensor:
    """The element at the place that each of `indices` has along an axis, and at its own place along the others.

    indices: with as many dimensions as data, and none longer but that of the axis. A negative number counts from the
    end, one outside means the nearest; of an axis without elements comes 0.
    """
    require_integers(indices, "gather: indices")
    along = axis_of(axis, data.ndim, "gather")
    _require_goes_into("gather", indices, data, along)
    extent = data.shape[along]

    def source(*i: PrimExpr) -> PrimExpr:
        place = _nearest(indices(*i), extent)
        return if_any([extent], data.dtype, lambda: data(*i[:along], place, *i[along + 1 :]))

    return computed(indices.shape, source, "T_gather", "injective")


def _tuple_size(name: str, indices: Tensor, most: int) -> int:
    """The extent of the first axis of indices: how many axes they name. TeError for one that is not known."""
    require_integers(indices, f"{name}: indices")
    count = known_extent(indices.shape[0]) if indices.ndim else None
    if count is None or count > most:
        raise TeError(f"{name}: indices of shape {list(indices.shape)}, expected a first axis of at most {most}")
    return count


def _gather_nd_reference(data: Array, indices: Array, batch_dims: int) -> Array:
    count = indices.shape[0]
    rest = data.shape[batch_dims + count :]
    found = np.zeros((*indices.shape[1:], *rest), data.dtype)
    for at in np.ndindex(indices.shape[1:]):
        extents = data.shape[batch_dims : batch_dims + count]
        if 0 not in extents:
            given = [int(indices[(m, *at)]) for m in range(count)]
            found[at] = data[
                *at[:batch_dims], *(min(max(k + n * (k < 0), 0), n - 1) for k, n in zip(given, extents, strict=True))
            ]
    return found


@operator("gather_nd", Pattern.INJECTIVE, _gather_nd_reference)
def gather_nd(data: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """The elements, or slices, at places: `out[y, ...] = data[indices[0, y], indices[1, y], ..., ...]`.

    indices: the first axis has a number for each of the first axes of data. A negative number counts from the end, one
    outside means the nearest; of axes without elements comes 0.  batch_dims: how many axes of data stand in front of
    these, and are the first ones of y.
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
        places = [_nearest(indices(m, *i[:behind]), extent) for m, extent in enumerate(extents)]
        return if_any(extents, data.dtype, lambda: data(*i[:batch_dims], *places, *i[behind:]))

    return computed([*indices.shape[1:], *data.shape[batch_dims + count :]], source, "T_gather_nd", "injective")


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
    """The first elements along an axis in the reverse order, as many as `seq_lengths` says for each sequence.

    seq_axis: along which sequences go.  batch_axis: which one counts them. A length below 0 is 0, one above the extent
    is the extent.
    """
    name = "reverse_sequence"
    along, batch = axis_of(seq_axis, data.ndim, name), axis_of(batch_axis, data.ndim, name)
    if along == batch:
        raise TeError(f"{name}: axis {along} as seq_axis and as batch_axis, expected two axes")
    _require_lengths(name, seq_lengths, data, batch)
    extent = data.shape[along]

    def source(*i: PrimExpr) -> PrimExpr:
        length = seq_lengths(i[batch])
        wide = cast("int64", length) if length.data_type.bits < 64 else length
        end = cast(extent.dtype, scalar.min(scalar.max(wide, const(0, wide.dtype)), cast(wide.dtype, extent)))
        return data(*i[:along], Select(i[along] < end, end - 1 - i[along], i[along]), *i[along + 1 :])

    return computed(data.shape, source, "T_reverse_sequence", "injective")


def _mask_reference(data: Array, valid_length: Array, mask_value: float, axis: int) -> Array:
    turned = np.moveaxis(data, axis, 0)
    valid = np.arange(turned.shape[0])[:, None] < valid_length.astype("int64")
    valid = valid.reshape(*valid.shape, *[1] * (data.ndim - 2))
    return np.moveaxis(np.where(valid, turned, data.dtype.type(mask_value)), 0, axis)


@operator("sequence_mask", Pattern.INJECTIVE, _mask_reference)
def sequence_mask(data: Tensor, valid_length: Tensor, mask_value: float = 0.0, axis: int = 0) -> Tensor:
    """Each element, and `mask_value` where its place in its sequence is not less than the length of that.

    valid_length: of each sequence.  axis: 0 or 1, along which sequences go; the other of the two counts them.
    """
    name = "sequence_mask"
    along = axis_of(axis, data.ndim, name)
    if data.ndim < 2 or along > 1:
        raise TeError(f"{name}: axis {along} of {data.ndim} dimensions, expected 0 or 1 of at least 2")
    _require_lengths(name, valid_length, data, 1 - along)
    masked = const(mask_value, data.dtype)

    def source(*i: PrimExpr) -> PrimExpr:
        length = valid_length(i[1 - along])
        wide = cast("int64", length) if length.data_type.bits < 64 else length
        return Select(cast(wide.dtype, i[along]) < wide, data(*i), masked)

    return computed(data.shape, source, "T_sequence_mask", "injective")


# Writing


def _require_mode(name: str, data: Tensor, updates: Tensor, mode: str, modes: Sequence[str]) -> None:
    """TeError for what is no way to combine elements with updates, and for data types that it does not go with."""
    if mode not in modes:
        raise TeError(f"{name}: {mode!r}, expected one of {', '.join(map(repr, modes))}")
    if updates.dtype != data.dtype:
        raise TeError(f"{name}: updates of {updates.dtype}, expected {data.dtype} as data")
    if data.data_type.is_bool and mode != "update":
        raise TeError(f"{name}: {mode!r} of bool, expected numbers")
    if mode == "mean":
        require_floats(data, f"{name}: 'mean'")


def _combine_reference(data: Array, pairs: Iterable[tuple[Any, Array]], mode: str) -> Array:
    """An array after updates of parts of it, one after the other."""
    wide = data.astype("float64" if data.dtype.kind == "f" else data.dtype)
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
    extent, place = data.shape[axis], axis % data.ndim

    def pairs() -> Iterable[tuple[Any, Array]]:
        for at in np.ndindex(indices.shape):
            index = int(indices[at])
            if -extent <= index < extent:
                yield (*at[:place], index, *at[place + 1 :]), updates[at]

    return _combine_reference(data, pairs(), reduction)


@operator("scatter_elements", Pattern.OPAQUE, _scatter_elements_reference)
def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """The elements of data, and updates written to the places that `indices` has along an axis.

    indices: with as many dimensions as data, and none longer but that of the axis. A negative number counts from the
    end; an update outside is not done.  updates: of the shape of indices.  reduction: "update" for the last of the
    updates, "add", "mul", "min" or "max" for the element and all updates as one, "mean" for the mean of these (floats).
    """
    name = "scatter_elements"
    _require_mode(name, data, updates, reduction, ("update", *COMBINED, "mean"))
    require_integers(indices, f"{name}: indices")
    along = axis_of(axis, data.ndim, name)
    _require_goes_into(name, indices, data, along)
    if updates.ndim != indices.ndim or not all(map(is_same_extent, updates.shape, indices.shape)):
        raise TeError(f"{name}: updates of shape {list(updates.shape)}, expected {list(indices.shape)} as indices")
    others = [extent for d, extent in enumerate(indices.shape) if d != along]
    keys = computed(
        [indices.shape[along], *others],
        lambda n, *i: key_of([indices(*i[:along], n, *i[along:])], [data.shape[along]]),
        f"{name}_keys",
    )
    done = Updates(name, data, [along], keys, lambda n, i: updates(*i[:along], n, *i[along:]), others)
    return written(done, reduction)


def _scatter_nd_reference(data: Array, indices: Array, updates: Array, mode: str) -> Array:
    def pairs() -> Iterable[tuple[Any, Array]]:
        for at in np.ndindex(indices.shape[1:]):
            place = tuple(int(indices[(m, *at)]) for m in range(indices.shape[0]))
            if all(-n <= index < n for index, n in zip(place, data.shape, strict=False)):
                yield place, updates[at]

    return _combine_reference(data, pairs(), mode)


@operator("scatter_nd", Pattern.OPAQUE, _scatter_nd_reference)
def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """The elements of data, and updates, or slices of them, written to the places that `indices` has.

    `out[indices[0, y], indices[1, y], ...] = updates[y, ...]`.  indices: the first axis has a number for each of the
    first axes of data. A negative number counts from the end; an update outside is not done.  mode: "update" for the
    last of the updates, "add", "mul", "min" or "max" for the element and all updates as one.
    """
    name = "scatter_nd"
    _require_mode(name, data, updates, mode, ("update", *COMBINED))
    count = _tuple_size(name, indices, data.ndim)
    expected = [*indices.shape[1:], *data.shape[count:]]
    if updates.ndim != len(expected) or not all(map(is_same_extent, updates.shape, expected)):
        raise TeError(f"{name}: updates of shape {list(updates.shape)}, expected {expected}")
    rows = indices.shape[1:]
    number = reduce(lambda a, b: a * b, rows, as_expr(1))

    def unfolded(n: PrimExpr) -> list[PrimExpr]:
        found: list[PrimExpr] = []
        for extent in reversed(rows[1:]):
            found.insert(0, n % extent)
            n = n // extent
        return [n, *found] if rows else []

    keys = computed(
        [number],
        lambda n: key_of([indices(m, *unfolded(n)) for m in range(count)], data.shape[:count]),
        f"{name}_keys",
    )
    done = Updates(name, data, range(count), keys, lambda n, i: updates(*unfolded(n), *i), data.shape[count:])
    return written(done, mode)
