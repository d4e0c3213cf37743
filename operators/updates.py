"""Updates of a tensor at positions in other tensors: few updates one by one, many in sorted order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.index_dtype import position_dtype
from ..expressions.scan import scan
from ..expressions.tensor import Tensor, is_same_extent, placeholder
from . import reduction
from .elements import build_tensor
from .extents import known_extent
from .sorting import binary_search, merge_sort

MAX_UNSORTED_UPDATES = 64
"""The greatest number of updates that each element tests one by one; more updates are sorted and searched."""

SCATTER_COMBINERS: dict[str, tuple[Callable[[Any, Any], PrimExpr], Callable[..., Any]]] = {
    "add": (lambda x, y: x + y, scalar.sum),
    "mul": (lambda x, y: x * y, scalar.prod),
    "min": (scalar.min, reduction.min_reducer),
    "max": (scalar.max, reduction.max_reducer),
}
"""The combiner of an element and an update, and the reduction of all updates along an axis, by mode."""


def normalize_index(index: PrimExpr, extent: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """The index counted from the start, and the extent, in a data type that holds both; a negative index counts from
    the end."""
    wide = cast("int64", index) if index.data_type.bits < 64 else index
    limit = cast(wide.dtype, extent)
    return (wide if wide.dtype == "uint64" else Select(wide < const(0, "int64"), wide + limit, wide)), limit


@dataclass(frozen=True)
class Updates:
    """Updates of elements of a tensor.

    keys: the row-major position of each update along `along`, axes of data, and -1 for an ignored update; the second
    and later axes are the other axes of data.  values: an update at indices of the other axes.  extents: the extents of
    the other axes, at most the extents of data.
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
        """The shape of the positions for which updates are searched."""
        return self.data.shape if self.keys.ndim > 1 else self.data.shape[: len(self.along)]

    def target(self, i: Sequence[PrimExpr]) -> Sequence[PrimExpr]:
        return i[: len(self.targets)]

    def element_key(self, i: Sequence[PrimExpr]) -> PrimExpr:
        """The key of the updates of an element."""
        return _row_major([i[d] for d in self.along], [self.data.shape[d] for d in self.along], self.keys.dtype)

    def others(self, i: Sequence[PrimExpr]) -> list[PrimExpr]:
        return [index for d, index in enumerate(i) if d not in self.along]

    def key(self, number: PrimExpr, others: Sequence[PrimExpr]) -> PrimExpr:
        return self.keys(number, *(others if self.keys.ndim > 1 else ()))

    def in_range(self, i: Sequence[PrimExpr], condition: PrimExpr) -> PrimExpr:
        """A condition on the updates of an element, false for an element out of their range."""
        whole = [extent for d, extent in enumerate(self.data.shape) if d not in self.along]
        inside = [
            index < own
            for index, own, extent in zip(self.others(i), self.extents, whole, strict=False)
            if not is_same_extent(own, extent)
        ]
        return scalar.all(*inside, condition)

    def at_element(self, number: PrimExpr, i: Sequence[PrimExpr]) -> PrimExpr:
        """Whether an update applies to an element."""
        return self.in_range(i, self.key(number, self.others(i)).equal(self.element_key(i)))


def _row_major(indices: Sequence[PrimExpr], extents: Sequence[PrimExpr], dtype: str) -> PrimExpr:
    """The row-major position of indices."""
    position = const(0, dtype)
    for n, (index, extent) in enumerate(zip(indices, extents, strict=True)):
        position = cast(dtype, index) if not n else position * cast(dtype, extent) + cast(dtype, index)
    return position


def key_of(indices: Sequence[PrimExpr], extents: Sequence[PrimExpr]) -> PrimExpr:
    """The row-major position of indices that may be negative; -1 if an index is out of range."""
    positions: list[PrimExpr] = []
    inside: list[PrimExpr] = [const(True, "bool")]
    for index, extent in zip(indices, extents, strict=True):
        position, limit = normalize_index(index, extent)
        inside.append((position >= const(0, position.dtype)) & (position < limit))
        positions.append(cast(extent.dtype, position))
    dtype = max("int32", position_dtype(extents), *(extent.dtype for extent in extents))  # of int32 and int64
    return Select(reduce(lambda a, b: a & b, inside), _row_major(positions, extents, dtype), const(-1, dtype))


class _Sorted:
    """Updates in the order of their keys; the sort is stable. end: the number of updates up to the last update of a
    position."""

    def __init__(self, updates: Updates):
        self.updates = updates
        self.keys, self.order = merge_sort(updates.keys, 0, True, updates.name)

        def holds(i: Sequence[PrimExpr], number: PrimExpr) -> PrimExpr:
            return updates.in_range(i, self._key(number, updates.others(i)) <= updates.element_key(i))

        self.end = binary_search(updates.targets, updates.count, holds, f"{updates.name}_last")

    def _key(self, number: PrimExpr, others: Sequence[PrimExpr]) -> PrimExpr:
        return self.keys(number, *(others if self.keys.ndim > 1 else ()))

    def number(self, position: PrimExpr, others: Sequence[PrimExpr]) -> PrimExpr:
        """The index of the update at a position of the order."""
        index = self.order(position, *(others if self.keys.ndim > 1 else ()))
        return cast(self.updates.count.dtype, index)

    def if_any(self, i: Sequence[PrimExpr], value: Callable[[PrimExpr], PrimExpr], default: PrimExpr) -> PrimExpr:
        """The value of `value` at the end of the updates of an element; `default` for an element without updates."""
        end = self.end(*self.updates.target(i))
        is_for = self._key(end - 1, self.updates.others(i)).equal(self.updates.element_key(i))
        return scalar.if_then_else(self.updates.in_range(i, scalar.all(end > 0, is_for)), value(end), default)

    def so_far(self, updates: Updates, combine: Callable[[Any, Any], PrimExpr]) -> Tensor:
        """For each position of the order, the combination of the preceding updates that share the key of the last."""
        name = updates.name
        rows = placeholder([updates.count + 1, *updates.extents], updates.data.dtype, name)

        def step(time: PrimExpr, *others: PrimExpr) -> PrimExpr:
            update = updates.values(self.number(time - 1, others), others)
            known = scalar.all(time > 1, self._key(time - 1, others).equal(self._key(time - 2, others)))
            return scalar.if_then_else(known, combine(rows(time - 1, *others), update), update)

        start = build_tensor([1, *updates.extents], lambda *i: cast(rows.dtype, 0), f"{name}_start")
        return scan(start, build_tensor(rows.shape, step, f"{name}_step"), rows, name=f"{name}_rows")


def _last(updates: Updates, ordered: _Sorted | None) -> Tensor:
    """The index of the last update of each position; negative for none."""
    none, dtype = const(-1, updates.count.dtype), updates.count.dtype
    if ordered is not None:
        return build_tensor(
            updates.targets,
            lambda *i: ordered.if_any(i, lambda end: ordered.number(end - 1, updates.others(i)), none),
            f"{updates.name}_last",
        )
    n = reduce_axis((0, updates.count), "n")
    return build_tensor(
        updates.targets,
        lambda *i: scalar.max(cast(dtype, n.var), axis=n, where=updates.at_element(n.var, i)),
        f"{updates.name}_last",
        "comm_reduce",
    )


def apply_updates(updates: Updates, mode: str) -> Tensor:
    """The tensor with updates written into it, or combined with its elements."""
    known = known_extent(updates.count)
    ordered = None if known is not None and known <= MAX_UNSORTED_UPDATES else _Sorted(updates)
    if mode == "mean":
        data = updates.data
        ones = build_tensor(data.shape, lambda *i: const(1, data.dtype), "ones")
        counted = replace(updates, data=ones, values=lambda number, others: const(1, data.dtype))
        total, counts = (_combine(each, "add", ordered) for each in (updates, counted))
        return build_tensor(data.shape, lambda *i: total(*i) / counts(*i), f"T_{updates.name}_mean")
    return _combine(updates, mode, ordered)


def _combine(updates: Updates, mode: str, ordered: _Sorted | None) -> Tensor:
    """The tensor with updates in place of elements, or combined with elements."""
    data, name = updates.data, f"T_{updates.name}"
    if mode == "update":
        last = _last(updates, ordered)

        def element(*i: PrimExpr) -> PrimExpr:
            number = last(*updates.target(i))
            return scalar.if_then_else(number >= 0, updates.values(number, updates.others(i)), data(*i))

        return build_tensor(data.shape, element, name)
    combine, reducer = SCATTER_COMBINERS[mode]
    if ordered is not None:
        rows = ordered.so_far(updates, combine)
        return build_tensor(
            data.shape,
            lambda *i: ordered.if_any(i, lambda end: combine(data(*i), rows(end, *updates.others(i))), data(*i)),
            name,
        )
    n = reduce_axis((0, updates.count), "n")
    return build_tensor(
        data.shape,
        lambda *i: reducer(
            updates.values(n.var, updates.others(i)), axis=n, where=updates.at_element(n.var, i), init=data(*i)
        ),
        name,
        "comm_reduce",
    )
