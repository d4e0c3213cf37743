"""Operators that create tensors from shapes and numbers, and operators that select elements by position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..core.dtypes import DType, int_fits, is_float_dtype, numpy_dtype, wide_dtype
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.tensor import Tensor, compute, elementwise_tensor
from .definition import Pattern, operator

Array = Any


def _fill(shape: Sequence[int], value: float, dtype: str, name: str) -> Tensor:
    element = const(value, dtype)
    names = [f"ax{d}" for d in range(len(shape))]
    return compute(shape, lambda *_: element, f"T_{name}", "elemwise", varargs_names=names)


# Constants


@operator(
    "full", Pattern.ELEMWISE, lambda fill_value, shape=(), dtype="float32": np.full(shape, fill_value).astype(dtype)
)
def full(fill_value: float, shape: Sequence[int] = (), dtype: str = "float32") -> Tensor:
    """A tensor of a given shape, filled with one number."""
    return _fill(shape, fill_value, dtype, "full")


@operator("zeros", Pattern.ELEMWISE, lambda shape, dtype: np.zeros(shape, dtype))
def zeros(shape: Sequence[int], dtype: str) -> Tensor:
    """A tensor of a given shape, filled with zeros."""
    return _fill(shape, 0, dtype, "zeros")


@operator("ones", Pattern.ELEMWISE, lambda shape, dtype: np.ones(shape, dtype))
def ones(shape: Sequence[int], dtype: str) -> Tensor:
    """A tensor of a given shape, filled with ones."""
    return _fill(shape, 1, dtype, "ones")


@operator("full_like", Pattern.ELEMWISE, lambda data, fill_value: np.full(data.shape, fill_value).astype(data.dtype))
def full_like(data: Tensor, fill_value: float) -> Tensor:
    """A tensor with the shape and data type of `data`, filled with one number."""
    value = const(fill_value, data.dtype)
    return elementwise_tensor(lambda x: value, [data], "T_full_like")


@operator("zeros_like", Pattern.ELEMWISE, lambda data: np.zeros_like(data))
def zeros_like(data: Tensor) -> Tensor:
    """A tensor with the shape and data type of `data`, filled with zeros."""
    return elementwise_tensor(lambda x: const(0, data.dtype), [data], "T_zeros_like")


@operator("ones_like", Pattern.ELEMWISE, lambda data: np.ones_like(data))
def ones_like(data: Tensor) -> Tensor:
    """A tensor with the shape and data type of `data`, filled with ones."""
    return elementwise_tensor(lambda x: const(1, data.dtype), [data], "T_ones_like")


# By position


def _steps(start: float, stop: float | None, step: float | None) -> tuple[float, float, int]:
    """The first number, the step and the length of a range."""
    first, end = (0, start) if stop is None else (start, stop)
    width = 1 if step is None else step
    if width == 0 or not all(map(math.isfinite, (first, end, width))):
        raise TeError(f"arange: from {first} to {end} by {width}, expected finite numbers, and a step that is not 0")
    whole = all(isinstance(each, int) for each in (first, end, width))
    count = -((first - end) // width) if whole else math.ceil((end - first) / width)
    return first, width, max(0, int(count))


def _range_reference(start: float, stop: float | None, step: float | None, dtype: str) -> Array:
    kind = numpy_dtype(dtype)
    wide = wide_dtype(kind) if is_float_dtype(kind) else kind
    first, end = (0, start) if stop is None else (start, stop)
    return np.arange(first, end, 1 if step is None else step, dtype=wide).astype(kind)


@operator("arange", Pattern.INJECTIVE, _range_reference)
def arange(start: float, stop: float | None = None, step: float | None = None, dtype: str = "float32") -> Tensor:
    """Evenly spaced numbers from `start` up to, but not including, `stop`.

    start, stop: the bounds; without stop, the range begins at 0 and ends before start.  step: the difference of
    consecutive numbers, 1 by default; negative to count down.
    """
    first, width, count = _steps(start, stop, step)
    kind = const(0, dtype).data_type
    if kind.is_bool:
        raise TeError("arange of bool, expected numbers")
    if not kind.is_float:
        _require_whole(first, width, count, kind)
    wide = "float64" if kind.is_float else "int64"
    begin, by = const(first, wide), const(width, wide)
    return compute([count], lambda i: cast(dtype, begin + cast(wide, i) * by), "T_arange", "injective")


def _require_whole(first: float, width: float, count: int, kind: DType) -> None:
    """TeError unless the numbers of a range are integers of a data type."""
    if first != int(first) or width != int(width):
        raise TeError(f"arange: from {first} by {width} of {kind}, expected integers")
    ends = int(first), int(first) + int(width) * (count - 1)
    if count and not all(int_fits(each, kind) for each in ends):
        raise TeError(f"arange: from {ends[0]} to {ends[1]}, which are not all of type {kind}")


def _eye_reference(rows: int, columns: int | None, k: int, dtype: str) -> Array:
    return np.eye(rows, columns, k, dtype)


@operator("eye", Pattern.INJECTIVE, _eye_reference)
def eye(rows: int, columns: int | None = None, k: int = 0, dtype: str = "float32") -> Tensor:
    """A matrix with ones on a diagonal and zeros elsewhere.

    rows, columns: the shape; by default as many columns as rows.  k: the offset of the diagonal to the right of the
    main diagonal; negative for an offset to the left.
    """
    one, zero, right = const(1, dtype), const(0, dtype), const(k, "int64")

    def fcompute(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        return Select((cast("int64", j) - cast("int64", i)).equal(right), one, zero)

    return compute([rows, rows if columns is None else columns], fcompute, "T_eye", "injective")


def _trilu_reference(data: Array, k: int, upper: bool) -> Array:
    return np.triu(data, k) if upper else np.tril(data, k)


@operator("trilu", Pattern.INJECTIVE, _trilu_reference)
def trilu(data: Tensor, k: int = 0, upper: bool = True) -> Tensor:
    """The upper or the lower triangle of matrices, including the diagonal, with zeros elsewhere.

    The last two axes are the axes of the matrices.  k: the offset of the diagonal to the right of the main diagonal;
    negative for an offset to the left.  upper: whether the upper triangle is kept.
    """
    if data.ndim < 2:
        raise TeError(f"trilu: data of {data.ndim} dimensions, expected at least 2")
    right, zero = const(k, "int64"), const(0, data.dtype)

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        offset = cast("int64", axes[-1]) - cast("int64", axes[-2])
        return Select(offset >= right if upper else offset <= right, data(*axes), zero)

    names = [f"ax{d}" for d in range(data.ndim)]
    return compute(data.shape, fcompute, "T_trilu", "injective", varargs_names=names)


# Flattening


@operator("nn.batch_flatten", Pattern.INJECTIVE, lambda data: data.reshape(len(data), math.prod(data.shape[1:])))
def batch_flatten(data: Tensor) -> Tensor:
    """Flattens all axes after the first axis into one."""
    if not data.ndim:
        raise TeError("nn.batch_flatten: data of 0 dimensions, expected at least 1")
    extents = data.shape[1:]
    width: Any = reduce(lambda a, b: a * b, extents, const(1))

    def fcompute(row: PrimExpr, place: PrimExpr) -> PrimExpr:
        indices: list[PrimExpr] = []
        for n, extent in reversed(list(enumerate(extents))):
            indices.insert(0, place if n == 0 else place % extent)
            place = place // extent
        return data(row, *indices)

    return compute([data.shape[0], width], fcompute, "T_flatten", "injective")
