"""Operators that sort along an axis, or search sorted sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.dtypes import is_float_dtype
from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.scan import scan
from ..expressions.tensor import Tensor, is_same_extent, placeholder
from .axes import nonnegative_axis
from .definition import Pattern, operator
from .elements import build_tensor
from .extents import Extent, known_extent

Array = Any

MAX_SORTED_EXTENT = 2**26
"""The greatest extent of a sorted axis, so that an int32 counts the elements of all rounds."""


def is_before(a: PrimExpr, b: PrimExpr, is_ascend: bool = True) -> PrimExpr:
    """Whether an element sorts strictly before another element. NaN comes last in either order."""
    ahead = a < b if is_ascend else a > b
    return ahead | (scalar.isnan(b) & ~scalar.isnan(a)) if a.data_type.is_float else ahead


def _doublings(extent: Extent) -> Extent:
    """The base-2 logarithm of an extent, rounded up."""
    known = known_extent(extent)
    if known is not None:
        return max(known - 1, 0).bit_length()
    return extent.data_type.bits - cast(extent.dtype, scalar.clz(extent - 1))


# Merging


@dataclass(frozen=True)
class _MergeStep:
    """A step of the merge sort: the output `row` of its round, in the run from `start` to `end` merged from two runs
    that meet at `middle`. below: the first row of the previous round."""

    row: PrimExpr
    start: PrimExpr
    middle: PrimExpr
    end: PrimExpr
    below: PrimExpr

    @staticmethod
    def at(time: PrimExpr, count: PrimExpr) -> _MergeStep:
        row, number = time % count, time // count
        width = const(1, count.dtype) << (number - 1)
        start = (row >> number) << number
        middle = scalar.min(start + width, count)
        return _MergeStep(row, start, middle, scalar.min(middle + width, count), (number - 1) * count)


def merge_sort(data: Tensor, along: int, is_ascend: bool, name: str) -> tuple[Tensor, Tensor]:
    """The sorted elements along an axis, and their original positions as int32; the sort is stable.

    Runs of one element are merged to runs of two, these to runs of four, and so on. A scan has a row for each element
    of each round: `n log n` steps, and as much memory. TeError for bools, and for more than 2**26 elements.
    """
    if data.data_type.is_bool:
        raise TeError(f"{name} of bool, expected numbers")
    known = known_extent(data.shape[along])
    if known is not None and known > MAX_SORTED_EXTENT:
        raise TeError(f"{name}: axis {along} of extent {known}, expected at most {MAX_SORTED_EXTENT}")
    if known == 0:
        values, positions = build_tensor(data.shape, lambda *i: (data(*i), const(0, "int32")), f"{name}_empty")
        return values, positions
    merged, last = _merge_rounds(data, along, is_ascend, name)
    values, positions = (
        build_tensor(
            data.shape,
            lambda *i, rows=rows: rows(last + i[along], *i[:along], *i[along + 1 :]),
            f"{name}_{what}",
            "injective",
        )
        for what, rows in zip(("values", "places"), merged, strict=False)
    )
    return values, positions


def _merge_rounds(data: Tensor, along: int, is_ascend: bool, name: str) -> tuple[list[Tensor], Extent]:
    """The elements and their positions in all rounds, one round after another, and the first row of the last round."""
    count, rest = data.shape[along], [extent for d, extent in enumerate(data.shape) if d != along]
    rounds = _doublings(count)
    total = count * (rounds + 1)
    keys, order, taken = (placeholder([total, *rest], kind, name) for kind in (data.dtype, "int32", count.dtype))

    def rows(number: Extent, what: str, fcompute: Callable[..., Any]) -> Any:
        return build_tensor([number, *rest], fcompute, f"{name}_{what}")

    def next_of_first(time: PrimExpr, *i: PrimExpr) -> PrimExpr:
        at = _MergeStep.at(time, count)
        return scalar.if_then_else(at.row.equal(at.start), at.start, at.start + taken(time - 1, *i))

    first = rows(total, "first", next_of_first)

    def is_of_first(time: PrimExpr, *i: PrimExpr) -> PrimExpr:
        at = _MergeStep.at(time, count)
        second = at.middle + (at.row - first(time, *i))
        ahead = is_before(keys(at.below + second, *i), keys(at.below + first(time, *i), *i), is_ascend)
        return (first(time, *i) < at.middle) & ((second >= at.end) | ~ahead)

    choice = rows(total, "choice", is_of_first)

    def merge(time: PrimExpr, *i: PrimExpr) -> tuple[PrimExpr, ...]:
        at = _MergeStep.at(time, count)
        second = at.middle + (at.row - first(time, *i))
        source = at.below + Select(choice(time, *i), first(time, *i), second)
        so_far = first(time, *i) - at.start + cast(count.dtype, choice(time, *i))
        return keys(source, *i), order(source, *i), so_far

    def initial(time: PrimExpr, *i: PrimExpr) -> tuple[PrimExpr, ...]:
        return data(*i[:along], time, *i[along:]), cast("int32", time), const(0, count.dtype)

    start, update = rows(count, "start", initial), rows(total, "merge", merge)
    return scan(list(start), list(update), [keys, order, taken], name=f"{name}_rounds"), count * rounds


def _order_reference(data: Array, axis: int, is_ascend: bool) -> Array:
    """The positions of the elements in sorted order. In descending order, integers are sorted in reverse, since
    negation overflows."""
    if is_ascend or is_float_dtype(data.dtype):
        return np.argsort(data if is_ascend else -data, axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(np.argsort(np.flip(data, axis), axis, kind="stable"), axis)


def _sort_reference(data: Array, axis: int, is_ascend: bool) -> Array:
    return np.take_along_axis(data, _order_reference(data, axis, is_ascend), axis)


@operator("sort", Pattern.OPAQUE, _sort_reference)
def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """Sorts the elements along `axis` in ascending or descending order; NaN comes last in either order.

    The sort is stable. It takes n log n steps, and memory for as many elements. TeError for an axis of more than 2**26
    elements.
    """
    return merge_sort(data, nonnegative_axis(axis, data.ndim, "sort"), is_ascend, "sort")[0]


@operator(
    "argsort",
    Pattern.OPAQUE,
    lambda data, axis, is_ascend, dtype: _order_reference(data, axis, is_ascend).astype(dtype),
)
def argsort(data: Tensor, axis: int = -1, is_ascend: bool = True, dtype: str = "int32") -> Tensor:
    """The positions of the elements along `axis` in the order of `sort`.

    dtype: the data type of the positions.
    """
    positions = merge_sort(data, nonnegative_axis(axis, data.ndim, "argsort"), is_ascend, "argsort")[1]
    return _leading_part(positions, positions.shape, dtype, "argsort")


def _leading_part(data: Tensor, shape: Sequence[Extent], dtype: str, name: str) -> Tensor:
    """The leading elements along each axis, as many as a shape has, in a data type."""
    return build_tensor(shape, lambda *i: cast(dtype, data(*i)), f"T_{name}", "injective")


def _topk_reference(data: Array, k: int, axis: int, ret_type: str, is_ascend: bool, dtype: str) -> Any:
    count = data.shape[axis]
    order = _order_reference(data, axis, is_ascend).take(range(k if k > 0 else count), axis)
    values, positions = np.take_along_axis(data, order, axis), order.astype(dtype)
    return [values, positions] if ret_type == "both" else values if ret_type == "values" else positions


@operator("topk", Pattern.OPAQUE, _topk_reference)
def topk(
    data: Tensor, k: int = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int32"
) -> Any:
    """The `k` greatest elements along `axis` in descending order, and their positions.

    k: the number of elements; all elements if less than 1. TeError for a number above the extent.  ret_type: "both" for
    the two tensors, "values" or "indices" for one.  is_ascend: whether to return the k least elements, in ascending
    order.  dtype: the data type of the positions.  Equal elements stay in order; NaN comes last.
    """
    if ret_type not in ("both", "values", "indices"):
        raise TeError(f"topk: ret_type {ret_type!r}, expected 'both', 'values' or 'indices'")
    along = nonnegative_axis(axis, data.ndim, "topk")
    extent = data.shape[along]
    known = known_extent(extent)
    if known is not None and k > known:
        raise TeError(f"topk: k {k} of an axis of extent {known}, expected at most that")
    values, positions = merge_sort(data, along, is_ascend, "topk")
    count = extent if k < 1 else k if known is not None else scalar.min(k, extent)
    shape = [count if d == along else size for d, size in enumerate(data.shape)]
    results = {
        "values": _leading_part(values, shape, data.dtype, "topk_values"),
        "indices": _leading_part(positions, shape, dtype, "topk_indices"),
    }
    return list(results.values()) if ret_type == "both" else results[ret_type]


# Binary search


def binary_search(
    shape: Sequence[Extent], count: PrimExpr, holds: Callable[[Sequence[PrimExpr], PrimExpr], PrimExpr], name: str
) -> Tensor:
    """The number of leading positions among `count` for which a condition holds, if it holds for no position after the
    first failure. holds: takes the indices of an element of the result, and a position.

    The number grows by powers of two, in descending order: a scan has a row for each power.
    """
    steps = _doublings(count + 1)
    reached = placeholder([steps + 1, *shape], count.dtype, name)

    def step(time: PrimExpr, *i: PrimExpr) -> PrimExpr:
        further = reached(time - 1, *i) + (const(1, count.dtype) << (steps - time))
        fits = (further <= count) & holds(i, scalar.min(further, count) - 1)
        return Select(fits, further, reached(time - 1, *i))

    start = build_tensor([1, *shape], lambda t, *i: const(0, count.dtype), f"{name}_start")
    update = build_tensor([steps + 1, *shape], step, f"{name}_step")
    rows = scan(start, update, reached, name=f"{name}_steps")
    return build_tensor(shape, lambda *i: rows(steps, *i), f"{name}_places", "injective")


def _searchsorted_reference(sorted_sequence: Array, values: Array, right: bool, dtype: str) -> Array:
    side = "right" if right else "left"
    if sorted_sequence.ndim == 1:
        return np.asarray(np.searchsorted(sorted_sequence, values, side)).astype(dtype)
    positions = np.zeros(values.shape, dtype)
    for row in np.ndindex(values.shape[:-1]):
        positions[row] = np.searchsorted(sorted_sequence[row], values[row], side)
    return positions


@operator("searchsorted", Pattern.OPAQUE, _searchsorted_reference)
def searchsorted(sorted_sequence: Tensor, values: Tensor, right: bool = False, dtype: str = "int32") -> Tensor:
    """The insertion positions of values in sorted sequences, before the elements that are not less.

    sorted_sequence: in ascending order, one for all values, or one for each row of values, along the last axis.  right:
    inserts after equal elements.  dtype: the data type of the positions.
    """
    name, rank = "searchsorted", sorted_sequence.ndim
    if rank != 1 and (
        rank != values.ndim or not all(map(is_same_extent, sorted_sequence.shape[:-1], values.shape[:-1]))
    ):
        shapes = f"{list(sorted_sequence.shape)} and values of {list(values.shape)}"
        raise TeError(f"{name}: sorted_sequence of shape {shapes}, expected one dimension or the same rows")
    if sorted_sequence.dtype != values.dtype or values.data_type.is_bool:
        raise TeError(f"{name}: {values.dtype} in {sorted_sequence.dtype}, expected numbers of one data type")

    def holds(i: Sequence[PrimExpr], position: PrimExpr) -> PrimExpr:
        value, element = values(*i), sorted_sequence(*(i[:-1] if rank > 1 else ()), position)
        return ~is_before(value, element) if right else is_before(element, value)

    positions = binary_search(values.shape, sorted_sequence.shape[-1], holds, name)
    return _leading_part(positions, positions.shape, dtype, name)
