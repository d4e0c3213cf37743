"""Operators: `relay.op.add`, `relay.op.nn.dense`, each with the parameters of its definition unless its signature in
Relay, as of v0.16, differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.errors import UnsupportedError
from ...expressions.errors import TeError
from ...operators import OPERATORS, Operator, operator_of
from ...operators.axes import Axes
from ...operators.coordinates import diagonal_attributes
from ...operators.layouts import Layout
from . import image, nn, random, vision
from .expr import Constant, Expr, Tuple, TupleWrapper, as_expr, call, flat_operands
from .host import HOST_OPERATORS, host_call, host_operator, require_ranks
from .operators import call_operator, constant_number, constant_numbers, operator_function, relay_function
from .types import Any_, TensorType, TupleType, Type

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
    "argwhere",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "broadcast_to_like",
    "cast",
    "cast_like",
    "ceil",
    "clip",
    "collapse_sum_like",
    "collapse_sum_to",
    "concatenate",
    "contrib_reverse_reshape",
    "copy",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "dft",
    "divide",
    "einsum",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "eye",
    "fixed_point_multiply",
    "floor",
    "floor_divide",
    "floor_mod",
    "full",
    "full_like",
    "gather",
    "gather_nd",
    "greater",
    "greater_equal",
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
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "matrix_set_diag",
    "max",
    "maximum",
    "mean",
    "mean_std",
    "mean_variance",
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
    "ones",
    "ones_like",
    "power",
    "prod",
    "random",
    "reinterpret",
    "repeat",
    "reshape",
    "reshape_like",
    "reverse",
    "reverse_reshape",
    "reverse_sequence",
    "right_shift",
    "round",
    "rsqrt",
    "scatter_elements",
    "scatter_nd",
    "searchsorted",
    "segment_sum",
    "sequence_mask",
    "shape_of",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "slice_like",
    "sliding_window",
    "sort",
    "sparse_fill_empty_rows",
    "sparse_reshape",
    "sparse_to_dense",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "std",
    "stft",
    "strided_set",
    "strided_slice",
    "subtract",
    "sum",
    "take",
    "tan",
    "tanh",
    "tile",
    "topk",
    "transpose",
    "trilu",
    "trunc",
    "trunc_divide",
    "trunc_mod",
    "unique",
    "unravel_index",
    "variance",
    "vision",
    "where",
    "zeros",
    "zeros_like",
]
"""The names in `relay`."""

abs = operator_function("abs")
acos = operator_function("acos")
acosh = operator_function("acosh")
add = operator_function("add")
all = operator_function("all")
any = operator_function("any")
argmax = operator_function("argmax")
argmin = operator_function("argmin")
asin = operator_function("asin")
asinh = operator_function("asinh")
atan = operator_function("atan")
atan2 = operator_function("atan2")
atanh = operator_function("atanh")
bitwise_and = operator_function("bitwise_and")
bitwise_not = operator_function("bitwise_not")
bitwise_or = operator_function("bitwise_or")
bitwise_xor = operator_function("bitwise_xor")
broadcast_to = operator_function("broadcast_to")
cast = operator_function("cast")
broadcast_to_like = operator_function("broadcast_to_like")
cast_like = operator_function("cast_like")
collapse_sum_like = operator_function("collapse_sum_like")
collapse_sum_to = operator_function("collapse_sum_to")
ndarray_size = operator_function("ndarray_size")
reshape_like = operator_function("reshape_like")
shape_of = operator_function("shape_of")
slice_like = operator_function("slice_like")
sliding_window = operator_function("sliding_window")
ceil = operator_function("ceil")
concatenate = operator_function("concatenate")
copy = operator_function("copy")
cos = operator_function("cos")
cosh = operator_function("cosh")
dft: Callable[..., Any] = operator_function("dft")
divide = operator_function("divide")
einsum = operator_function("einsum")
equal = operator_function("equal")
erf = operator_function("erf")
exp = operator_function("exp")
exp2 = operator_function("exp2")
expand_dims = operator_function("expand_dims")
eye = operator_function("eye")
fixed_point_multiply = operator_function("fixed_point_multiply")
floor = operator_function("floor")
floor_divide = operator_function("floor_divide")
floor_mod = operator_function("floor_mod")
greater = operator_function("greater")
greater_equal = operator_function("greater_equal")
invert_permutation = operator_function("invert_permutation")
isfinite = operator_function("isfinite")
isinf = operator_function("isinf")
isnan = operator_function("isnan")
left_shift = operator_function("left_shift")
less = operator_function("less")
less_equal = operator_function("less_equal")
log = operator_function("log")
log10 = operator_function("log10")
log1p = operator_function("log1p")
log2 = operator_function("log2")
logical_and = operator_function("logical_and")
logical_not = operator_function("logical_not")
logical_or = operator_function("logical_or")
logical_xor = operator_function("logical_xor")
max = operator_function("max")
maximum = operator_function("maximum")
mean = operator_function("mean")
min = operator_function("min")
minimum = operator_function("minimum")
mod = trunc_mod = operator_function("mod")
multiply = operator_function("multiply")
negative = operator_function("negative")
not_equal = operator_function("not_equal")
ones = operator_function("ones")
ones_like = operator_function("ones_like")
power = operator_function("power")
prod = operator_function("prod")
reinterpret = operator_function("reinterpret")
repeat = operator_function("repeat")
reverse = operator_function("reverse")
contrib_reverse_reshape = reverse_reshape = operator_function("contrib_reverse_reshape")
reverse_sequence = operator_function("reverse_sequence")
right_shift = operator_function("right_shift")
round = operator_function("round")
rsqrt = operator_function("rsqrt")
scatter_elements = operator_function("scatter_elements")
scatter_nd = operator_function("scatter_nd")
searchsorted = operator_function("searchsorted")
sequence_mask = operator_function("sequence_mask")
sigmoid = operator_function("sigmoid")
sign = operator_function("sign")
sin = operator_function("sin")
sinh = operator_function("sinh")
sparse_reshape: Callable[..., Any] = operator_function("sparse_reshape")
split: Callable[..., Any] = operator_function("split")
sqrt = operator_function("sqrt")
squeeze = operator_function("squeeze")
stack = operator_function("stack")
subtract = operator_function("subtract")
sum = operator_function("sum")
take = operator_function("take")
tan = operator_function("tan")
tanh = operator_function("tanh")
tile = operator_function("tile")
transpose = operator_function("transpose")
trunc = operator_function("trunc")
trunc_divide = operator_function("trunc_divide")
unravel_index = operator_function("unravel_index")
where = operator_function("where")
zeros = operator_function("zeros")
zeros_like = operator_function("zeros_like")


def get(op_name: str) -> Operator:
    """The operator called `op_name`. UnknownOperatorError if no operator has the name."""
    is_of_host = op_name in HOST_OPERATORS and op_name not in OPERATORS
    return HOST_OPERATORS[op_name] if is_of_host else operator_of(op_name)


# Numbers


@relay_function("arange")
def arange(start: Any, stop: Any = None, step: Any = None, dtype: str = "float32") -> Expr:
    """The numbers from `start` up to `stop`, exclusive; from 0 up to `start` if `stop` is missing."""
    ends = [constant_number(each, "arange") for each in (start, stop, step)]
    return call("arange", start=ends[0], stop=ends[1], step=ends[2], dtype=dtype)


@relay_function("full", "fill_value")
def full(fill_value: Any, shape: Sequence[int] = (), dtype: str = "") -> Expr:
    """A tensor filled with one number. dtype: by default the data type of the number."""
    value = as_expr(fill_value)
    if isinstance(value, Constant) and value.data.ndim == 0:
        numbers = {"shape": constant_numbers(shape, "full"), "dtype": dtype or value.data.dtype.name}
        return call("full", fill_value=+value.data.item(), **numbers)
    extents = constant_numbers(shape, "full")
    return call("broadcast_to", call("cast", value, dtype=dtype) if dtype else value, shape=extents)


@relay_function("full_like", "fill_value")
def full_like(data: Expr, fill_value: Any) -> Expr:
    """A tensor of the shape and data type of `data`, filled with one number."""
    value = as_expr(fill_value)
    if isinstance(value, Constant) and value.data.ndim == 0:
        return call("full_like", data, fill_value=+value.data.item())
    return call("broadcast_to_like", call("cast_like", value, data), data)


@relay_function("one_hot")
def one_hot(indices: Expr, on_value: Any, off_value: Any, depth: int, axis: int = -1, dtype: str = "float32") -> Expr:
    """One-hot encoding along a new axis: `on_value` at the position given by `indices`, `off_value` elsewhere."""
    numbers = {"on_value": constant_number(on_value, "one_hot"), "off_value": constant_number(off_value, "one_hot")}
    return call("one_hot", indices, **numbers, depth=depth, axis=axis, dtype=dtype)


@relay_function("clip")
def clip(a: Expr, a_min: float, a_max: float) -> Expr:
    """Clips each element to the interval from `a_min` to `a_max`."""
    return call("clip", a, a_min=a_min, a_max=a_max)


@relay_function("trilu")
def trilu(data: Expr, k: Any, upper: bool = True) -> Expr:
    """The upper or lower triangle of matrices, including the diagonal `k`; 0 elsewhere."""
    return call("trilu", data, k=constant_number(k, "trilu"), upper=upper)


# Shapes and parts


@relay_function("reshape")
def reshape(data: Expr, newshape: Any, allowzero: bool = False) -> Expr:
    """The elements in row-major order in another shape. UnsupportedError for sizes of 0 with `allowzero`."""
    sizes = constant_numbers(newshape, "reshape")
    if allowzero and 0 in sizes:
        raise UnsupportedError(f"reshape: newshape {sizes} with allowzero is not supported yet")
    return call("reshape", data, newshape=sizes)


@relay_function("strided_slice")
def strided_slice(
    data: Expr, begin: Any, end: Any, strides: Any = None, axes: Any = None, slice_mode: str = "end"
) -> Expr:
    """A slice of `data` along axes, with the meaning of Python's `data[begin:end:stride]`.

    Shorter lists leave starts, ends and strides of the last axes to Python's defaults.  slice_mode: "end", or "size" if
    `end` holds numbers of elements, -1 for all. TeError for any other mode.
    """
    first, last, steps = (constant_numbers(each, "strided_slice") for each in (begin, end, strides))
    if slice_mode not in ("end", "size"):
        raise TeError(f"strided_slice: slice_mode {slice_mode!r}, expected 'end' or 'size'")
    if slice_mode == "size":
        last = [_FAR if count < 0 else at + count for at, count in zip(first, last, strict=False)]
        steps = None
    count = _greatest_length(first, last, steps or ()) if axes is None else len(axes)
    return call("strided_slice", data, **_slice_attributes(first, last, steps, count), axes=axes)


def _greatest_length(*lists: Sequence[Any]) -> int:
    return sorted(map(len, lists))[-1]


def _slice_attributes(
    first: Sequence[int], last: Sequence[int], steps: Sequence[int] | None, count: int
) -> dict[str, Any]:
    """The attributes of a slice along a number of axes, with Python's defaults for the last ones."""
    if steps is not None:
        steps = [*steps, *[1] * (count - len(steps))]
    forward = [True] * count if steps is None else [step > 0 for step in steps]
    begin = [*first, *(0 if up else _FAR for up in forward[len(first) :])]
    return {"begin": begin, "end": [*last, *(_FAR if up else -_FAR for up in forward[len(last) :])], "strides": steps}


@relay_function("strided_set")
def strided_set(data: Expr, v: Expr, begin: Any, end: Any, strides: Any = None) -> Expr:
    """A copy of `data` in which a slice is replaced by `v`, as by Python's `data[begin:end:stride] = v`.

    Shorter lists leave starts, ends and strides of the last axes to Python's defaults.
    """
    first, last, steps = (constant_numbers(each, "strided_set") for each in (begin, end, strides))
    count = _greatest_length(first, last, steps or ())
    return call("strided_set", data, v, **_slice_attributes(first, last, steps, count))


_FAR = 2**31 - 1
"""The end of a slice that denotes the end of an axis."""


@relay_function("layout_transform")
def layout_transform(data: Expr, src_layout: str, dst_layout: str) -> Expr:
    """Changes the order of the dimensions and their blocks: `layout_transform(x, "NCHW", "NHWC")` is a transpose.

    TeError for layouts of different dimensions.
    """
    source, target = Layout.of(src_layout), Layout.of(dst_layout)
    source.require_dimensions(target)
    if source.text == source.letters and target.text == target.letters:
        return call("transpose", data, axes=[src_layout.index(letter) for letter in dst_layout])
    return call("layout_transform", data, src_layout=src_layout, dst_layout=dst_layout)


@relay_function("gather")
def gather(data: Expr, axis: int, indices: Expr, support_negative_indices: bool = False) -> Expr:
    """The elements of `data` at the positions `indices` along an axis, and at their own positions along the others.
    support_negative_indices: ignored, a negative index counts from the end in any case."""
    return call("gather", data, indices, axis=axis)


@relay_function("gather_nd")
def gather_nd(data: Expr, indices: Expr, batch_dims: int = 0, index_rank: int | None = None) -> Expr:
    """The elements, or slices, at the coordinates held by the columns of `indices`. index_rank: ignored."""
    return call("gather_nd", data, indices, batch_dims=batch_dims)


@relay_function("adv_index", "inputs")
def adv_index(inputs: Any) -> Expr:
    """The elements, or slices, of the first of some tensors at the indices in the others, whose shapes broadcast."""
    return call("adv_index", *flat_operands([as_expr(inputs)]))


# Coordinates


@relay_function("meshgrid", "data")
def meshgrid(data: Any, indexing: str = "ij") -> TupleWrapper:
    """The coordinates of the points of a grid, a tensor for each axis, from the coordinates along each axis."""
    vectors = flat_operands([as_expr(data)])
    return TupleWrapper(call("meshgrid", *vectors, indexing=indexing), len(vectors))


@relay_function("sparse_to_dense", "sparse_values", "default_value")
def sparse_to_dense(sparse_indices: Expr, output_shape: Any, sparse_values: Any, default_value: Any = 0) -> Expr:
    """A tensor with values at some indices, and one number elsewhere."""
    values = (as_expr(sparse_values), as_expr(default_value))
    return call("sparse_to_dense", sparse_indices, *values, output_shape=constant_numbers(output_shape, "shape"))


@relay_function("matrix_set_diag")
def matrix_set_diag(data: Expr, diagonal: Expr, k: Any = 0, align: str = "RIGHT_LEFT") -> Expr:
    """Matrices in which the diagonal `k`, or the diagonals from `k[0]` to `k[1]`, are replaced.

    align: the sides on which shorter diagonals above and below the main one stand in their rows.
    """
    return call("matrix_set_diag", data, diagonal, **diagonal_attributes(constant_numbers(k, "matrix_set_diag"), align))


# Orders


@relay_function("sort")
def sort(data: Expr, axis: int = -1, is_ascend: bool | int = True) -> Expr:
    """The elements along an axis in ascending or descending order; NaN comes last in both."""
    return call("sort", data, axis=axis, is_ascend=bool(is_ascend))


@relay_function("argsort")
def argsort(data: Expr, axis: int = -1, is_ascend: bool | int = True, dtype: str = "int32") -> Expr:
    """The indices that sort the elements along an axis."""
    return call("argsort", data, axis=axis, is_ascend=bool(is_ascend), dtype=dtype)


@relay_function("topk")
def topk(
    data: Expr,
    k: Any = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool | int = False,
    dtype: str = "int32",
) -> Any:
    """The k greatest elements along an axis in descending order, and their indices; the k least with `is_ascend`."""
    attributes = {"k": constant_number(k, "topk"), "axis": axis, "ret_type": ret_type, "dtype": dtype}
    return call_operator("topk", data, is_ascend=bool(is_ascend), **attributes)


# Operators of the host


@host_operator("argwhere", "condition", {})
def _places_type(types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Type:
    return TensorType([Any_(), len(types[0].shape)], "int32")


@relay_function("argwhere")
def argwhere(condition: Expr) -> Expr:
    """The indices of the elements that are not zero, a row for each."""
    return host_call("argwhere", [condition])


@host_operator("unique", "data", {"sorted": True, "return_counts": False})
def _distinct_type(types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Type:
    require_ranks("unique", types, 1)
    data = types[0]
    places = TensorType(data.shape, "int32")
    counts = [places] if attributes["return_counts"] else []
    return TupleType([TensorType(data.shape, data.dtype), places, places, TensorType([1], "int32"), *counts])


@relay_function("unique")
def unique(data: Expr, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
    """The distinct elements; for each its first index; for each element of `data` the index of its equal; the number of
    distinct elements, after which the other results are 0. return_counts: whether the numbers of equals follow."""
    call = host_call("unique", [data], sorted=bool(is_sorted), return_counts=bool(return_counts))
    return TupleWrapper(call, 5 if return_counts else 4)


@host_operator("sparse_fill_empty_rows", "sparse_indices sparse_values dense_shape default_value", {})
def _filled_rows_type(types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Type:
    require_ranks("sparse_fill_empty_rows", types, 2, 1, 1, -1)
    indices, values, *_ = types
    count = Any_()
    rows = [TensorType([count, indices.shape[1]], "int64"), TensorType([count], values.dtype)]
    return TupleType([*rows, TensorType([Any_()], "int64")])


@relay_function("sparse_fill_empty_rows", "default_value")
def sparse_fill_empty_rows(
    sparse_indices: Expr, sparse_values: Expr, dense_shape: Expr, default_value: Any
) -> TupleWrapper:
    """The indices and the values of sparse elements, with an element in the first column of each empty row; and for
    each row 1 if it was empty, else 0.

    sparse_indices: an index tuple in each row, ordered by the first index.  dense_shape: the shape that they are for.
    default_value: the value of the new elements.
    """
    operands = [sparse_indices, sparse_values, dense_shape, default_value]
    return TupleWrapper(host_call("sparse_fill_empty_rows", operands), 3)


# Signals


@relay_function("stft", "window")
def stft(
    data: Expr,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    normalized: bool = False,
    onesided: bool = True,
) -> Expr:
    """The Fourier transforms of overlapping parts of a signal.

    hop_length: by default a quarter of n_fft.  win_length: by default n_fft.  window: the factors of the elements of a
    part, by default 1. The other arguments are those of the operator.
    """
    size = n_fft if win_length is None else win_length
    factors = call("ones", shape=[size], dtype="float32") if window is None else as_expr(window)
    sizes = {"n_fft": n_fft, "hop_length": n_fft // 4 if hop_length is None else hop_length, "win_length": size}
    return call("stft", data, factors, **sizes, normalized=normalized, onesided=onesided)


# Reductions and sums


@relay_function("segment_sum")
def segment_sum(data: Expr, segment_ids: Expr, num_segments: Any = None) -> Expr:
    """The sums of the slices of `data` along the first axis that have one number.

    segment_ids: the number of each slice.  num_segments: the number of sums, by default the greatest number plus 1.
    """
    if num_segments is None and not isinstance(segment_ids, Constant):
        return segment_sum(data, segment_ids, call("max", segment_ids) + 1)
    count = int(segment_ids.array.max(initial=-1)) + 1 if num_segments is None else num_segments  # pyright: ignore[reportAttributeAccessIssue]
    return call("segment_sum", data, segment_ids, num_segments=int(constant_number(count, "segment_sum")))


@relay_function("cumsum")
def cumsum(data: Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Expr:
    """The cumulative sums along an axis, or of all elements in row-major order."""
    return call("cumsum", data, axis=axis, dtype=dtype or "", exclusive=bool(exclusive))


@relay_function("cumprod")
def cumprod(data: Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Expr:
    """The cumulative products along an axis, or of all elements in row-major order."""
    return call("cumprod", data, axis=axis, dtype=dtype or "", exclusive=bool(exclusive))


@relay_function("variance")
def variance(
    data: Expr,
    axis: Axes = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Expr | None = None,
) -> Expr:
    """The variance of the elements along axes. with_mean: their mean, which is recomputed."""
    return call("variance", data, axis=axis, keepdims=keepdims, exclude=exclude, unbiased=unbiased)


@relay_function("std")
def std(data: Expr, axis: Axes = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """The standard deviation of the elements along axes."""
    return call("sqrt", variance(data, axis, keepdims, exclude, unbiased))


@relay_function("mean_variance")
def mean_variance(
    data: Expr, axis: Axes = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
    """The mean and the variance of the elements along axes."""
    mean = call("mean", data, axis=axis, keepdims=keepdims, exclude=exclude)
    return TupleWrapper(Tuple([mean, variance(data, axis, keepdims, exclude, unbiased)]), 2)


@relay_function("mean_std")
def mean_std(
    data: Expr, axis: Axes = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
    """The mean and the standard deviation of the elements along axes."""
    mean = call("mean", data, axis=axis, keepdims=keepdims, exclude=exclude)
    return TupleWrapper(Tuple([mean, call("sqrt", variance(data, axis, keepdims, exclude, unbiased))]), 2)


@relay_function("logsumexp")
def logsumexp(data: Expr, axis: Axes, keepdims: bool = False) -> Expr:
    """The logarithm of the sum of `e ** x` along axes."""
    greatest = call("max", data, axis=axis, keepdims=True)
    powers = call("exp", call("subtract", data, greatest))
    logarithm = call("add", call("log", call("sum", powers, axis=axis, keepdims=True)), greatest)
    return logarithm if keepdims else call("sum", logarithm, axis=axis)
