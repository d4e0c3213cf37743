"""Operators that put elements along an axis in order, or look for them there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.scan import scan
from ..expressions.tensor import Tensor, is_same_extent, placeholder
from .axes import axis_of
from .definition import Pattern, operator
from .elements import computed
from .extents import Extent, known_extent

Array = Any

LONGEST = 2**26
"""How many elements along an axis are put in order at most, so that int32 counts those of all rounds."""


def is_before(a: PrimExpr, b: PrimExpr, is_ascend: bool = True) -> PrimExpr:
    """Whether an element comes before another one, and is not its equal. NaN comes last in either order."""
    ahead = a < b if is_ascend else a > b
    return ahead | (scalar.isnan(b) & ~scalar.isnan(a)) if a.data_type.is_float else ahead


def _doublings(extent: Extent) -> Extent:
    """How often 1 is doubled until it is at least an extent."""
    known = known_extent(extent)
    if known is not None:
        return max(known - 1, 0).bit_length()
    return extent.data_type.bits - cast(extent.dtype, scalar.clz(extent - 1))


# Merging


@dataclass(frozen=True)
class _Place:
    """Where a row is among the rounds: `row` of its round, in the run from `start` to `end` that becomes of one up to
    `middle` and one from there on.  below: the first row of the round before."""

    row: PrimExpr
    start: PrimExpr
    middle: PrimExpr
    end: PrimExpr
    below: PrimExpr

    @staticmethod
    def at(time: PrimExpr, count: PrimExpr) -> _Place:
        row, number = time % count, time // count
        width = const(1, count.dtype) << (number - 1)
        start = (row >> number) << number
        middle = scalar.min(start + width, count)
        return _Place(row, start, middle, scalar.min(middle + width, count), (number - 1) * count)


def in_order(data: Tensor, along: int, is_ascend: bool, name: str) -> tuple[Tensor, Tensor]:
    """The elements along an axis in order, and as int32 the places where they were; equal ones stay in their order.

    Runs of one element are merged to runs of two, these to runs of four, and so on. A scan has a row for each element
    of each round: `n log n` steps, and as much memory. TeError for bools, and for more than 2**26 elements.
    """
    if data.data_type.is_bool:
        raise TeError(f"{name} of bool, expected numbers")
    known = known_extent(data.shape[along])
    if known is not None and known > LONGEST:
        raise TeError(f"{name}: axis {along} of extent {known}, expected at most {LONGEST}")
    if known == 0:
        values, places = computed(data.shape, lambda *i: (data(*i), const(0, "int32")), f"{name}_empty")
        return values, places
    merged, last = _merged(data, along, is_ascend, name)
    values, places = (
        computed(
            data.shape,
            lambda *i, rows=rows: rows(last + i[along], *i[:along], *i[along + 1 :]),
            f"{name}_{what}",
            "injective",
        )
        for what, rows in zip(("values", "places"), merged, strict=False)
    )
    return values, places


def _merged(data: Tensor, along: int, is_ascend: bool, name: str) -> tuple[list[Tensor], Extent]:
    """The elements and their places in all rounds, one below the other, and where the last round begins."""
    count, rest = data.shape[along], [extent for d, extent in enumerate(data.shape) if d != along]
    rounds = _doublings(count)
    total = count * (rounds + 1)
    keys, order, taken = (placeholder([total, *rest], kind, name) for kind in (data.dtype, "int32", count.dtype))

    def rows(number: Extent, what: str, fcompute: Callable[..., Any]) -> Any:
        return computed([number, *rest], fcompute, f"{name}_{what}")

    def next_of_first(time: PrimExpr, *i: PrimExpr) -> PrimExpr:
        place = _Place.at(time, count)
        return scalar.if_then_else(place.row.equal(place.start), place.start, place.start + taken(time - 1, *i))

    first = rows(total, "first", next_of_first)

    def is_of_first(time: PrimExpr, *i: PrimExpr) -> PrimExpr:
        place = _Place.at(time, count)
        second = place.middle + (place.row - first(time, *i))
        ahead = is_before(keys(place.below + second, *i), keys(place.below + first(time, *i), *i), is_ascend)
        return (first(time, *i) < place.middle) & ((second >= place.end) | ~ahead)

    choice = rows(total, "choice", is_of_first)

    def merge(time: PrimExpr, *i: PrimExpr) -> tuple[PrimExpr, ...]:
        place = _Place.at(time, count)
        second = place.middle + (place.row - first(time, *i))
        source = place.below + Select(choice(time, *i), first(time, *i), second)
        so_far = first(time, *i) - place.start + cast(count.dtype, choice(time, *i))
        return keys(source, *i), order(source, *i), so_far

    def given(time: PrimExpr, *i: PrimExpr) -> tuple[PrimExpr, ...]:
        return data(*i[:along], time, *i[along:]), cast("int32", time), const(0, count.dtype)

    start, update = rows(count, "start", given), rows(total, "merge", merge)
    return scan(list(start), list(update), [keys, order, taken], name=f"{name}_rounds"), count * rounds


def _order_reference(data: Array, axis: int, is_ascend: bool) -> Array:
    """The places of elements in order. Of integers in descending order the last of those that are turned around."""
    if is_ascend or data.dtype.kind == "f":
        return np.argsort(data if is_ascend else -data, axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(np.argsort(np.flip(data, axis), axis, kind="stable"), axis)


def _sort_reference(data: Array, axis: int, is_ascend: bool) -> Array:
    return np.take_along_axis(data, _order_reference(data, axis, is_ascend), axis)


@operator("sort", Pattern.OPAQUE, _sort_reference)
def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """The elements along an axis in ascending or descending order; NaN comes last in either.

    Equal ones stay in their order. It takes n log n steps, and memory for as many elements. TeError for an axis of more
    than 2**26 elements.
    """
    return in_order(data, axis_of(axis, data.ndim, "sort"), is_ascend, "sort")[0]


@operator(
    "argsort",
    Pattern.OPAQUE,
    lambda data, axis, is_ascend, dtype: _order_reference(data, axis, is_ascend).astype(dtype),
)
def argsort(data: Tensor, axis: int = -1, is_ascend: bool = True, dtype: str = "int32") -> Tensor:
    """The places along an axis of the elements in the order that `sort` gives them. dtype: of the places."""
    places = in_order(data, axis_of(axis, data.ndim, "argsort"), is_ascend, "argsort")[1]
    return _first(places, places.shape, dtype, "argsort")


def _first(data: Tensor, shape: Sequence[Extent], dtype: str, name: str) -> Tensor:
    """The first elements along the axes, as many as a shape has, in a data type."""
    return computed(shape, lambda *i: cast(dtype, data(*i)), f"T_{name}", "injective")


def _topk_reference(data: Array, k: int, axis: int, ret_type: str, is_ascend: bool, dtype: str) -> Any:
    count = data.shape[axis]
    order = _order_reference(data, axis, is_ascend).take(range(k if k > 0 else count), axis)
    values, places = np.take_along_axis(data, order, axis), order.astype(dtype)
    return [values, places] if ret_type == "both" else values if ret_type == "values" else places


@operator("topk", Pattern.OPAQUE, _topk_reference)
def topk(
    data: Tensor, k: int = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int32"
) -> Any:
    """The k greatest elements along an axis, the greatest first, and their places; the k least with is_ascend.

    k: how many; all for less than 1. TeError for more than there are.  ret_type: "both" for the two tensors, "values"
    or "indices" for one.  dtype: of the places.  Of equal elements the first come first; NaN comes last.
    """
    if ret_type not in ("both", "values", "indices"):
        raise TeError(f"topk: ret_type {ret_type!r}, expected 'both', 'values' or 'indices'")
    along = axis_of(axis, data.ndim, "topk")
    extent = data.shape[along]
    known = known_extent(extent)
    if known is not None and k > known:
        raise TeError(f"topk: k {k} of an axis of extent {known}, expected at most that")
    values, places = in_order(data, along, is_ascend, "topk")
    count = extent if k < 1 else k if known is not None else scalar.min(k, extent)
    shape = [count if d == along else size for d, size in enumerate(data.shape)]
    found = {
        "values": _first(values, shape, data.dtype, "topk_values"),
        "indices": _first(places, shape, dtype, "topk_indices"),
    }
    return list(found.values()) if ret_type == "both" else found[ret_type]


# Looking for elements


def bisected(
    shape: Sequence[Extent], count: PrimExpr, holds: Callable[[Sequence[PrimExpr], PrimExpr], PrimExpr], name: str
) -> Tensor:
    """How many of the first `count` places there are for which something holds, if it holds for none behind one for
    which it does not. holds: takes the indices of an element of the result, and a place.

    The answer grows by powers of two, from the greatest on: a scan has a row for each of them.
    """
    steps = _doublings(count + 1)
    reached = placeholder([steps + 1, *shape], count.dtype, name)

    def step(time: PrimExpr, *i: PrimExpr) -> PrimExpr:
        further = reached(time - 1, *i) + (const(1, count.dtype) << (steps - time))
        fits = (further <= count) & holds(i, scalar.min(further, count) - 1)
        return Select(fits, further, reached(time - 1, *i))

    start = computed([1, *shape], lambda t, *i: const(0, count.dtype), f"{name}_start")
    update = computed([steps + 1, *shape], step, f"{name}_step")
    rows = scan(start, update, reached, name=f"{name}_steps")
    return computed(shape, lambda *i: rows(steps, *i), f"{name}_places", "injective")


def _searched_reference(sorted_sequence: Array, values: Array, right: bool, dtype: str) -> Array:
    side = "right" if right else "left"
    if sorted_sequence.ndim == 1:
        return np.asarray(np.searchsorted(sorted_sequence, values, side)).astype(dtype)
    found = np.zeros(values.shape, dtype)
    for row in np.ndindex(values.shape[:-1]):
        found[row] = np.searchsorted(sorted_sequence[row], values[row], side)
    return found


@operator("searchsorted", Pattern.OPAQUE, _searched_reference)
def searchsorted(sorted_sequence: Tensor, values: Tensor, right: bool = False, dtype: str = "int32") -> Tensor:
    """Where values would go into a sequence in ascending order: in front of its elements that are not less.

    sorted_sequence: one for all values, or one for each row of them, along the last axis.  right: behind the elements
    that are equal.  dtype: of the places.
    """
    name, rank = "searchsorted", sorted_sequence.ndim
    if rank != 1 and (
        rank != values.ndim or not all(map(is_same_extent, sorted_sequence.shape[:-1], values.shape[:-1]))
    ):
        shapes = f"{list(sorted_sequence.shape)} and values of {list(values.shape)}"
        raise TeError(f"{name}: sorted_sequence of shape {shapes}, expected one dimension or the same rows")
    if sorted_sequence.dtype != values.dtype or values.data_type.is_bool:
        raise TeError(f"{name}: {values.dtype} in {sorted_sequence.dtype}, expected numbers of one data type")

    def holds(i: Sequence[PrimExpr], place: PrimExpr) -> PrimExpr:
        value, element = values(*i), sorted_sequence(*(i[:-1] if rank > 1 else ()), place)
        return ~is_before(value, element) if right else is_before(element, value)

    found = bisected(values.shape, sorted_sequence.shape[-1], holds, name)
    return _first(found, found.shape, dtype, name)
