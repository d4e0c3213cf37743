"""Operators whose result has the shape or the data type of another tensor, and the shape of a tensor as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..core.dtypes import numpy_dtype
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, as_expr, cast, const
from ..expressions.tensor import Tensor, compute
from . import math, reduction, transform
from .axes import nonnegative_axis
from .definition import OPERATORS, Pattern, operator
from .extents import Extent, known_extent

Array = Any


def _extents(tensor: Tensor) -> list[Extent]:
    """The shape, with integers where the extents are known."""
    return [extent if (known := known_extent(extent)) is None else known for extent in tensor.shape]


@operator(
    "cast_like",
    Pattern.ELEMWISE,
    lambda data, dtype_like: OPERATORS["cast"].reference(data, dtype=dtype_like.dtype.name),
)
def cast_like(data: Tensor, dtype_like: Tensor) -> Tensor:
    """Converts the elements of a tensor to the data type of another one, as `cast`."""
    return math.cast_to(data, dtype_like.dtype)


def _like_shape(
    shape: Sequence[Any], like: Sequence[Any], lhs: tuple[int, int | None], rhs: tuple[int, int | None]
) -> list[Any]:
    """A shape in which some extents are replaced by some of another one."""
    behind = len(shape) if lhs[1] is None else lhs[1] % len(shape) if lhs[1] < 0 else lhs[1]
    return [*shape[: lhs[0]], *like[rhs[0] : rhs[1]], *shape[behind:]]


def _reshape_like_reference(
    data: Array, shape_like: Array, lhs_begin: int, lhs_end: int | None, rhs_begin: int, rhs_end: int | None
) -> Array:
    return data.reshape(_like_shape(data.shape, shape_like.shape, (lhs_begin, lhs_end), (rhs_begin, rhs_end)))


@operator("reshape_like", Pattern.INJECTIVE, _reshape_like_reference)
def reshape_like(
    data: Tensor,
    shape_like: Tensor,
    lhs_begin: int = 0,
    lhs_end: int | None = None,
    rhs_begin: int = 0,
    rhs_end: int | None = None,
) -> Tensor:
    """Changes the shape of a tensor to that of another one, and keeps the row-major order of its elements.

    lhs_begin, lhs_end: the axes of data whose extents are replaced, by default all.  rhs_begin, rhs_end: the axes of
    the other tensor whose extents replace them, by default all.
    """
    own, like = _extents(data), _extents(shape_like)
    target = _like_shape(own, like, (lhs_begin, lhs_end), (rhs_begin, rhs_end))
    known = all(isinstance(extent, int) for extent in (*own, *target))
    if not known or prod(map(int, own)) != prod(map(int, target)):
        shapes = f"data of shape {own} and shape_like of {like}"
        raise TeError(f"reshape_like: {shapes}, expected as many elements, of known number")
    return transform.with_shape(data, target)


@operator(
    "broadcast_to_like", Pattern.BROADCAST, lambda data, broadcast_type: np.broadcast_to(data, broadcast_type.shape)
)
def broadcast_to_like(data: Tensor, broadcast_type: Tensor) -> Tensor:
    """Broadcasts a tensor to the shape of another one, as `broadcast_to`."""
    return transform.broadcast_to(data, _extents(broadcast_type))  # pyright: ignore[reportArgumentType]


def _collapsed_axes(shape: Sequence[Any], target: Sequence[Any]) -> tuple[list[int], int]:
    """The axes along which a tensor of the shape `target` broadcasts to `shape`, and the number of leading ones.
    TeError if it does not."""
    front = len(shape) - len(target)
    pairs = list(zip(shape[max(front, 0) :], target, strict=False))
    if front < 0 or any(own != whole and own != 1 for whole, own in pairs):
        raise TeError(f"collapse_sum: a tensor of shape {list(shape)}, expected one to which {list(target)} broadcasts")
    inner = [front + n for n, (whole, own) in enumerate(pairs) if own == 1 and whole != 1]
    return [*range(front), *inner], front


def _collapse(data: Tensor, target: Sequence[Any]) -> Tensor:
    axes, front = _collapsed_axes(_extents(data), target)
    total = reduction.sum(data, axes, keepdims=True) if axes else math.copy(data)
    return transform.squeeze(total, list(range(front))) if front else total


def _collapse_array(data: Array, target: Sequence[int]) -> Array:
    axes, _ = _collapsed_axes(data.shape, target)
    kind = data.dtype
    return np.sum(data.astype("float64" if kind.kind == "f" else kind), tuple(axes)).reshape(target).astype(kind)


@operator(
    "collapse_sum_like", Pattern.COMM_REDUCE, lambda data, collapse_type: _collapse_array(data, collapse_type.shape)
)
def collapse_sum_like(data: Tensor, collapse_type: Tensor) -> Tensor:
    """The sum over the axes along which another tensor broadcasts to the shape of data, in the shape of that tensor."""
    return _collapse(data, _extents(collapse_type))


@operator("collapse_sum_to", Pattern.COMM_REDUCE, lambda data, shape: _collapse_array(data, shape))
def collapse_sum_to(data: Tensor, shape: Sequence[int]) -> Tensor:
    """The sum over the axes along which a tensor of another shape broadcasts to the shape of data, in that shape."""
    return _collapse(data, list(shape))


def _sliced_axes(rank: int, like: int, axes: Sequence[int] | None) -> list[int]:
    """The axes that `slice_like` cuts."""
    if axes:
        return [nonnegative_axis(axis, rank, "slice_like") for axis in axes]
    return list(range(min(rank, like)))


def _slice_like_reference(data: Array, slice_like: Array, axes: Sequence[int] | None) -> Array:
    chosen = _sliced_axes(data.ndim, slice_like.ndim, axes)
    return data[tuple(slice(slice_like.shape[d]) if d in chosen else slice(None) for d in range(data.ndim))]


@operator("slice_like", Pattern.INJECTIVE, _slice_like_reference)
def slice_like(data: Tensor, slice_like: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The first elements of a tensor along each axis, as many as another tensor has.

    axes: the axes that are cut, by default all that both tensors have.
    """
    chosen = _sliced_axes(data.ndim, slice_like.ndim, axes)
    own, other = _extents(data), _extents(slice_like)
    for axis in chosen:
        if axis >= len(other):
            raise TeError(f"slice_like: axis {axis} of a tensor of shape {other}")
        whole, part = own[axis], other[axis]
        if isinstance(whole, int) and isinstance(part, int) and part > whole:
            raise TeError(f"slice_like: {part} elements of axis {axis} of extent {whole}")
    shape = [other[d] if d in chosen else extent for d, extent in enumerate(own)]
    names = [f"ax{d}" for d in range(data.ndim)]
    return compute(shape, lambda *at: data(*at), "T_slice_like", "injective", varargs_names=names)


# The shape as numbers


@operator("shape_of", Pattern.OPAQUE, lambda data, dtype: np.array(data.shape, numpy_dtype(dtype)))
def shape_of(data: Tensor, dtype: str = "int32") -> Tensor:
    """The extents of a tensor as a vector of integers."""

    def extent(n: PrimExpr) -> PrimExpr:
        result: PrimExpr = const(0, dtype)
        for d, each in enumerate(data.shape):
            result = Select(n < const(d), result, cast(dtype, as_expr(each)))
        return result

    return compute([data.ndim], extent, "T_shape_of", "injective", varargs_names=["ax0"])


@operator("ndarray_size", Pattern.OPAQUE, lambda data, dtype: np.asarray(data.size, numpy_dtype(dtype)))
def ndarray_size(data: Tensor, dtype: str = "int32") -> Tensor:
    """The number of elements of a tensor."""
    size: PrimExpr = const(1, dtype)
    for each in data.shape:
        size = size * cast(dtype, as_expr(each))
    return compute([], lambda: size, "T_ndarray_size", "injective")
