"""Reductions along axes of a tensor, which are removed or remain with extent 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..core.dtypes import parse_dtype, value_bounds
from ..expressions import functions as scalar
from ..expressions.axes import IterVar, reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import IntImm, Max, Min, PrimExpr, Select, cast, const
from ..expressions.functions import truncdiv
from ..expressions.tensor import Tensor, comm_reducer, compute, elementwise_tensor
from .axes import Axes, nonnegative_axes
from .definition import Pattern, operator
from .extents import known_extent
from .requirements import require_floats, require_integers, wide_dtype

Array = Any


def _reduced_axes(data: Tensor | Array, axis: Axes, exclude: bool, name: str) -> tuple[int, ...]:
    """The indices of the reduced dimensions, in order."""
    axes = nonnegative_axes(axis, data.ndim, name)
    return tuple(d for d in range(data.ndim) if (d in axes) != exclude)


def _reduce(
    data: Tensor,
    along: Sequence[int],
    keepdims: bool,
    combine: Callable[[Callable[[Sequence[PrimExpr]], PrimExpr], list[IterVar], Sequence[PrimExpr]], Any],
    name: str,
) -> Any:
    """A reduction along axes. combine: takes a function from indices to an element, the reduction axes, and all
    indices."""
    over = {d: reduce_axis((0, data.shape[d]), f"k{n}") for n, d in enumerate(along)}
    kept = [d for d in range(data.ndim) if keepdims or d not in over]
    shape = [1 if d in over else data.shape[d] for d in kept]

    def fcompute(*axes: PrimExpr) -> Any:
        kept_indices = dict(zip(kept, axes, strict=True))
        indices = [over[d].var if d in over else kept_indices[d] for d in range(data.ndim)]
        return combine(lambda index: data(*index), list(over.values()), indices)

    return compute(shape, fcompute, name, "comm_reduce", varargs_names=[f"ax{n}" for n in range(len(shape))])


def least_value(dtype: str) -> PrimExpr:
    """The least value of a data type: minus infinity for floats with infinities."""
    return const(value_bounds(parse_dtype(dtype))[0], dtype)


def greatest_value(dtype: str) -> PrimExpr:
    """The greatest value of a data type: infinity for floats with infinities."""
    return const(value_bounds(parse_dtype(dtype))[1], dtype)


max_reducer = comm_reducer(Max, least_value, name="max")
"""`te.max` with the identity element minus infinity instead of the least finite number."""
min_reducer = comm_reducer(Min, greatest_value, name="min")


def define_reduction(
    name: str,
    reducer: Callable[..., Any],
    reference: Callable[..., Array],
    accepts: str,
    meaning: str,
    of_bool: Callable[..., Any] | None = None,
) -> Any:
    """Defines a reduction by an associative and commutative operation. accepts: "numbers" or "bool".  meaning: the
    summary.  of_bool: the operation on bool, of a reduction of numbers that has one."""

    def formula(data: Tensor, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> Tensor:
        if data.data_type.is_bool != (accepts == "bool") and not (data.data_type.is_bool and of_bool):
            raise TeError(f"{name} of {data.dtype}, expected {accepts}")
        combine = of_bool if of_bool and data.data_type.is_bool else reducer
        along = _reduced_axes(data, axis, exclude, name)
        if not along:
            return elementwise_tensor(lambda x: x, [data], f"T_{name}")
        return _reduce(data, along, keepdims, lambda at, over, index: combine(at(index), axis=over), f"T_{name}")

    def reduce_array(data: Array, axis: Axes, keepdims: bool, exclude: bool) -> Array:
        result = reference(data, axis=_reduced_axes(data, axis, exclude, name), keepdims=keepdims)
        return np.asarray(result).astype(data.dtype)

    formula.__name__ = formula.__qualname__ = name
    formula.__doc__ = f"""{meaning}

    axis: one axis, several axes, or None for all axes.  exclude: reduces all other axes.  keepdims: keeps the reduced
    axes with extent 1.
    """
    return operator(name, Pattern.COMM_REDUCE, reduce_array)(formula)


sum = define_reduction("sum", scalar.sum, np.sum, "numbers", "The sum of the elements along `axis`.")
prod = define_reduction("prod", scalar.prod, np.prod, "numbers", "The product of the elements along `axis`.")
max = define_reduction("max", max_reducer, np.max, "numbers", "The maximum of the elements along `axis`.", scalar.any)
min = define_reduction("min", min_reducer, np.min, "numbers", "The minimum of the elements along `axis`.", scalar.all)
all = define_reduction("all", scalar.all, np.all, "bool", "Whether all elements along `axis` are true.")
any = define_reduction("any", scalar.any, np.any, "bool", "Whether any element along `axis` is true.")


def _count(data: Tensor, along: Sequence[int], dtype: str) -> PrimExpr:
    """The number of reduced elements, as a number of a data type."""
    extents = [data.shape[d] for d in along]
    product: PrimExpr = reduce(lambda a, b: a * b, extents, IntImm("int32", 1))
    return const(product.value, dtype) if isinstance(product, IntImm) else cast(dtype, product)


def _mean_reference(data: Array, axis: Axes, keepdims: bool, exclude: bool) -> Array:
    along = _reduced_axes(data, axis, exclude, "mean")
    if data.dtype.kind in "iu":
        total = np.sum(data.astype(_widest(data.dtype.name)), axis=along, keepdims=keepdims)
        count = total.dtype.type(np.maximum(math.prod(data.shape[d] for d in along), 1))
        return np.asarray((total - np.fmod(total, count)) // count).astype(data.dtype)
    return np.asarray(np.mean(data.astype("float64"), axis=along, keepdims=keepdims)).astype(data.dtype)


def _widest(dtype: str) -> str:
    """The data type of exact sums of integers."""
    return "uint64" if dtype.startswith("uint") else "int64"


@operator("mean", Pattern.COMM_REDUCE, _mean_reference)
def mean(data: Tensor, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> Tensor:
    """The mean of the elements along `axis`: their sum divided by their number, of floats of 16 bits in 32 bits. Of
    integers, whose sum has 64 bits, the quotient is rounded toward 0; the mean of no integers is 0.

    axis: one axis, several axes, or None for all axes.  exclude: reduces all other axes.  keepdims: keeps the reduced
    axes with extent 1.
    """
    along = _reduced_axes(data, axis, exclude, "mean")
    if data.data_type.is_float:
        kind = wide_dtype(data)
        count = _count(data, along, kind)
        total = sum(_converted(data, kind), axis, keepdims, exclude)
        return elementwise_tensor(lambda x: cast(data.dtype, x / count), [total], "T_divide")
    require_integers(data, "mean")
    wide = _widest(data.dtype)
    number = Max(_count(data, along, wide), const(1, wide))
    total = sum(_converted(data, wide), axis, keepdims, exclude)
    return elementwise_tensor(lambda x: cast(data.dtype, truncdiv(x, number)), [total], "T_divide")


def _variance_reference(data: Array, axis: Axes, keepdims: bool, exclude: bool, unbiased: bool) -> Array:
    along = _reduced_axes(data, axis, exclude, "variance")
    wide = data.astype("float64")
    squares = np.sum((wide - np.mean(wide, axis=along, keepdims=True)) ** 2, axis=along, keepdims=keepdims)
    with np.errstate(all="ignore"):
        result = np.divide(squares, np.prod([data.shape[d] for d in along]) - int(unbiased))
    return np.asarray(result).astype(data.dtype)


@operator("variance", Pattern.COMM_REDUCE, _variance_reference)
def variance(
    data: Tensor, axis: Axes = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> Tensor:
    """The variance of the elements along `axis`: the mean of their squared deviations from their mean.

    axis: one axis, several axes, or None for all axes.  exclude: reduces all other axes.  keepdims: keeps the reduced
    axes with extent 1.  unbiased: divides the sum of squares by the number of elements less one. Floats of 16 bits are
    computed in 32 bits.
    """
    require_floats(data, "variance")
    kind = wide_dtype(data)
    count, wide = _count(data, _reduced_axes(data, axis, exclude, "variance"), kind), _converted(data, kind)
    centred = elementwise_tensor(lambda x, m: x - m, [wide, mean(wide, axis, True, exclude)], "T_subtract")
    squares = elementwise_tensor(lambda x: x * x, [centred], "T_multiply")
    divisor = count - const(1, kind) if unbiased else count
    total = sum(squares, axis, keepdims, exclude)
    return elementwise_tensor(lambda x: cast(data.dtype, x / divisor), [total], "T_divide")


def _converted(data: Tensor, dtype: str) -> Tensor:
    """The tensor in a data type."""
    return data if data.dtype == dtype else elementwise_tensor(lambda x: cast(dtype, x), [data], "T_cast")


def row_major_position(data: Tensor, along: Sequence[int], indices: Sequence[PrimExpr]) -> PrimExpr:
    """The row-major index of an element among the reduced elements, as int32. TeError for 2**31 elements or more."""
    count = math.prod(known_extent(data.shape[d]) or 1 for d in along)
    if count > 2**31:
        raise TeError(f"positions of type int32 among {count} elements, expected at most {2**31}")
    index: PrimExpr = IntImm("int32", 0)
    for n, d in enumerate(along):
        index = cast("int32", indices[d]) if not n else index * cast("int32", data.shape[d]) + cast("int32", indices[d])
    return index


def _arg_reducer(name: str, of_greatest: bool, last: bool = False) -> Callable[..., Any]:
    """The reducer of pairs (position, element) to the greatest or the least element. last: prefers the last of equal
    elements."""

    def better(a: Any, b: Any) -> Any:
        """Whether the first pair is preferred."""
        ahead = a[1] > b[1] if of_greatest else a[1] < b[1]
        earlier = a[0] > b[0] if last else a[0] < b[0]
        return scalar.any(ahead, scalar.all(a[1].equal(b[1]), earlier))

    def combine(a: Any, b: Any) -> Any:
        is_better = better(a, b)
        return Select(is_better, a[0], b[0]), Select(is_better, a[1], b[1])

    limit = least_value if of_greatest else greatest_value

    def identity(place: str, value: str) -> tuple[PrimExpr, PrimExpr]:
        least = -(2**31) if parse_dtype(value).is_float else -1  # numbers have negative positions in `_nan_first`
        return const(least if last else 2**31 - 1, place), limit(value)

    return comm_reducer(combine, identity, name=name)


def _nan_first(place: PrimExpr, value: PrimExpr, of_greatest: bool, last: bool) -> tuple[PrimExpr, PrimExpr]:
    """The pair (position, element) of a float whose order has NaN before all numbers.

    NaN becomes the best number. Among equal elements the sign of the position decides: NaN and numbers have positions
    of different signs, 2**31 apart, which leaves one comparison that schedules may factor.
    """
    is_nan, far = scalar.isnan(value), place + const(-(2**31), "int32")
    limit = greatest_value if of_greatest else least_value
    position = Select(is_nan, place, far) if last else Select(is_nan, far, place)
    return position, Select(is_nan, limit(value.dtype), value)


def _position_of(place: PrimExpr) -> PrimExpr:
    """The position in a pair of `_nan_first`."""
    return Select(place < 0, place - const(-(2**31), "int32"), place)


argmax_reducer = _arg_reducer("place_of_greatest", True)


def _arg(name: str, of_greatest: bool, meaning: str) -> Any:
    """Defines a reduction to the index of the greatest or the least element. meaning: the start of its summary."""

    def formula(
        data: Tensor,
        axis: Axes = None,
        keepdims: bool = False,
        exclude: bool = False,
        select_last_index: bool = False,
    ) -> Tensor:
        if data.data_type.is_bool:
            raise TeError(f"{name} of bool, expected numbers")
        along = _reduced_axes(data, axis, exclude, name)
        if not along:
            return elementwise_tensor(lambda x: const(0, "int32"), [data], f"T_{name}")
        reducer, is_float = _arg_reducer(name, of_greatest, select_last_index), data.data_type.is_float

        def combine(at: Any, over: list[IterVar], index: Sequence[PrimExpr]) -> Any:
            pair = row_major_position(data, along, index), at(index)
            return reducer(_nan_first(*pair, of_greatest, select_last_index) if is_float else pair, axis=over)

        positions, _ = _reduce(data, along, keepdims, combine, f"{name}_red_temp")
        return elementwise_tensor(_position_of if is_float else lambda x: x, [positions], f"T_{name}")

    def reduce_array(
        data: Array,
        axis: Axes,
        keepdims: bool,
        exclude: bool,
        select_last_index: bool,
    ) -> Array:
        along = _reduced_axes(data, axis, exclude, name)
        if not along:
            return np.zeros(data.shape, "int32")
        kept = [d for d in range(data.ndim) if d not in along]
        count = math.prod(data.shape[d] for d in along)
        flat = data.transpose(*kept, *along).reshape(*(data.shape[d] for d in kept), count)
        find = np.argmax if of_greatest else np.argmin
        indices = flat.shape[-1] - 1 - find(flat[..., ::-1], -1) if select_last_index else find(flat, -1)
        shape = [1 if d in along else n for d, n in enumerate(data.shape) if keepdims or d not in along]
        return np.asarray(indices).astype("int32").reshape(shape)

    formula.__name__ = formula.__qualname__ = name
    formula.__doc__ = f"""{meaning} along `axis`, as an int32; along several axes, the row-major index.

    axis: one axis, several axes, or None for all axes.  exclude: reduces all other axes.  keepdims: keeps the reduced
    axes with extent 1.  select_last_index: prefers the last of several equal elements, not the first. NaN is
    preferred to all numbers.
    """
    return operator(name, Pattern.COMM_REDUCE, reduce_array)(formula)


argmax = _arg("argmax", True, "The index of the greatest element")
argmin = _arg("argmin", False, "The index of the least element")
