"""Operators on coordinates: grids, row-major positions, permutations, sparse elements and diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, as_expr, cast, const
from ..expressions.tensor import Tensor, broadcast_shape, is_same_extent
from .definition import OPERATORS, Pattern, operator
from .elements import build_tensor, element_or_zero
from .extents import known_extent
from .indexing import clamp_index, scatter_elements, scatter_nd
from .requirements import require_integers, require_one_of

Array = Any

# Grids


def _meshgrid_reference(*data: Array, indexing: str) -> list[Array]:
    return list(np.meshgrid(*data, indexing="ij" if indexing == "ij" else "xy"))


@operator("meshgrid", Pattern.INJECTIVE, _meshgrid_reference)
def meshgrid(*data: Tensor, indexing: str = "ij") -> list[Tensor]:
    """The coordinates of the points of a grid, one tensor for each axis, from the coordinates along each axis.

    data: vectors, or scalars for axes of one point, of one data type.  indexing: "ij" for axes in the order of the
    operands, "xy" for the first two exchanged.
    """
    require_one_of(indexing, ("ij", "xy"), "meshgrid: indexing")
    if not data or any(each.ndim > 1 or each.dtype != data[0].dtype for each in data):
        kinds = ", ".join(f"{each.dtype}{list(each.shape)}" for each in data)
        raise TeError(f"meshgrid of {kinds or 'no tensor'}, expected vectors of one data type")
    order = list(range(len(data)))
    if indexing == "xy":
        order[:2] = order[1::-1]
    shape = [data[n].shape[0] if data[n].ndim else 1 for n in order]

    def points(number: int) -> Tensor:
        own, axis = data[number], order.index(number)
        return build_tensor(shape, lambda *i: own(i[axis]) if own.ndim else own(), "T_meshgrid", "injective")

    return [points(number) for number in range(len(data))]


# Positions


def _unravel_reference(indices: Array, shape: Array) -> Array:
    rest, result = indices, list[Array]()
    with np.errstate(all="ignore"):
        for extent in shape[::-1].astype(indices.dtype):
            result.insert(0, np.asarray(rest % extent))
            rest = rest // extent
    return np.stack(result) if result else np.zeros((0, *indices.shape), indices.dtype)


@operator("unravel_index", Pattern.INJECTIVE, _unravel_reference)
def unravel_index(indices: Tensor, shape: Tensor) -> Tensor:
    """The index tuples of row-major positions, along a new first axis: the inverse of a row-major layout.

    indices: positions; one past the last element denotes the first.  shape: a vector with the extents of the axes, a
    known number of positive integers.
    """
    require_integers(indices, "unravel_index: indices")
    require_integers(shape, "unravel_index: shape")
    count = known_extent(shape.shape[0]) if shape.ndim == 1 else None
    if count is None:
        raise TeError(f"unravel_index: shape of shape {list(shape.shape)}, expected a vector of known length")

    def index(axis: PrimExpr, *i: PrimExpr) -> PrimExpr:
        rest, result = indices(*i), const(0, indices.dtype)
        for n in reversed(range(count)):
            extent = cast(indices.dtype, shape(n))
            result = Select(axis.equal(const(n, axis.dtype)), rest % extent, result)
            rest = rest // extent
        return result

    return build_tensor([count, *indices.shape], index, "T_unravel_index", "injective")


def _adv_index_reference(data: Array, *indices: Array) -> Array:
    places = np.broadcast_arrays(*(each.astype("int64") for each in indices))
    extents = data.shape[: len(indices)]
    if 0 in extents:
        return np.zeros((*places[0].shape, *data.shape[len(indices) :]), data.dtype)
    at = [
        np.clip(np.where(each < 0, each + extent, each), 0, extent - 1)
        for each, extent in zip(places, extents, strict=True)
    ]
    return data[tuple(at)]


@operator("adv_index", Pattern.INJECTIVE, _adv_index_reference)
def adv_index(data: Tensor, *indices: Tensor) -> Tensor:
    """The elements, or slices, at index tuples of which each tensor holds the indices of an axis: `data[i, j, ...]`.

    indices: integers for the first axes of data, whose shapes broadcast. A negative index counts from the end, an index
    out of range denotes the nearest element; axes without elements yield 0.
    """
    for each in indices:
        require_integers(each, "adv_index: indices")
    if not 0 < len(indices) <= data.ndim:
        raise TeError(f"adv_index: {len(indices)} indices of data of {data.ndim} dimensions")
    shapes = [list(each.shape) for each in indices]
    shape = broadcast_shape(shapes)
    if shape is None:
        raise TeError(f"adv_index: indices of shapes {shapes}, which do not broadcast")
    behind, extents = len(shape), data.shape[: len(indices)]

    def index(place: Tensor, i: Sequence[PrimExpr]) -> PrimExpr:
        own = i[behind - place.ndim : behind]
        return place(*(0 if known_extent(extent) == 1 else n for n, extent in zip(own, place.shape, strict=True)))

    def source(*i: PrimExpr) -> PrimExpr:
        at = [clamp_index(index(place, i), extent) for place, extent in zip(indices, extents, strict=True)]
        return element_or_zero(extents, data.dtype, lambda: data(*at, *i[behind:]))

    return build_tensor([*shape, *data.shape[len(indices) :]], source, "advanced_index", "injective")


def _invert_reference(data: Array) -> Array:
    result = np.zeros_like(data)
    for n, index in enumerate(data.tolist()):
        if -len(data) <= index < len(data):
            result[index] = n
    return result


@operator("invert_permutation", Pattern.OPAQUE, _invert_reference)
def invert_permutation(data: Tensor) -> Tensor:
    """The inverse of a permutation: the position of each number from 0 on; 0 for a number that is absent.

    data: a vector of integers. The last position holds for a number that occurs repeatedly; numbers out of range are
    ignored.
    """
    require_integers(data, "invert_permutation: data")
    if data.ndim != 1:
        raise TeError(f"invert_permutation: data of {data.ndim} dimensions, expected 1")
    zeros = build_tensor(data.shape, lambda i: const(0, data.dtype), "zeros")
    numbers = build_tensor(data.shape, lambda i: cast(data.dtype, i), "numbers")
    return scatter_elements(zeros, data, numbers)


# Sparse elements


def _sparse_reference(indices: Array, values: Array, default_value: Array, output_shape: Sequence[int]) -> Array:
    rows = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    result = np.full(output_shape, default_value.astype(values.dtype), values.dtype)
    return OPERATORS["scatter_nd"].reference(result, rows.T, np.broadcast_to(values, rows.shape[:1]), mode="update")


@operator("sparse_to_dense", Pattern.OPAQUE, _sparse_reference)
def sparse_to_dense(
    sparse_indices: Tensor, sparse_values: Tensor, default_value: Tensor, output_shape: Sequence[int]
) -> Tensor:
    """A tensor with values at some indices, and one number elsewhere.

    sparse_indices: an index tuple in each row; a vector or a scalar for a result of one dimension. A negative index
    counts from the end; a value out of range is ignored.  sparse_values: a value for each row, or one for all.
    default_value: a scalar, converted to the data type of the values.
    """
    name, values = "sparse_to_dense", sparse_values
    require_integers(sparse_indices, f"{name}: sparse_indices")
    if sparse_indices.ndim > 2 or values.ndim > 1 or default_value.ndim:
        ranks = ", ".join(str(each.ndim) for each in (sparse_indices, values, default_value))
        raise TeError(f"{name}: indices, values and default of {ranks} dimensions, expected at most 2, 1 and 0")
    count = sparse_indices.shape[0] if sparse_indices.ndim else as_expr(1)
    width = sparse_indices.shape[1] if sparse_indices.ndim == 2 else as_expr(1)
    if values.ndim and not is_same_extent(values.shape[0], count):
        raise TeError(f"{name}: values of shape {list(values.shape)} at {count} indices")
    if known_extent(width) != len(output_shape):
        raise TeError(f"{name}: indices of length {width}, expected {len(output_shape)} for shape {list(output_shape)}")

    def index(axis: PrimExpr, row: PrimExpr) -> PrimExpr:
        return sparse_indices(*(row, axis)[: sparse_indices.ndim])

    rows = build_tensor([len(output_shape), count], index, "T_sparse_indices", "injective")
    each = build_tensor([count], lambda row: values(*(row,)[: values.ndim]), "T_sparse_values", "injective")
    rest = build_tensor(list(output_shape), lambda *i: cast(values.dtype, default_value()), "T_default", "injective")
    return scatter_nd(rest, rows, each)


def _sparse_reshape_reference(sparse_indices: Array, prev_shape: Array, new_shape: Array) -> list[Array]:
    old, new = [int(size) for size in prev_shape], [int(size) for size in new_shape]
    rest = prod(size for size in new if size != -1)
    new = [prod(old) // max(rest, 1) if size == -1 else size for size in new]
    result = np.zeros((len(sparse_indices), len(new)), sparse_indices.dtype)
    for row, indices in zip(result, sparse_indices.tolist(), strict=True):
        place = 0
        for index, size in zip(indices, old, strict=True):
            place = place * size + index
        for d in reversed(range(len(new))):
            row[d] = place % max(new[d], 1) if d else place
            place //= max(new[d], 1)
    return [result, np.asarray(new, new_shape.dtype)]


@operator("sparse_reshape", Pattern.OPAQUE, _sparse_reshape_reference)
def sparse_reshape(sparse_indices: Tensor, prev_shape: Tensor, new_shape: Tensor) -> list[Tensor]:
    """The indices of sparse elements in another shape, and this shape.

    sparse_indices: an index tuple in each row.  prev_shape: the shape that it is for.  new_shape: the other shape, with
    as many elements; a size of -1 is inferred from the others.
    """
    name = "sparse_reshape"
    for what, each, rank in (("sparse_indices", sparse_indices, 2), ("prev_shape", prev_shape, 1)):
        _require_rank(name, what, each, rank)
    _require_rank(name, "new_shape", new_shape, 1)
    old, new = known_extent(prev_shape.shape[0]), known_extent(new_shape.shape[0])
    if old is None or new is None or known_extent(sparse_indices.shape[1]) != old:
        ranks = f"indices of length {sparse_indices.shape[1]}, shapes of {prev_shape.shape[0]} and {new_shape.shape[0]}"
        raise TeError(f"{name}: {ranks} sizes, expected known numbers, that of the first shape for the indices")

    def size(shape: Tensor, d: int) -> PrimExpr:
        return cast("int64", shape(d))

    def given(d: int) -> PrimExpr:
        return Select(size(new_shape, d).equal(-1), const(1, "int64"), size(new_shape, d))

    def new_size(d: PrimExpr) -> PrimExpr:
        own, one = cast("int64", new_shape(d)), const(1, "int64")
        total = _product([size(prev_shape, n) for n in range(old)])
        others = scalar.max(_product([given(n) for n in range(new)]), one)
        return cast(new_shape.dtype, Select(own.equal(-1), total // others, own))

    def place(row: PrimExpr) -> PrimExpr:
        result = const(0, "int64")
        for d in range(old):
            result = result * size(prev_shape, d) + cast("int64", sparse_indices(row, d))
        return result

    shape = build_tensor([new], new_size, f"{name}_shape")
    places = build_tensor([sparse_indices.shape[0]], place, f"{name}_places")

    def index(row: PrimExpr, axis: PrimExpr) -> PrimExpr:
        found, rest = const(0, "int64"), places(row)
        for d in reversed(range(new)):
            extent = scalar.max(size(shape, d), const(1, "int64"))
            found = Select(axis.equal(d), rest % extent if d else rest, found)
            rest = rest // extent
        return cast(sparse_indices.dtype, found)

    return [build_tensor([sparse_indices.shape[0], new], index, f"{name}_indices"), shape]


def _product(sizes: Sequence[PrimExpr]) -> PrimExpr:
    return reduce(lambda a, b: a * b, sizes, const(1, "int64"))


def _require_rank(name: str, what: str, data: Tensor, rank: int) -> None:
    require_integers(data, f"{name}: {what}")
    if data.ndim != rank:
        raise TeError(f"{name}: {what} of {data.ndim} dimensions, expected {rank}")


# Diagonals


def _diagonal_reference(
    data: Array, diagonal: Array, k1: int, k2: int, super_diag_right_align: bool, sub_diag_right_align: bool
) -> Array:
    result, (rows, columns) = data.copy(), data.shape[-2:]
    for r, c in product(range(rows), range(columns)):
        k = c - r
        if k1 <= k <= k2:
            length = min(columns - max(k, 0), rows + min(k, 0))
            right = super_diag_right_align if k >= 0 else sub_diag_right_align
            at = min(r, c) + (diagonal.shape[-1] - length if right and k1 != k2 else 0)
            result[..., r, c] = diagonal[..., at] if k1 == k2 else diagonal[..., k2 - k, at]
    return result


@operator("matrix_set_diag", Pattern.INJECTIVE, _diagonal_reference)
def matrix_set_diag(
    data: Tensor,
    diagonal: Tensor,
    k1: int = 0,
    k2: int = 0,
    super_diag_right_align: bool = True,
    sub_diag_right_align: bool = False,
) -> Tensor:
    """Matrices in which diagonals are replaced.

    diagonal: the elements of the diagonal; of several diagonals a row for each, the upper one first, as long as the
    longest.  k1, k2: the lowest and the highest diagonal, 0 for the main one, positive above it.
    super_diag_right_align, sub_diag_right_align: whether the elements of shorter diagonals above and below the main one
    stand at the end of their row.
    """
    name = "matrix_set_diag"
    if data.ndim < 2 or diagonal.dtype != data.dtype:
        kinds = f"{diagonal.dtype} in data of {data.dtype}{list(data.shape)}"
        raise TeError(f"{name}: diagonals of {kinds}, expected matrices of one data type")
    rows, columns = (known_extent(extent) for extent in data.shape[-2:])
    if rows is None or columns is None or not -rows < k1 <= k2 < columns:
        raise TeError(f"{name}: diagonals {k1} to {k2} of matrices {list(data.shape[-2:])}")
    longest = max(min(columns - max(k, 0), rows + min(k, 0)) for k in range(k1, k2 + 1))
    expected = [*data.shape[:-2], *([as_expr(k2 - k1 + 1)] if k1 < k2 else []), as_expr(longest)]
    if len(diagonal.shape) != len(expected) or not all(map(is_same_extent, diagonal.shape, expected)):
        raise TeError(f"{name}: diagonal of shape {list(diagonal.shape)}, expected {expected}")

    def element(*i: PrimExpr) -> PrimExpr:
        *outer, r, c = i
        k = c - r
        at = scalar.min(r, c)
        if k1 < k2:
            upper = longest - scalar.min(columns - k, rows) if super_diag_right_align else 0
            lower = longest - scalar.min(rows + k, columns) if sub_diag_right_align else 0
            at = at + Select(k >= 0, cast(at.dtype, upper), cast(at.dtype, lower))
        inside = scalar.all(k >= k1, k <= k2)
        place = [*outer, at] if k1 == k2 else [*outer, k2 - k, at]
        return scalar.if_then_else(inside, diagonal(*place), data(*i))

    return build_tensor(data.shape, element, "T_matrix_set_diag", "injective")


def diagonal_attributes(k: int | Sequence[int], align: str) -> dict[str, Any]:
    """The attributes of `matrix_set_diag` for a diagonal, or those from `k[0]` to `k[1]`.

    align: the sides on which shorter diagonals above and below the main one stand in their rows, as `RIGHT_LEFT`.
    """
    require_one_of(align, ("LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT"), "matrix_set_diag: align")
    first, last = (k, k) if isinstance(k, int) else (k[0], k[-1])
    above, below = (side == "RIGHT" for side in align.split("_"))
    return {"k1": first, "k2": last, "super_diag_right_align": above, "sub_diag_right_align": below}
