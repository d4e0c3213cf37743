"""Operators: `relay.op.add`, `relay.op.nn.dense`, each with the parameters of its definition unless its signature in
Relay, as of v0.16, differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.errors import UnsupportedError
from ...expressions.errors import TeError
from ...operators import Operator, operator_of
from ...operators.axes import Axes
from . import image, nn
from .expr import Constant, Expr, Tuple, as_expr, call
from .operators import function_of, make, named, number_of, numbers_of

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
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
    "broadcast_to",
    "cast",
    "ceil",
    "clip",
    "concatenate",
    "copy",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "divide",
    "einsum",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "eye",
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
    "max",
    "maximum",
    "mean",
    "mean_variance",
    "min",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "nn",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "power",
    "prod",
    "reinterpret",
    "repeat",
    "reshape",
    "reverse",
    "reverse_sequence",
    "right_shift",
    "round",
    "rsqrt",
    "scatter_elements",
    "scatter_nd",
    "searchsorted",
    "sequence_mask",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sort",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "std",
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
    "variance",
    "where",
    "zeros",
    "zeros_like",
]
"""The names in `relay`."""

abs = function_of("abs")
acos = function_of("acos")
acosh = function_of("acosh")
add = function_of("add")
all = function_of("all")
any = function_of("any")
argmax = function_of("argmax")
argmin = function_of("argmin")
asin = function_of("asin")
asinh = function_of("asinh")
atan = function_of("atan")
atanh = function_of("atanh")
bitwise_and = function_of("bitwise_and")
bitwise_not = function_of("bitwise_not")
bitwise_or = function_of("bitwise_or")
bitwise_xor = function_of("bitwise_xor")
broadcast_to = function_of("broadcast_to")
cast = function_of("cast")
ceil = function_of("ceil")
concatenate = function_of("concatenate")
copy = function_of("copy")
cos = function_of("cos")
cosh = function_of("cosh")
divide = function_of("divide")
einsum = function_of("einsum")
equal = function_of("equal")
erf = function_of("erf")
exp = function_of("exp")
exp2 = function_of("exp2")
expand_dims = function_of("expand_dims")
eye = function_of("eye")
floor = function_of("floor")
floor_divide = function_of("floor_divide")
floor_mod = function_of("floor_mod")
greater = function_of("greater")
greater_equal = function_of("greater_equal")
isfinite = function_of("isfinite")
isinf = function_of("isinf")
isnan = function_of("isnan")
left_shift = function_of("left_shift")
less = function_of("less")
less_equal = function_of("less_equal")
log = function_of("log")
log10 = function_of("log10")
log1p = function_of("log1p")
log2 = function_of("log2")
logical_and = function_of("logical_and")
logical_not = function_of("logical_not")
logical_or = function_of("logical_or")
logical_xor = function_of("logical_xor")
max = function_of("max")
maximum = function_of("maximum")
mean = function_of("mean")
min = function_of("min")
minimum = function_of("minimum")
mod = function_of("mod")
multiply = function_of("multiply")
negative = function_of("negative")
not_equal = function_of("not_equal")
ones = function_of("ones")
ones_like = function_of("ones_like")
power = function_of("power")
prod = function_of("prod")
reinterpret = function_of("reinterpret")
repeat = function_of("repeat")
reverse = function_of("reverse")
reverse_sequence = function_of("reverse_sequence")
right_shift = function_of("right_shift")
round = function_of("round")
rsqrt = function_of("rsqrt")
scatter_elements = function_of("scatter_elements")
scatter_nd = function_of("scatter_nd")
searchsorted = function_of("searchsorted")
sequence_mask = function_of("sequence_mask")
sigmoid = function_of("sigmoid")
sign = function_of("sign")
sin = function_of("sin")
sinh = function_of("sinh")
split: Callable[..., Any] = function_of("split")
sqrt = function_of("sqrt")
squeeze = function_of("squeeze")
stack = function_of("stack")
subtract = function_of("subtract")
sum = function_of("sum")
take = function_of("take")
tan = function_of("tan")
tanh = function_of("tanh")
tile = function_of("tile")
transpose = function_of("transpose")
trunc = function_of("trunc")
where = function_of("where")
zeros = function_of("zeros")
zeros_like = function_of("zeros_like")


def get(op_name: str) -> Operator:
    """The operator called `op_name`. UnknownOperatorError if no operator has the name."""
    return operator_of(op_name)


# Numbers


@named("arange")
def arange(start: Any, stop: Any = None, step: Any = None, dtype: str = "float32") -> Expr:
    """The numbers from `start` up to `stop`, exclusive; from 0 up to `start` if `stop` is missing."""
    ends = [number_of(each, "arange") for each in (start, stop, step)]
    return call("arange", start=ends[0], stop=ends[1], step=ends[2], dtype=dtype)


@named("full")
def full(fill_value: Any, shape: Sequence[int] = (), dtype: str = "") -> Expr:
    """A tensor filled with one number. dtype: by default the data type of the number."""
    value = as_expr(fill_value)
    if isinstance(value, Constant) and value.data.ndim == 0:
        return call("full", fill_value=value.data.item(), shape=shape, dtype=dtype or value.data.dtype.name)
    return call("broadcast_to", call("cast", value, dtype=dtype) if dtype else value, shape=shape)


@named("full_like")
def full_like(data: Expr, fill_value: Any) -> Expr:
    """A tensor of the shape and data type of `data`, filled with one number."""
    value = as_expr(fill_value)
    if isinstance(value, Constant) and value.data.ndim == 0:
        return call("full_like", data, fill_value=value.data.item())
    return call("add", call("zeros_like", data), value)


@named("one_hot")
def one_hot(indices: Expr, on_value: Any, off_value: Any, depth: int, axis: int = -1, dtype: str = "float32") -> Expr:
    """One-hot encoding along a new axis: `on_value` at the position given by `indices`, `off_value` elsewhere."""
    numbers = {"on_value": number_of(on_value, "one_hot"), "off_value": number_of(off_value, "one_hot")}
    return call("one_hot", indices, **numbers, depth=depth, axis=axis, dtype=dtype)


@named("clip")
def clip(a: Expr, a_min: float, a_max: float) -> Expr:
    """Clips each element to the interval from `a_min` to `a_max`."""
    return call("clip", a, a_min=a_min, a_max=a_max)


@named("trilu")
def trilu(data: Expr, k: Any, upper: bool = True) -> Expr:
    """The upper or lower triangle of matrices, including the diagonal `k`; 0 elsewhere."""
    return call("trilu", data, k=number_of(k, "trilu"), upper=upper)


# Shapes and parts


@named("reshape")
def reshape(data: Expr, newshape: Any, allowzero: bool = False) -> Expr:
    """The elements in row-major order in another shape. UnsupportedError for sizes of 0 with `allowzero`."""
    sizes = numbers_of(newshape, "reshape")
    if allowzero and 0 in sizes:
        raise UnsupportedError(f"reshape: newshape {sizes} with allowzero is not supported yet")
    return call("reshape", data, newshape=sizes)


@named("strided_slice")
def strided_slice(
    data: Expr, begin: Any, end: Any, strides: Any = None, axes: Any = None, slice_mode: str = "end"
) -> Expr:
    """A slice of `data` along axes, with the meaning of Python's `data[begin:end:stride]`.

    slice_mode: "end", or "size" if `end` holds numbers of elements, -1 for all. TeError for any other mode.
    """
    first, last, steps = (numbers_of(each, "strided_slice") for each in (begin, end, strides))
    if slice_mode not in ("end", "size"):
        raise TeError(f"strided_slice: slice_mode {slice_mode!r}, expected 'end' or 'size'")
    if slice_mode == "size":
        last = [2**31 - 1 if count < 0 else at + count for at, count in zip(first, last, strict=False)]
        steps = None
    return call("strided_slice", data, begin=first, end=last, strides=steps, axes=axes)


@named("layout_transform")
def layout_transform(data: Expr, src_layout: str, dst_layout: str) -> Expr:
    """Permutes the dimensions: `layout_transform(x, "NCHW", "NHWC")`.

    TeError for layouts with different letters, UnsupportedError for blocked dimensions.
    """
    if not (src_layout.isalpha() and dst_layout.isalpha()):
        raise UnsupportedError(f"layout_transform from {src_layout!r} to {dst_layout!r}: blocks are not supported yet")
    if sorted(src_layout) != sorted(dst_layout):
        raise TeError(f"layout_transform: layout {dst_layout!r}, expected the letters of {src_layout!r}")
    return call("transpose", data, axes=[src_layout.index(letter) for letter in dst_layout])


@named("gather")
def gather(data: Expr, axis: int, indices: Expr) -> Expr:
    """The elements of `data` at the positions `indices` along an axis, and at their own positions along the others."""
    return call("gather", data, indices, axis=axis)


@named("gather_nd")
def gather_nd(data: Expr, indices: Expr, batch_dims: int = 0, index_rank: int | None = None) -> Expr:
    """The elements, or slices, at the coordinates held by the columns of `indices`. index_rank: ignored."""
    return call("gather_nd", data, indices, batch_dims=batch_dims)


# Orders


@named("sort")
def sort(data: Expr, axis: int = -1, is_ascend: bool | int = True) -> Expr:
    """The elements along an axis in ascending or descending order; NaN comes last in both."""
    return call("sort", data, axis=axis, is_ascend=bool(is_ascend))


@named("argsort")
def argsort(data: Expr, axis: int = -1, is_ascend: bool | int = True, dtype: str = "int32") -> Expr:
    """The indices that sort the elements along an axis."""
    return call("argsort", data, axis=axis, is_ascend=bool(is_ascend), dtype=dtype)


@named("topk")
def topk(
    data: Expr,
    k: Any = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool | int = False,
    dtype: str = "int32",
) -> Any:
    """The k greatest elements along an axis in descending order, and their indices; the k least with `is_ascend`."""
    attributes = {"k": number_of(k, "topk"), "axis": axis, "ret_type": ret_type, "dtype": dtype}
    return make("topk", data, is_ascend=bool(is_ascend), **attributes)


# Reductions and sums


@named("cumsum")
def cumsum(data: Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Expr:
    """The cumulative sums along an axis, or of all elements in row-major order."""
    return call("cumsum", data, axis=axis, dtype=dtype or "", exclusive=bool(exclusive))


@named("cumprod")
def cumprod(data: Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Expr:
    """The cumulative products along an axis, or of all elements in row-major order."""
    return call("cumprod", data, axis=axis, dtype=dtype or "", exclusive=bool(exclusive))


@named("variance")
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


@named("std")
def std(data: Expr, axis: Axes = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """The standard deviation of the elements along axes."""
    return call("sqrt", variance(data, axis, keepdims, exclude, unbiased))


@named("mean_variance")
def mean_variance(
    data: Expr, axis: Axes = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> Tuple:
    """The mean and the variance of the elements along axes."""
    mean = call("mean", data, axis=axis, keepdims=keepdims, exclude=exclude)
    return Tuple([mean, variance(data, axis, keepdims, exclude, unbiased)])


@named("logsumexp")
def logsumexp(data: Expr, axis: Axes, keepdims: bool = False) -> Expr:
    """The logarithm of the sum of `e ** x` along axes."""
    greatest = call("max", data, axis=axis, keepdims=True)
    powers = call("exp", call("subtract", data, greatest))
    logarithm = call("add", call("log", call("sum", powers, axis=axis, keepdims=True)), greatest)
    return logarithm if keepdims else call("sum", logarithm, axis=axis)
