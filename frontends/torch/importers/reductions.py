"""Importers of reductions, scans, sorts and other operators along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...models.reductions import reduce_along, reduce_to_extreme
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..registry import aten


@aten("sum.dim_IntList", "mean.default", "mean.dim", "prod.default", "prod.dim_int")
def reduce_tensor(call: Call) -> ModelTensor:
    x = call.operand("self", call.result_dtype)
    return reduce_along(call, call.operator, x, call.axes(), call.get("keepdim", False))


@aten("amax.default", "amin.default", "max.default", "min.default")
def extreme(call: Call) -> ModelTensor:
    kind = call.operator.removeprefix("a")
    return reduce_to_extreme(call, kind, call.tensor(), call.axes(), call.get("keepdim", False))


@aten("linalg_vector_norm.default")
def vector_norm(call: Call) -> ModelTensor:
    """The p-norm along axes."""
    x, axes, keep, p = call.operand("self", call.result_dtype), call.axes(), bool(call.get("keepdim")), call.get("ord")
    wide = call.widen_small_floats(x)
    size = call.op("abs", wide)
    if math.isinf(p):
        return call.cast(reduce_to_extreme(call, "max" if p > 0 else "min", size, axes, keep), x.dtype)
    if p == 0:
        powers = call.cast(call.scalar("not_equal", size, 0), wide.dtype)
    else:
        powers = size if p == 1 else call.op("multiply", size, size) if p == 2 else call.scalar("power", size, p)
    total = reduce_along(call, "sum", powers, axes, keep)
    if p not in (0, 1):
        total = call.op("sqrt", total) if p == 2 else call.scalar("power", total, 1 / p)
    return call.cast(total, x.dtype)


@aten("any.default", "any.dim", "any.dims")
def any_true(call: Call) -> ModelTensor:
    x, axes = call.operand("self", "bool"), call.axes()
    result = call.op("any", x, axis=tuple(axes), keepdims=call.get("keepdim", False)) if axes else x
    return call.cast(result, call.result_dtype)


@aten("max.dim", "min.dim")
def extreme_with_index(call: Call) -> list[ModelTensor]:
    x, axis, keep = call.tensor(), call.axis(), call.get("keepdim")
    if not x.rank:
        return [x, call.filled([], 0, "int64")]
    return [reduce_to_extreme(call, call.operator, x, [axis], keep), extreme_index(call, x, axis, keep)]


@aten("argmax.default", "argmin.default")
def arg_extreme(call: Call) -> ModelTensor:
    x, keep = call.tensor(), call.get("keepdim")
    if not x.rank:
        return call.filled([], 0, "int64")
    if call.get("dim") is not None:
        return extreme_index(call, x, call.axis(), keep)
    flat = call.builder.reshape(x, [x.extents.prod()])
    index = extreme_index(call, flat, 0, False)
    return call.builder.reshape(index, [1] * x.rank) if keep else index


def extreme_index(call: Call, x: ModelTensor, axis: int, keep: bool) -> ModelTensor:
    """The index of the maximum or minimum along an axis, by the name of the operator; of the first NaN, if any."""
    name = "argmax" if "max" in call.operator else "argmin"
    wide = call.cast(x, "uint8") if x.dtype == "bool" else x
    index = call.op(name, wide, axis=axis, keepdims=keep)
    if x.is_float:
        is_nan = call.op("isnan", x)
        first = call.op("argmax", call.cast(is_nan, "uint8"), axis=axis, keepdims=keep)
        index = call.op("where", call.op("any", is_nan, axis=axis, keepdims=keep), first, index)
    return call.cast(index, "int64")


@aten("var.correction", "var.dim")
def variance(call: Call) -> ModelTensor:
    return spread(call)[0]


@aten("var_mean.correction", "var_mean.dim")
def variance_and_mean(call: Call) -> list[ModelTensor]:
    return spread(call)


def spread(call: Call) -> list[ModelTensor]:
    """The variance and the mean along axes. The divisor is the number of elements less the correction."""
    x, axes, keep = call.tensor(), call.axes(), bool(call.get("keepdim"))
    wide = call.widen_small_floats(x)
    correction = float(call.get("correction", 1)) if "unbiased" not in call.arguments else float(call.get("unbiased"))
    mean = call.op("mean", wide, axis=tuple(axes), keepdims=True) if axes else wide
    offset = call.op("subtract", wide, mean)
    total = call.op("multiply", offset, offset)
    total = call.op("sum", total, axis=tuple(axes), keepdims=keep) if axes else total
    count = call.as_tensor(math.prod(x.extents[axis] for axis in axes), wide.dtype)
    divisor = call.op("maximum", call.scalar("subtract", count, correction), call.as_tensor(0, wide.dtype))
    mean = mean if keep or not axes else call.op("squeeze", mean, axis=axes)
    return [call.cast(call.op("divide", total, divisor), x.dtype), call.cast(mean, x.dtype)]


@aten("cumsum.default", "cumprod.default")
def cumulative(call: Call) -> ModelTensor:
    x = call.operand("self", call.result_dtype)
    if not x.rank:
        return x
    return call.cast(call.op(call.operator, call.widen_small_floats(x), axis=call.axis()), x.dtype)


@aten("_softmax.default", "_log_softmax.default")
def softmax(call: Call) -> ModelTensor:
    x = call.widen_small_floats(call.tensor())
    if not x.rank:
        return call.filled([], call.operator == "_softmax", call.result_dtype)
    return call.cast(call.op(f"nn.{call.operator[1:]}", x, axis=call.axis()), call.result_dtype)


# Sorts


@aten("sort.default", "sort.stable")
def sort(call: Call) -> list[ModelTensor]:
    x, ascending = call.tensor(), not call.get("descending")
    if not x.rank:
        return [x, call.filled([], 0, "int64")]
    axis = call.axis()
    index = call.op("argsort", _sortable(call, x), axis=axis, is_ascend=ascending, dtype="int64")
    return [call.op("gather", x, index, axis=axis), index]


@aten("topk.default")
def topk(call: Call) -> list[ModelTensor]:
    x, least = call.tensor(), not call.get("largest")
    (count,) = known_integers([call.get("k")], "k of topk")
    if not x.rank or count == 0:
        return [call.filled(_cut(call, x, count), 0, x.dtype), call.filled(_cut(call, x, count), 0, "int64")]
    axis = call.axis()
    wide = _sortable(call, x)
    values, index = call.ops("topk", wide, k=count, axis=axis, is_ascend=least, dtype="int64")
    return [call.cast(values, x.dtype), index]


def _cut(call: Call, x: ModelTensor, count: int) -> Sequence[object]:
    return [count if axis == call.axis() else extent for axis, extent in enumerate(x.extents)]


def _sortable(call: Call, x: ModelTensor) -> ModelTensor:
    return call.cast(x, "uint8") if x.dtype == "bool" else x
