"""Operators that read where numbers in tensors say, or write there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, as_expr, cast, const
from ..expressions.scan import scan
from ..expressions.tensor import Tensor, is_same_extent, placeholder
from . import reduction
from .axes import axis_of
from .definition import Pattern, operator
from .elements import computed, if_any
from .extents import known_extent
from .requirements import require_floats, require_integers
from .sorting import bisected, in_order

Array = Any


def _from_end(index: PrimExpr, extent: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """A number that counts from the end if it is negative, and the extent, both of one type that holds them."""
    wide = cast("int64", index) if index.data_type.bits < 64 else index
    limit = cast(wide.dtype, extent)
    return (wide if wide.dtype == "uint64" else Select(wide < const(0, "int64"), wide + limit, wide)), limit


def _nearest(index: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """The place that a number means: a negative one counts from the end, one outside means the nearest."""
    place, limit = _from_end(index, extent)
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


def _gather_nd_reference(data: Array, indices: Array, batch_dims: int = 0) -> Array:
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


def _reverse_reference(data: Array, seq_lengths: Array, seq_axis: int = 1, batch_axis: int = 0) -> Array:
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


def _mask_reference(data: Array, valid_length: Array, mask_value: float = 0.0, axis: int = 0) -> Array:
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


FEW = 64
"""How many updates each element asks one by one whether they are for it; more are put in order, and looked up."""

COMBINED: dict[str, tuple[Callable[[Any, Any], PrimExpr], Callable[..., Any]]] = {
    "add": (lambda x, y: x + y, scalar.sum),
    "mul": (lambda x, y: x * y, scalar.prod),
    "min": (scalar.min, reduction.least),
    "max": (scalar.max, reduction.greatest),
}
"""How an element and an update become one, and all updates along an axis."""


@dataclass(frozen=True)
class _Updates:
    """What is written into a tensor.

    keys: the place of each update along `along`, axes of data, counted row by row, and -1 for none; a second and later
    axes are the other axes of data.  values: an update at indices of the other axes.  extents: of these, not longer
    than those of data.
    """

    name: str
    data: Tensor
    along: Sequence[int]
    keys: Tensor
    values: Callable[[PrimExpr, Sequence[PrimExpr]], PrimExpr]
    extents: Sequence[PrimExpr]

    @property
    def count(self) -> PrimExpr:
        return self.keys.shape[0]

    @property
    def targets(self) -> tuple[PrimExpr, ...]:
        """The shape of the places that updates are looked for at."""
        return self.data.shape if self.keys.ndim > 1 else self.data.shape[: len(self.along)]

    def target(self, i: Sequence[PrimExpr]) -> Sequence[PrimExpr]:
        return i[: len(self.targets)]

    def place(self, i: Sequence[PrimExpr]) -> PrimExpr:
        """What the key of an update for an element is."""
        return _row_by_row([i[d] for d in self.along], [self.data.shape[d] for d in self.along], self.keys.dtype)

    def others(self, i: Sequence[PrimExpr]) -> list[PrimExpr]:
        return [index for d, index in enumerate(i) if d not in self.along]

    def key(self, number: PrimExpr, others: Sequence[PrimExpr]) -> PrimExpr:
        return self.keys(number, *(others if self.keys.ndim > 1 else ()))

    def reached(self, i: Sequence[PrimExpr], condition: PrimExpr) -> PrimExpr:
        """A condition on the updates of an element, which does not hold where there are none."""
        whole = [extent for d, extent in enumerate(self.data.shape) if d not in self.along]
        inside = [
            index < own
            for index, own, extent in zip(self.others(i), self.extents, whole, strict=False)
            if not is_same_extent(own, extent)
        ]
        return scalar.all(*inside, condition)

    def at_element(self, number: PrimExpr, i: Sequence[PrimExpr]) -> PrimExpr:
        """Whether an update is for an element."""
        return self.reached(i, self.key(number, self.others(i)).equal(self.place(i)))


def _row_by_row(indices: Sequence[PrimExpr], extents: Sequence[PrimExpr], dtype: str) -> PrimExpr:
    """The place that indices name, counted row by row."""
    place = const(0, dtype)
    for n, (index, extent) in enumerate(zip(indices, extents, strict=True)):
        place = cast(dtype, index) if not n else place * cast(dtype, extent) + cast(dtype, index)
    return place


def _key(indices: Sequence[PrimExpr], extents: Sequence[PrimExpr]) -> PrimExpr:
    """The place that numbers name, counted row by row; -1 if one is outside."""
    places: list[PrimExpr] = []
    inside: list[PrimExpr] = [const(True, "bool")]
    for index, extent in zip(indices, extents, strict=True):
        place, limit = _from_end(index, extent)
        inside.append((place >= const(0, place.dtype)) & (place < limit))
        places.append(cast(extent.dtype, place))
    dtype = extents[0].dtype if extents else "int32"
    return Select(reduce(lambda a, b: a & b, inside), _row_by_row(places, extents, dtype), const(-1, dtype))


class _Sorted:
    """Updates by key, equal ones in their order. end: behind how many of them the last one for a place stands."""

    def __init__(self, updates: _Updates):
        self.updates = updates
        self.keys, self.order = in_order(updates.keys, 0, True, updates.name)

        def holds(i: Sequence[PrimExpr], number: PrimExpr) -> PrimExpr:
            return updates.reached(i, self._key(number, updates.others(i)) <= updates.place(i))

        self.end = bisected(updates.targets, updates.count, holds, f"{updates.name}_last")

    def _key(self, number: PrimExpr, others: Sequence[PrimExpr]) -> PrimExpr:
        return self.keys(number, *(others if self.keys.ndim > 1 else ()))

    def number(self, place: PrimExpr, others: Sequence[PrimExpr]) -> PrimExpr:
        """Which update stands at a place of the order."""
        found = self.order(place, *(others if self.keys.ndim > 1 else ()))
        return cast(self.updates.count.dtype, found)

    def if_any(self, i: Sequence[PrimExpr], found: Callable[[PrimExpr], PrimExpr], default: PrimExpr) -> PrimExpr:
        """What is found for an element whose last update stands in front of a place; a default if there is none."""
        end = self.end(*self.updates.target(i))
        is_for = self._key(end - 1, self.updates.others(i)).equal(self.updates.place(i))
        return scalar.if_then_else(self.updates.reached(i, scalar.all(end > 0, is_for)), found(end), default)

    def so_far(self, updates: _Updates, combine: Callable[[Any, Any], PrimExpr]) -> Tensor:
        """At each place, all updates in front of it for the place that the last of them is for, as one."""
        name = updates.name
        rows = placeholder([updates.count + 1, *updates.extents], updates.data.dtype, name)

        def step(time: PrimExpr, *others: PrimExpr) -> PrimExpr:
            update = updates.values(self.number(time - 1, others), others)
            known = scalar.all(time > 1, self._key(time - 1, others).equal(self._key(time - 2, others)))
            return scalar.if_then_else(known, combine(rows(time - 1, *others), update), update)

        start = computed([1, *updates.extents], lambda *i: cast(rows.dtype, 0), f"{name}_start")
        return scan(start, computed(rows.shape, step, f"{name}_step"), rows, name=f"{name}_rows")


def _last(updates: _Updates, ordered: _Sorted | None) -> Tensor:
    """The number of the last update for each place; one below 0 for none."""
    none, dtype = const(-1, updates.count.dtype), updates.count.dtype
    if ordered is not None:
        return computed(
            updates.targets,
            lambda *i: ordered.if_any(i, lambda end: ordered.number(end - 1, updates.others(i)), none),
            f"{updates.name}_last",
        )
    n = reduce_axis((0, updates.count), "n")
    return computed(
        updates.targets,
        lambda *i: scalar.max(cast(dtype, n.var), axis=n, where=updates.at_element(n.var, i)),
        f"{updates.name}_last",
        "comm_reduce",
    )


def _written(updates: _Updates, mode: str) -> Tensor:
    """A tensor with updates written into it, or combined with what is there."""
    known = known_extent(updates.count)
    ordered = None if known is not None and known <= FEW else _Sorted(updates)
    if mode == "mean":
        data = updates.data
        ones = computed(data.shape, lambda *i: const(1, data.dtype), "ones")
        counted = replace(updates, data=ones, values=lambda number, others: const(1, data.dtype))
        total, counts = (_combined(each, "add", ordered) for each in (updates, counted))
        return computed(data.shape, lambda *i: total(*i) / counts(*i), f"T_{updates.name}_mean")
    return _combined(updates, mode, ordered)


def _combined(updates: _Updates, mode: str, ordered: _Sorted | None) -> Tensor:
    """A tensor with updates in place of elements, or combined with them."""
    data, name = updates.data, f"T_{updates.name}"
    if mode == "update":
        last = _last(updates, ordered)

        def updated(*i: PrimExpr) -> PrimExpr:
            number = last(*updates.target(i))
            return scalar.if_then_else(number >= 0, updates.values(number, updates.others(i)), data(*i))

        return computed(data.shape, updated, name)
    combine, reducer = COMBINED[mode]
    if ordered is not None:
        rows = ordered.so_far(updates, combine)
        return computed(
            data.shape,
            lambda *i: ordered.if_any(i, lambda end: combine(data(*i), rows(end, *updates.others(i))), data(*i)),
            name,
        )
    n = reduce_axis((0, updates.count), "n")
    return computed(
        data.shape,
        lambda *i: reducer(
            updates.values(n.var, updates.others(i)), axis=n, where=updates.at_element(n.var, i), init=data(*i)
        ),
        name,
        "comm_reduce",
    )


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


def _scatter_elements_reference(
    data: Array, indices: Array, updates: Array, axis: int = 0, reduction: str = "update"
) -> Array:
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
        lambda n, *i: _key([indices(*i[:along], n, *i[along:])], [data.shape[along]]),
        f"{name}_keys",
    )
    done = _Updates(name, data, [along], keys, lambda n, i: updates(*i[:along], n, *i[along:]), others)
    return _written(done, reduction)


def _scatter_nd_reference(data: Array, indices: Array, updates: Array, mode: str = "update") -> Array:
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
        lambda n: _key([indices(m, *unfolded(n)) for m in range(count)], data.shape[:count]),
        f"{name}_keys",
    )
    done = _Updates(name, data, range(count), keys, lambda n, i: updates(*unfolded(n), *i), data.shape[count:])
    return _written(done, mode)
