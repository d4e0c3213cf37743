"""The module `tvm.topi`, as of v0.16: operators on tensors with TVM's names and order of arguments."""

from __future__ import annotations

from builtins import all as all_are
from collections.abc import Callable, Sequence
from typing import Any

from ....core.errors import UnsupportedError
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, Select, as_expr
from ....expressions.expr import cast as cast_to
from ....expressions.functions import all as all_of
from ....expressions.functions import ceil as ceil_of
from ....expressions.functions import clz, if_then_else
from ....expressions.functions import floordiv as floordiv_of
from ....expressions.functions import floormod as floormod_of
from ....expressions.functions import log2 as log2_of
from ....expressions.tensor import Tensor, compute, is_same_extent
from ....operators import broadcast, coordinates, indexing, like, scans, sorting, spectra
from ....operators import einsum as _einsum
from ....operators import math as _math
from ....operators import transform as _transform
from ....operators.axes import Axes, nonnegative_axes
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
    subtract,
)
from ....operators.coordinates import invert_permutation, unravel_index
from ....operators.filling import arange as _arange
from ....operators.filling import eye as _eye
from ....operators.filling import full as _full
from ....operators.filling import full_like as _full_like
from ....operators.filling import trilu
from ....operators.fixed_point import fixed_point_multiply as _fixed_point_multiply
from ....operators.indexing import scatter_elements, scatter_nd, sequence_mask
from ....operators.math import (
    bitwise_not,
    logical_not,
)
from ....operators.reduction import all, any, max, min, prod, sum
from ....operators.reduction import argmax as _argmax
from ....operators.reduction import argmin as _argmin
from ....operators.sorting import sort
from ....operators.transform import (
    broadcast_to,
    one_hot,
    sliding_window,
    where,
)
from .. import te
from ..absent import report_absent
from ..former_names import former_names
from ..te import decl_buffer, extern, hybrid
from ..tir import Cast, ir_builder
from ..tir.functions import q_multiply_shift_per_axis
from . import cuda, generic, image, nn, random, sparse, tag, testing, util, utils, vision, x86
from .movement import concatenate, dynamic_strided_slice, layout_transform, strided_slice
from .places import (
    argwhere,
    hybrid_argwhere_1d,
    hybrid_argwhere_2d,
    hybrid_argwhere_3d,
    hybrid_argwhere_4d,
    hybrid_argwhere_5d,
    sparse_fill_empty_rows,
    unique,
)
from .utils import InvalidShapeError, const_vector, get_const_int, get_const_tuple, make_idx, within_index

__getattr__ = report_absent("tvm.topi")

__all__ = [
    "Cast",
    "InvalidShapeError",
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
    "argwhere",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "binary_search",
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
    "ceil_log2",
    "clip",
    "collapse_sum",
    "concatenate",
    "const_vector",
    "cos",
    "cosh",
    "cuda",
    "cumprod",
    "cumsum",
    "decl_buffer",
    "dft",
    "div",
    "divide",
    "dynamic_strided_slice",
    "einsum",
    "elemwise_sum",
    "equal",
    "erf",
    "exp",
    "expand_dims",
    "expand_like",
    "extern",
    "eye",
    "fast_erf",
    "fast_exp",
    "fast_tanh",
    "fixed_point_multiply",
    "fixed_point_multiply_per_axis",
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
    "get_const_tuple",
    "greater",
    "greater_equal",
    "hybrid",
    "hybrid_argwhere_1d",
    "hybrid_argwhere_2d",
    "hybrid_argwhere_3d",
    "hybrid_argwhere_4d",
    "hybrid_argwhere_5d",
    "identity",
    "image",
    "invert_permutation",
    "ir_builder",
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
    "make_idx",
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
    "scanop",
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
    "sparse_fill_empty_rows",
    "sparse_reshape",
    "sparse_to_dense",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "stft",
    "strided_set",
    "strided_slice",
    "subtract",
    "sum",
    "tag",
    "take",
    "tan",
    "tanh",
    "te",
    "tensordot",
    "testing",
    "tile",
    "topk",
    "transpose",
    "trilu",
    "trunc",
    "unique",
    "unravel_index",
    "util",
    "utils",
    "vision",
    "where",
    "within_index",
    "x86",
]  # fmt: skip


# The names of arguments in `tvm.topi`, which differ from those of operators on graphs

(
    abs, acos, acosh, asin, asinh, atan, atanh, ceil, clip, cos, cosh, erf, exp, floor, isfinite, isinf, isnan,
    log, log2, log10, negative, round, rsqrt, sigmoid, sign, sin, sinh, sqrt, tan, tanh, trunc, identity,
    fixed_point_multiply, full_like,
) = map(
    former_names(data="x"),
    (
        _math.abs, _math.acos, _math.acosh, _math.asin, _math.asinh, _math.atan, _math.atanh, _math.ceil,
        _math.clip, _math.cos, _math.cosh, _math.erf, _math.exp, _math.floor, _math.isfinite, _math.isinf,
        _math.isnan, _math.log, _math.log2, _math.log10, _math.negative, _math.round, _math.rsqrt,
        _math.sigmoid, _math.sign, _math.sin, _math.sinh, _math.sqrt, _math.tan, _math.tanh, _math.trunc,
        _math.copy, _fixed_point_multiply, _full_like,
    ),
)  # fmt: skip
fast_exp, fast_tanh, fast_erf = exp, tanh, erf
"""TVM's approximations of functions; the exact functions."""
left_shift, right_shift = map(former_names(lhs="x", rhs="n"), (broadcast.left_shift, broadcast.right_shift))
expand_dims, gather_nd, repeat, reshape, reverse_sequence, squeeze, tile, transpose = map(
    former_names(data="a"),
    (
        _transform.expand_dims, indexing.gather_nd, _transform.repeat, _transform.reshape, indexing.reverse_sequence,
        _transform.squeeze, _transform.tile, _transform.transpose,
    ),
)  # fmt: skip
eye = former_names(rows="n", columns="m")(_eye)
split = former_names(data="ary")(_transform.split)
shape, ndarray_size = map(former_names(data="array"), (like.shape_of, like.ndarray_size))
collapse_sum = former_names(shape="target_shape")(like.collapse_sum_to)


def cast(x: Tensor, dtype: str, span: Any = None) -> Tensor:
    """The elements in another data type. span: ignored; the place in a source file."""
    return _math.cast_to(x, dtype)


def ceil_log2(x: Any) -> PrimExpr:
    """The base-2 logarithm of a positive number, rounded up, in its data type; an exact one of integers."""
    value = as_expr(x)
    if value.data_type.is_float:
        return ceil_of(log2_of(value))
    return value.data_type.bits - cast_to(value.dtype, clz(value - 1))


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


def stack(a: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape, stacked along a new axis."""
    return _transform.stack(*a, axis=axis)


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """The elements along an axis in reverse order."""
    return _transform.reverse(a, axis)


def take(a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Tensor:
    """The elements, or slices along an axis, at the positions `indices`."""
    return _transform.take(a, indices, axis, batch_dims, mode)


def expand_like(a: Tensor, shape_like: Tensor, axis: Sequence[int]) -> Tensor:
    """A tensor with new axes, along which the elements repeat, of the shape of `shape_like`; all of its axes may be new
    for a tensor of one element. TeError unless the other axes are those of `a`."""
    new = {each % shape_like.ndim for each in axis}
    if a.ndim == 1 and len(new) == shape_like.ndim:
        return compute(shape_like.shape, lambda *_: a(0), "expand_like", "broadcast")
    if len(new) + a.ndim != shape_like.ndim:
        raise TeError(f"expand_like: {a.ndim} axes and {len(new)} new ones, expected {shape_like.ndim} together")

    def element(*axes: Any) -> Any:
        return a(*(each for n, each in enumerate(axes) if n not in new))

    return compute(shape_like.shape, element, "expand_like", "broadcast")


def strided_set(a: Tensor, v: Tensor, begin: Tensor, end: Tensor, strides: Tensor | None = None) -> Tensor:
    """A tensor in which the elements from `begin` up to `end`, exclusive, along each axis are those of `v`.

    begin, end, strides: int32 for each axis, by default the strides 1; a negative stride counts from `begin` down.
    TeError for vectors of other sizes.
    """
    for each in (begin, end, *([] if strides is None else [strides])):
        if each.ndim != 1 or each.dtype != "int32" or get_const_int(each.shape[0]) != a.ndim:
            raise TeError(f"strided_set: {each} of {each.dtype}, expected a vector of {a.ndim} int32")

    def element(*axes: Any) -> Any:
        chosen, places = [], []
        for n, axis in enumerate(axes):
            step = 1 if strides is None else strides(n)
            place = axis - begin(n)
            inside = Select(step < 0, all_of(axis <= begin(n), axis > end(n)), all_of(axis >= begin(n), axis < end(n)))
            chosen += [inside, floormod_of(place, step).equal(0)]
            places.append(floordiv_of(place, step))
        return if_then_else(all_of(*chosen), v(*places), a(*axes))

    return compute(a.shape, element, "strided_set", "injective")


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
    sparse_indices: Tensor, output_shape: Sequence[int], sparse_values: Tensor, default_value: float | Tensor = 0
) -> Tensor:
    """A tensor with values at some indices, and one number elsewhere, which may be a tensor without dimensions."""
    is_tensor = isinstance(default_value, Tensor)
    rest = default_value if is_tensor else _full(default_value, (), sparse_values.dtype)
    return coordinates.sparse_to_dense(sparse_indices, sparse_values, rest, output_shape)


def sparse_reshape(
    sparse_indices: Tensor,
    prev_shape: Tensor,
    new_shape: Tensor,
    new_sparse_indices_shape: Any = None,
    new_shape_shape: Any = None,
) -> list[Tensor]:
    """The indices of sparse elements in another shape, and this shape, with a size in place of -1.

    new_sparse_indices_shape, new_shape_shape: ignored; the shapes of the results follow from the operands.
    """
    return coordinates.sparse_reshape(sparse_indices, prev_shape, new_shape)


def matrix_set_diag(data: Tensor, diagonal: Tensor, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices in which a diagonal, or the diagonals from `k[0]` to `k[1]`, are replaced."""
    return coordinates.matrix_set_diag(data, diagonal, **coordinates.diagonal_attributes(k, align))


# Signals


def dft(re_data: Tensor, im_data: Tensor, inverse: Any = False) -> list[Tensor]:
    """The real and the imaginary parts of the discrete Fourier transform along the last axis."""
    return spectra.dft(re_data, im_data, bool(inverse))


def stft(
    data: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    window: Tensor,
    normalized: Any,
    onesided: Any,
    output_shape: Any = None,
) -> Tensor:
    """The Fourier transforms of overlapping parts of a signal. output_shape: ignored; it follows from the operands."""
    return spectra.stft(data, window, n_fft, hop_length, win_length, bool(normalized), bool(onesided))


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


def binary_search(
    ib: ir_builder.IRBuilder,
    sequence_offset: Any,
    search_range: Any,
    sorted_sequence: ir_builder.BufferVar,
    value: Any,
    right: bool,
    out_dtype: str,
) -> PrimExpr:
    """The insertion position of a value in a part of an ascending sequence, found by statements of a builder.

    sequence_offset, search_range: the first element and the number of elements of the part, in row-major order.  right:
    inserts after equal elements.  out_dtype: the data type of the position.
    """
    low, end = (ib.allocate(out_dtype, (1,), name, scope="local") for name in ("low", "end"))
    low[0], end[0] = cast_to(out_dtype, 0), cast_to(out_dtype, search_range)
    with ib.while_loop(low[0] < end[0]):
        middle = ib.let("middle", low[0] + floordiv_of(end[0] - low[0], 2))
        element = sorted_sequence[sequence_offset + middle]
        with ib.if_scope(element <= value if right else element < value):
            low[0] = middle + 1
        with ib.else_scope():
            end[0] = middle
    return low[0]


# Sums


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Tensor:
    """The cumulative sums along an axis, or of all elements in row-major order."""
    return scans.cumsum(data, axis, dtype or "", bool(exclusive))


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Tensor:
    """The cumulative products along an axis, or of all elements in row-major order."""
    return scans.cumprod(data, axis, dtype or "", bool(exclusive))


def scanop(
    data: Tensor,
    binop: Callable[[Any, Any], Any],
    identity_value: Any,
    op_name: str,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """The combination of all elements up to each element along an axis, or in row-major order.

    binop: combines two numbers, associative.  identity_value: its identity element.  op_name: the name of the tensor.
    """
    along = None if axis is None else get_const_int(axis)
    return scans.accumulate(data, binop, identity_value, op_name, along, dtype or "", bool(exclusive))


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


def fixed_point_multiply_per_axis(
    x: Tensor,
    y: Tensor,
    lshift: Tensor,
    rshift: Tensor,
    is_lshift_required: int,
    is_rshift_required: int,
    axes: Sequence[int],
) -> Tensor:
    """The products of int32 and fixed-point numbers of 31 fractional bits along axes, rounded half up.

    y: the fixed-point numbers.  lshift, rshift: the bits by which the elements are shifted left before, and the
    products right after.  is_lshift_required: whether the former are.  is_rshift_required: ignored; a shift to the
    right by 0 changes nothing. TeError for other data types, and for numbers of other shapes.
    """
    along = nonnegative_axes([get_const_int(axis) for axis in axes], x.ndim, "fixed_point_multiply_per_axis")
    for each in (y, lshift, rshift):
        sizes = [x.shape[axis] for axis in along]
        fits = len(each.shape) == len(along) and all_are(map(is_same_extent, each.shape, sizes))
        if not fits or (x.dtype, each.dtype) != ("int32", "int32"):
            given = f"{x.dtype} by {each.dtype}{list(each.shape)}"
            raise TeError(f"fixed_point_multiply_per_axis: {given}, expected int32{sizes} for axes {list(axes)}")

    def element(*i: PrimExpr) -> PrimExpr:
        at = [i[axis] for axis in along]
        shifts = lshift(*at), rshift(*at)
        return q_multiply_shift_per_axis(x(*i), y(*at), *shifts, 31, is_lshift_required, is_rshift_required)

    return compute(x.shape, element, "T_fixed_point_multiply_per_axis", "broadcast")


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of the same shape."""
    if not xs:
        raise TeError("elemwise_sum: no tensor")
    if len(xs) == 1:
        return identity(xs[0])
    result = xs[0]
    for each in xs[1:]:
        result = add(result, each)
    return result
