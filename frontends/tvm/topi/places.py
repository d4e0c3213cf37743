"""Places of elements in tensors whose sizes the caller states, though elements determine their number: `argwhere`,
`unique`, `sparse_fill_empty_rows`. Rows past the last place have a value of their own; TVM leaves memory as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, Select, as_expr, cast, const
from ....expressions.functions import all as all_of
from ....expressions.functions import any as any_of
from ....expressions.functions import floordiv, floormod, if_then_else
from ....expressions.functions import max as greatest
from ....expressions.tensor import Tensor, is_same_extent
from ....operators.elements import build_tensor, element_or_zero
from ....operators.extents import known_extent
from ....operators.scans import cumsum
from ....operators.sorting import binary_search as search_rows
from ....operators.sorting import is_before, merge_sort


def argwhere(output_shape: Tensor | Sequence[Any], condition: Tensor) -> Tensor:
    """The indices of the elements of a tensor that are not 0, in row-major order, as int32; -1 in rows past the last.

    output_shape: the number of rows, and the number of dimensions of the tensor; or a tensor of that shape. TeError for
    another shape.
    """
    if isinstance(output_shape, Tensor):
        output_shape = output_shape.shape
    if condition.ndim == 0 or len(output_shape) != 2 or known_extent(as_expr(output_shape[1])) != condition.ndim:
        shape = f"output_shape {list(output_shape)} for {condition.ndim} dimensions"
        raise TeError(f"argwhere: {shape}, expected a number of rows, and a column for each dimension")
    chosen = build_tensor(condition.shape, lambda *i: cast("int32", condition(*i) != 0), "argwhere_chosen")
    counts = cumsum(chosen)
    size = counts.shape[0]
    rows = search_rows(output_shape[:1], size, lambda i, place: counts(place) <= i[0], "argwhere")

    def index(row: PrimExpr, column: PrimExpr) -> PrimExpr:
        place, along = rows(row), const(-1, "int32")
        for d in reversed(range(condition.ndim)):
            own = place if d == 0 else floormod(place, condition.shape[d])
            along = Select(column.equal(d), cast("int32", own), along)
            place = place if d == 0 else floordiv(place, condition.shape[d])
        return Select(rows(row) < size, along, const(-1, "int32"))

    return build_tensor(output_shape, index, "T_argwhere", "injective")


def _argwhere_of(rank: int) -> Callable[[Tensor | Sequence[Any], Tensor], Tensor]:
    def hybrid_argwhere(output_shape: Tensor | Sequence[Any], condition: Tensor) -> Tensor:
        if condition.ndim != rank:
            raise TeError(f"hybrid_argwhere_{rank}d of {condition.ndim} dimensions, expected {rank}")
        return argwhere(output_shape, condition)

    hybrid_argwhere.__doc__ = f"`argwhere` of a tensor of {rank} dimensions. TeError for another one."
    return hybrid_argwhere


hybrid_argwhere_1d, hybrid_argwhere_2d, hybrid_argwhere_3d, hybrid_argwhere_4d, hybrid_argwhere_5d = map(
    _argwhere_of, range(1, 6)
)


def unique(data: Tensor, is_sorted: bool = True, return_counts: bool = False) -> list[Tensor]:
    """The distinct elements of a vector, the index of the first element that is equal to each, for each element of the
    vector the index of its equal among them, their number, and perhaps how often they occur.

    is_sorted: whether they are in ascending order, or else in the order in which they occur.  return_counts: whether to
    return the fifth tensor. All tensors but the number have the length of the vector: past the last distinct element
    there are zeros, and its length as index. TeError for a tensor of other dimensions, and for bool.
    """
    if data.ndim != 1:
        raise TeError(f"unique of {data.ndim} dimensions, expected 1")
    name, count = "unique", data.shape[0]
    ordered, order = merge_sort(data, 0, True, name)

    def is_first(n: PrimExpr) -> PrimExpr:
        return cast("int32", any_of(n.equal(0), is_before(ordered(greatest(n - 1, 0)), ordered(n))))

    firsts = build_tensor([count], is_first, f"{name}_firsts")
    numbers = cumsum(firsts)
    starts = search_rows([count + 1], count, lambda i, place: numbers(place) <= i[0], f"{name}_starts")
    length = cast("int32", count)
    indices = build_tensor(
        [count], lambda k: if_then_else(starts(k) < count, order(starts(k)), length), f"{name}_indices"
    )
    places = search_rows([count], count, lambda i, place: is_before(ordered(place), data(i[0])), f"{name}_places")
    inverse = build_tensor([count], lambda n: numbers(places(n)) - 1, f"{name}_inverse")
    kinds: Tensor | None = None
    if not is_sorted:
        of_kind, of_element = indices, inverse
        indices, kinds = merge_sort(of_kind, 0, True, f"{name}_order")
        found = search_rows(
            [count], count, lambda i, place: indices(place) < of_kind(of_element(i[0])), f"{name}_found"
        )
        inverse = build_tensor([count], lambda n: cast("int32", found(n)), f"{name}_inverse")
    zero = const(0, data.dtype)
    values = build_tensor([count], lambda k: if_then_else(indices(k) < length, data(indices(k)), zero), name)
    total = build_tensor([1], lambda _: element_or_zero([count], "int32", lambda: numbers(count - 1)), f"{name}_total")
    results = [values, indices, inverse, total]
    if return_counts:

        def occurrences(k: PrimExpr) -> PrimExpr:
            kind = k if kinds is None else kinds(k)
            return cast("int32", starts(kind + 1) - starts(kind))

        results.append(build_tensor([count], occurrences, f"{name}_counts"))
    return results


def sparse_fill_empty_rows(
    sparse_indices: Tensor,
    sparse_values: Tensor,
    dense_shape: Tensor,
    default_value: Tensor,
    new_sparse_indices_shape: Sequence[Any],
    new_sparse_values_shape: Sequence[Any],
    empty_row_indicator_shape: Sequence[Any],
) -> list[Tensor]:
    """The indices and the values of sparse elements, with an element in the first column of each empty row; and for
    each row 1 if it was empty, else 0, as int64.

    sparse_indices: an index tuple in each row, ordered by the first index.  dense_shape: the shape that they are for.
    default_value: the value of the new elements.  new_sparse_indices_shape, new_sparse_values_shape: the shapes of the
    results, whose rows past the last element are 0.  empty_row_indicator_shape: the number of rows. TeError for shapes
    that do not go together.
    """
    name = "sparse_fill_empty_rows"
    ranks = [each.ndim for each in (sparse_indices, sparse_values, dense_shape)]
    if ranks != [2, 1, 1] or default_value.ndim > 1 or not _are_same(sparse_indices.shape[:1], sparse_values.shape):
        shapes = ", ".join(str(list(each.shape)) for each in (sparse_indices, sparse_values, dense_shape))
        raise TeError(f"{name}: indices, values and shape of shapes {shapes}, expected [n, d], [n] and [d]")
    _require_shapes(name, sparse_indices, new_sparse_indices_shape, new_sparse_values_shape, empty_row_indicator_shape)
    count, rows = sparse_indices.shape[0], as_expr(empty_row_indicator_shape[0])
    starts = search_rows(
        [rows + 1], count, lambda i, place: sparse_indices(place, 0) < cast("int64", i[0]), f"{name}_starts"
    )

    def is_empty(row: PrimExpr) -> PrimExpr:
        return all_of(starts(row).equal(starts(row + 1)), cast("int64", row) < dense_shape(0))

    indicator = build_tensor([rows], lambda row: cast("int64", is_empty(row)), f"{name}_indicator")
    own = build_tensor([rows], lambda row: starts(row + 1) - starts(row) + indicator(row), f"{name}_counts")
    ends = cumsum(own)
    length = as_expr(new_sparse_indices_shape[0])
    row_of = search_rows([length], rows, lambda i, place: ends(place) <= i[0], f"{name}_rows")

    def source(k: PrimExpr) -> PrimExpr:
        """The sparse element that a row of the result has."""
        row = row_of(k)
        return starts(row) + cast(starts.dtype, k - ends(row) + own(row))

    def chosen(k: PrimExpr, new: PrimExpr, old: Callable[[], PrimExpr], dtype: str) -> PrimExpr:
        kept = element_or_zero([count], dtype, old)
        filled = if_then_else(indicator(row_of(k)).equal(0), kept, new)
        return if_then_else(row_of(k) < rows, filled, const(0, dtype))

    def index(k: PrimExpr, d: PrimExpr) -> PrimExpr:
        new = Select(d.equal(0), cast("int64", row_of(k)), const(0, "int64"))
        return chosen(k, new, lambda: cast("int64", sparse_indices(source(k), d)), "int64")

    def value(k: PrimExpr) -> PrimExpr:
        dtype, new = sparse_values.dtype, default_value(*[0] * default_value.ndim)
        return chosen(k, cast(dtype, new), lambda: sparse_values(source(k)), dtype)

    return [
        build_tensor(new_sparse_indices_shape, index, f"{name}_indices"),
        build_tensor(new_sparse_values_shape, value, f"{name}_values"),
        indicator,
    ]


def _are_same(extents: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(is_same_extent(as_expr(a), as_expr(b)) for a, b in zip(extents, others, strict=True))


def _require_shapes(
    name: str, indices: Tensor, of_indices: Sequence[Any], of_values: Sequence[Any], of_rows: Sequence[Any]
) -> None:
    """TeError unless the shapes of results go together."""
    ranks = [len(each) for each in (of_indices, of_values, of_rows)]
    if ranks != [2, 1, 1] or not _are_same(of_indices, [*of_values, indices.shape[1]]):
        shapes = ", ".join(str(list(each)) for each in (of_indices, of_values, of_rows))
        raise TeError(f"{name}: results of shapes {shapes}, expected [k, {indices.shape[1]}], [k] and [rows]")


__all__ = [
    "argwhere", "hybrid_argwhere_1d", "hybrid_argwhere_2d", "hybrid_argwhere_3d", "hybrid_argwhere_4d",
    "hybrid_argwhere_5d", "sparse_fill_empty_rows", "unique",
]  # fmt: skip
