"""Operators: `relay.op.add`, `relay.op.nn.dense`. The functions below have a signature of their own in Relay, as of
v0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.errors import UnsupportedError
from ...expressions.errors import TeError
from ...operators import Operator, operator_of
from ...operators.axes import Axes
from . import image, nn
from .expr import Constant, Expr, Tuple, as_expr, call
from .operators import functions_in, make, named, number_of, numbers_of

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The function that builds expressions of the operator `name`."""
else:
    globals().update(functions_in(""))


__all__ = ["get", "image", "nn"]


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


def functions() -> dict[str, Any]:
    """The functions of all operators with one-word names, as in `relay`."""
    own = {name: value for name, value in globals().items() if getattr(value, "__module__", "") == __name__}
    return {name: each for name, each in {**functions_in(""), **own}.items() if name not in ("get", "functions")}
