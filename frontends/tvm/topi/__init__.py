"""The module `tvm.topi`, as of v0.16: operators on tensors with TVM's names and order of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.errors import UnsupportedError
from ....expressions.errors import TeError
from ....expressions.functions import all as all_of
from ....expressions.functions import floordiv as floordiv_of
from ....expressions.functions import floormod as floormod_of
from ....expressions.functions import if_then_else
from ....expressions.tensor import Tensor, compute
from ....operators import coordinates, indexing, layouts, scans, sorting
from ....operators import einsum as _einsum
from ....operators import math as _math
from ....operators import transform as _transform
from ....operators.axes import Axes
from ....operators.broadcast import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    divide,
    equal,
    floor_divide,
    floor_mod,
    greater,
    greater_equal,
    left_shift,
    less,
    less_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mod,
    multiply,
    not_equal,
    power,
    right_shift,
    subtract,
)
from ....operators.coordinates import invert_permutation, unravel_index
from ....operators.filling import arange as _arange
from ....operators.filling import full as _full
from ....operators.filling import full_like, trilu
from ....operators.fixed_point import fixed_point_multiply
from ....operators.indexing import gather_nd, reverse_sequence, scatter_elements, scatter_nd, sequence_mask
from ....operators.like import collapse_sum_to as collapse_sum
from ....operators.like import ndarray_size
from ....operators.like import shape_of as shape
from ....operators.math import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    bitwise_not,
    ceil,
    clip,
    cos,
    cosh,
    erf,
    exp,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    log2,
    log10,
    logical_not,
    negative,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from ....operators.math import cast_to as cast
from ....operators.math import copy as identity
from ....operators.reduction import all, any, max, min, prod, sum
from ....operators.reduction import argmax as _argmax
from ....operators.reduction import argmin as _argmin
from ....operators.sorting import sort
from ....operators.transform import (
    broadcast_to,
    expand_dims,
    one_hot,
    repeat,
    reshape,
    sliding_window,
    split,
    squeeze,
    tile,
    transpose,
    where,
)
from ..absent import report_absent
from . import cuda, generic, image, nn, random, sparse, tag, testing, util, utils, x86
from .utils import get_const_int

__getattr__ = report_absent("tvm.topi")

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "adv_index",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_add",
    "broadcast_div",
    "broadcast_maximum",
    "broadcast_minimum",
    "broadcast_mul",
    "broadcast_sub",
    "broadcast_to",
    "cast",
    "ceil",
    "clip",
    "collapse_sum",
    "concatenate",
    "cos",
    "cosh",
    "cuda",
    "cumprod",
    "cumsum",
    "div",
    "divide",
    "einsum",
    "elemwise_sum",
    "equal",
    "erf",
    "exp",
    "expand_dims",
    "fixed_point_multiply",
    "flip",
    "floor",
    "floor_divide",
    "floor_mod",
    "floordiv",
    "floormod",
    "full",
    "full_like",
    "gather",
    "gather_nd",
    "generic",
    "greater",
    "greater_equal",
    "identity",
    "image",
    "invert_permutation",
    "isfinite",
    "isinf",
    "isnan",
    "layout_transform",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_set_diag",
    "max",
    "maximum",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "multiply",
    "ndarray_size",
    "negative",
    "nn",
    "not_equal",
    "one_hot",
    "power",
    "prod",
    "random",
    "reinterpret",
    "repeat",
    "reshape",
    "reverse_sequence",
    "right_shift",
    "round",
    "rsqrt",
    "scatter_elements",
    "scatter_nd",
    "searchsorted",
    "sequence_mask",
    "shape",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "slice_scatter",
    "sliding_window",
    "sort",
    "sparse",
    "sparse_to_dense",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "strided_slice",
    "subtract",
    "sum",
    "tag",
    "take",
    "tan",
    "tanh",
    "tensordot",
    "testing",
    "tile",
    "topk",
    "transpose",
    "trilu",
    "trunc",
    "unravel_index",
    "util",
    "utils",
    "where",
    "x86",
]  # fmt: skip


broadcast_add, broadcast_sub, broadcast_mul, broadcast_div = add, subtract, multiply, divide
broadcast_maximum, broadcast_minimum = maximum, minimum
"""The operators by their names until v0.3."""


def full(shape: Sequence[int], dtype: str, fill_value: float) -> Tensor:
    """A tensor filled with one number."""
    return _full(fill_value, shape, dtype)


def arange(start: float, stop: float | None = None, step: float = 1, dtype: str = "float32") -> Tensor:
    """The numbers from `start` up to `stop`, exclusive; from 0 up to `start` if `stop` is missing."""
    return _arange(start, stop, step, dtype)


def argmax(data: Tensor, axis: Axes = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
    """The index of the greatest element along axes, as an int32."""
    return _argmax(data, axis, keepdims, select_last_index=select_last_index)


def argmin(data: Tensor, axis: Axes = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
    """The index of the least element along axes, as an int32."""
    return _argmin(data, axis, keepdims, select_last_index=select_last_index)


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The concatenation of tensors along an axis."""
    return _transform.concatenate(*a_tuple, axis=axis)


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape, stacked along a new axis."""
    return _transform.stack(*tensors, axis=axis)


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """The elements along an axis in reverse order."""
    return _transform.reverse(a, axis)


def take(a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Tensor:
    """The elements, or slices along an axis, at the positions `indices`."""
    return _transform.take(a, indices, axis, batch_dims, mode)


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

    UnsupportedError for other modes.
    """
    if slice_mode == "size":
        ends = zip(begin, end, strict=True)
        last = [2**31 - 1 if count < 0 else first + count for first, count in ends]
        return _transform.strided_slice(a, begin, last, None, axes)
    if slice_mode != "end":
        raise UnsupportedError(f"strided_slice with slice_mode {slice_mode!r}, expected 'end' or 'size'")
    return _transform.strided_slice(a, begin, end, strides, axes)


# By indices


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    """The elements of `data` at the positions `indices` along an axis, and at their own positions along the others."""
    return indexing.gather(data, indices, axis)


def adv_index(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """The elements, or slices, of `data` at the indices in tensors whose shapes broadcast."""
    return coordinates.adv_index(data, *indices)


def meshgrid(a_tuple: Sequence[Tensor], indexing: str) -> list[Tensor]:
    """The coordinates of the points of a grid, a tensor for each axis."""
    return coordinates.meshgrid(*a_tuple, indexing=indexing)


def sparse_to_dense(
    sparse_indices: Tensor, output_shape: Sequence[int], sparse_values: Tensor, default_value: float = 0
) -> Tensor:
    """A tensor with values at some indices, and one number elsewhere."""
    rest = _full(default_value, (), sparse_values.dtype)
    return coordinates.sparse_to_dense(sparse_indices, sparse_values, rest, output_shape)


def matrix_set_diag(data: Tensor, diagonal: Tensor, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices in which a diagonal, or the diagonals from `k[0]` to `k[1]`, are replaced."""
    return coordinates.matrix_set_diag(data, diagonal, **coordinates.diagonal_attributes(k, align))


# Orders


def argsort(
    data: Tensor, valid_count: Tensor | None = None, axis: int = -1, is_ascend: bool = True, dtype: str = "float32"
) -> Tensor:
    """The indices that sort the elements along an axis. UnsupportedError for valid_count."""
    if valid_count is not None:
        raise UnsupportedError("argsort with valid_count is not supported yet")
    return sorting.argsort(data, axis, is_ascend, dtype)


def topk(
    data: Tensor, k: int = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int64"
) -> Any:
    """The k greatest elements along an axis in descending order, and their indices; the k least with `is_ascend`."""
    return sorting.topk(data, k, axis, ret_type, is_ascend, dtype)


def searchsorted(sorted_sequence: Tensor, values: Tensor, right: bool = False, out_dtype: str = "int64") -> Tensor:
    """The insertion positions of `values` in an ascending sequence."""
    return sorting.searchsorted(sorted_sequence, values, right, out_dtype)


# Sums


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Tensor:
    """The cumulative sums along an axis, or of all elements in row-major order."""
    return scans.cumsum(data, axis, dtype or "", bool(exclusive))


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Tensor:
    """The cumulative products along an axis, or of all elements in row-major order."""
    return scans.cumprod(data, axis, dtype or "", bool(exclusive))


def einsum(subscripts: str, *operand: Tensor) -> Tensor:
    """The Einstein summation of tensors: sums of products of their elements over named axes."""
    return _einsum.einsum(*operand, equation=subscripts)


floordiv, floormod = floor_divide, floor_mod
div = divide


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """The product of two matrices, each perhaps transposed."""
    return nn.matmul(a, b, transp_a, transp_b)


def tensordot(a: Tensor, b: Tensor, axes: int | Sequence[int] | Sequence[Sequence[int]]) -> Tensor:
    """The sums of products over some axes of two tensors, which the others of both follow.

    axes: the number of last axes of `a` and first axes of `b`, or the axis of each, or the axes of each.
    """
    if isinstance(axes, int):
        pairs = [(a.ndim - axes + n, n) for n in range(axes)]
    else:
        ours, theirs = ([each] if isinstance(each, int) else list(each) for each in axes)
        pairs = [(m % a.ndim, n % b.ndim) for m, n in zip(ours, theirs, strict=True)]
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left = [next(letters) for _ in range(a.ndim)]
    summed = {n: left[m] for m, n in pairs}
    right = [summed.get(n) or next(letters) for n in range(b.ndim)]
    rest = [each for each in (*left, *right) if each not in summed.values()]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(rest)}", a, b)


def reinterpret(x: Tensor, dtype: str) -> Tensor:
    """The bits of each element as another data type of the same width."""
    return _math.reinterpret(x, dtype)


def layout_transform(array: Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None") -> Tensor:
    """A tensor with its axes in another order, or in blocks (`NCHW` to `NCHW4c`). schedule_rule: ignored; names a
    tuner's rule."""
    return layouts.layout_transform(array, src_layout, dst_layout)


def slice_scatter(input_tensor: Tensor, src: Tensor, start: int, end: int, step: int, axis: int = 0) -> Tensor:
    """A tensor in which the elements from `start` up to `end`, exclusive, along an axis are those of `src`.

    step: from one of these elements to the next. TeError for a `src` of another number of elements along the axis.
    """
    along = axis % input_tensor.ndim
    first, last, _ = slice(start, end, step).indices(get_const_int(input_tensor.shape[along]))
    count = len(range(first, last, step))
    if step < 1 or get_const_int(src.shape[along]) != count:
        raise TeError(f"slice_scatter: src of shape {list(src.shape)} and step {step}, expected {count} along {along}")

    def element(*axes: Any) -> Any:
        place = axes[along] - first
        inside = [*axes[:along], floordiv_of(place, step), *axes[along + 1 :]]
        chosen = all_of(place >= 0, axes[along] < last, floormod_of(place, step).equal(0))
        return if_then_else(chosen, src(*inside), input_tensor(*axes))

    return compute(input_tensor.shape, element, name="slice_scatter")


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of the same shape."""
    if not xs:
        raise TeError("elemwise_sum: no tensor")
    result = xs[0]
    for each in xs[1:]:
        result = add(result, each)
    return result
