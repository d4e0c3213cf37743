"""Tensors whose elements are those of others at other places, by `tvm.topi` and `tvm.topi.nn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.errors import UnsupportedError
from ....expressions import functions as scalar
from ....expressions.errors import TeError
from ....expressions.expr import IntImm, PrimExpr, as_expr, cast
from ....expressions.tensor import Tensor, compute, is_same_extent
from ....operators import layouts
from ....operators import transform as _transform
from ....operators.elements import element_or_zero
from ....operators.extents import known_extent
from ....operators.indexing import clamp_index
from .utils import const_vector


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The concatenation of tensors along an axis."""
    return _transform.concatenate(*a_tuple, axis=axis)


def strided_slice(
    a: Tensor,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    slice_mode: str = "end",
    assume_inbound: bool = True,
) -> Any:
    """A slice of a tensor along axes. slice_mode: "end", or "size" if `end` holds numbers of elements, -1 for all.
    Bounds may be expressions: then they count from the start, and are elements of the tensor unless `assume_inbound` is
    False.

    UnsupportedError for other modes, and for bounds that are tensors.
    """
    if any(isinstance(each, Tensor) for each in (begin, end, strides)):
        raise UnsupportedError("strided_slice: bounds that are tensors, expected dynamic_strided_slice")
    if any(isinstance(each, PrimExpr) and not isinstance(each, IntImm) for each in (*begin, *end)):
        if slice_mode != "end":
            raise UnsupportedError(f"strided_slice of expressions with slice_mode {slice_mode!r}, expected 'end'")
        return _slice_between(a, begin, end, strides or [1] * len(begin), axes, assume_inbound)
    if slice_mode == "size":
        ends = zip(begin, end, strict=True)
        last = [2**31 - 1 if count < 0 else first + count for first, count in ends]
        return _transform.strided_slice(a, begin, last, None, axes)
    if slice_mode != "end":
        raise UnsupportedError(f"strided_slice with slice_mode {slice_mode!r}, expected 'end' or 'size'")
    return _transform.strided_slice(a, begin, end, strides, axes)


def _slice_between(
    a: Tensor,
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[int],
    axes: Sequence[int] | None,
    is_inside: bool,
) -> Tensor:
    """A slice whose bounds are expressions. is_inside: whether the bounds are known to be elements of the tensor.
    TeError for a stride that is not positive."""
    first: dict[int, tuple[PrimExpr, int]] = {}
    sizes: list[PrimExpr] = list(a.shape)
    for axis, low, high, stride in zip(axes or range(len(begin)), begin, end, strides, strict=True):
        step, axis = int(stride), axis % a.ndim
        if step <= 0:
            raise TeError(f"strided_slice: stride {step} of bounds that are expressions, expected a positive one")
        low, high = (as_expr(each) for each in (low, high))
        if not is_inside:
            low, high = (scalar.max(scalar.min(each, a.shape[axis]), 0) for each in (low, high))
            high = scalar.max(low, high)
        first[axis] = low, step
        sizes[axis] = scalar.floordiv(high - low + (step - 1), step) if step > 1 else high - low

    def element(*indices: PrimExpr) -> PrimExpr:
        places = list(indices)
        for axis, (low, step) in first.items():
            places[axis] = places[axis] * step + low
        return a(*places)

    return compute(sizes, element, "T_strided_slice_with_axes", "injective")


def dynamic_strided_slice(a: Tensor, begin: Any, end: Any, strides: Any, output_shape: Sequence[Any]) -> Tensor:
    """A slice of a tensor along the first axes whose bounds are elements of tensors.

    begin, end, strides: integers for each of these axes, tensors or lists; a negative begin counts from the end, and
    those out of range are the nearest elements.  output_shape: the shape of the result, which the ends say too, so that
    they are not read; elements past the last are the last. TeError for other numbers of integers, and for other sizes
    of the other axes.
    """
    bounds: list[Tensor] = [each if isinstance(each, Tensor) else const_vector(each) for each in (begin, end, strides)]
    counts = {known_extent(each.shape[0]) if each.ndim == 1 else None for each in bounds}
    along = counts.pop() if len(counts) == 1 and all(each.data_type.is_int for each in bounds) else None
    sizes = [as_expr(size) for size in output_shape]
    if (
        along is None
        or not along <= a.ndim == len(sizes)
        or not all(map(is_same_extent, sizes[along:], a.shape[along:]))
    ):
        given = ", ".join(f"{each.dtype}{list(each.shape)}" for each in bounds)
        shapes = f"for output_shape {list(output_shape)} of {list(a.shape)}"
        raise TeError(f"dynamic_strided_slice: {given} {shapes}, expected integers for each axis that differs")
    starts, _, steps = bounds

    def place(d: int, axis: PrimExpr) -> PrimExpr:
        extent = a.shape[d]
        last = cast("int64", extent) - 1
        first = cast("int64", clamp_index(starts(d), extent))
        found = first + cast("int64", axis) * cast("int64", steps(d))
        return cast(extent.dtype, scalar.max(scalar.min(found, last), 0))

    def element(*axes: PrimExpr) -> PrimExpr:
        places = [place(d, axis) for d, axis in enumerate(axes[:along])]
        return element_or_zero(a.shape, a.dtype, lambda: a(*places, *axes[along:]))

    return compute(sizes, element, "T_strided_slice_dynamic", "injective")


def layout_transform(array: Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None") -> Tensor:
    """A tensor with its axes in another order, or in blocks (`NCHW` to `NCHW4c`). schedule_rule: ignored; names a
    tuner's rule."""
    return layouts.layout_transform(array, src_layout, dst_layout)


__all__ = ["concatenate", "dynamic_strided_slice", "layout_transform", "strided_slice"]
