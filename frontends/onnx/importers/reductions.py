"""Importers of reductions, scans and other operators along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype
from ...models.call import normalized_axis
from ...models.data_sizes import call_operator
from ...models.limits import require_created
from ...models.reductions import log_sum_exp, reduce_along, reduce_to_extreme
from ...models.values import ModelTensor, tensor_of_symbols
from ..call import Call
from ..errors import OnnxError
from ..registry import Results, importer
from .data_sizes import computed, computed_scalar, element_count, is_computed
from .shapes import axes_argument

_SINCE = {"ReduceSum": 13}
"""The first version whose axes are an operand; 18 for other operators."""


def reduction_axes(call: Call, data: ModelTensor) -> tuple[int, ...] | None:
    """The axes of a reduction; None for no reduction. A computed list of axes is empty here."""
    axes = () if is_computed(call, 1) else axes_argument(call, 1, _SINCE.get(call.op_type, 18))
    if not axes:
        return None if call.integer("noop_with_empty_axes") else tuple(range(data.rank))
    return tuple(normalized_axis(axis, data.rank) for axis in axes) if data.rank else ()


@importer(
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
def reduce_tensor(call: Call) -> ModelTensor:
    data, keep = call.tensor(), call.integer("keepdims", 1) == 1
    if is_computed(call, 1) and element_count(call, 1, "list of axes"):
        return _reduce_along_computed(call, data, keep)
    axes = reduction_axes(call, data)
    if call.op_type == "ReduceProd" and data.sizes is not None and axes == (0,):
        return tensor_of_symbols(np.asarray(math.prod(data.sizes), object).reshape([1] if keep else []))
    match call.op_type:
        case "ReduceMax" | "ReduceMin":
            name = call.op_type.removeprefix("Reduce").lower()
            return data if axes is None else reduce_to_extreme(call, name, data, axes, keep)
        case "ReduceLogSumExp":
            return data if axes is None else log_sum_exp(call, data, axes, keep)
        case _:
            return _sum_like(
                call, data, lambda name, wide: wide if axes is None else reduce_along(call, name, wide, axes, keep)
            )


def _reduce_along_computed(call: Call, data: ModelTensor, keep: bool) -> ModelTensor:
    kinds = {"ReduceMax": "max", "ReduceMin": "min", "ReduceLogSumExp": "log_sum_exp"}
    rank = data.rank if keep else data.rank - element_count(call, 1, "list of axes")

    def reduce(kind: str, wide: ModelTensor) -> ModelTensor:
        return computed(call, "reduce", [wide, call.tensor(1), kind, int(keep)], wide.dtype, rank)

    if call.op_type in ("ReduceMax", "ReduceMin"):
        return reduce(kinds[call.op_type], data)
    if call.op_type == "ReduceLogSumExp":
        wide = call.widen_small_floats(data) if data.is_float else call.cast(data, "float64")
        return call.cast(reduce("log_sum_exp", wide), data.dtype)
    return _sum_like(call, data, reduce)


def _sum_like(call: Call, data: ModelTensor, reduce: Callable[[str, ModelTensor], ModelTensor]) -> ModelTensor:
    """A reduction by sums or products. reduce: the reduction of a name along the axes of the node."""
    wide = call.widen_small_floats(data)
    match call.op_type:
        case "ReduceL1":
            wide = call.op("abs", wide)
        case "ReduceL2" | "ReduceSumSquare":
            wide = call.op("multiply", wide, wide)
        case _:
            pass
    name = {"ReduceMean": "mean", "ReduceProd": "prod"}.get(call.op_type, "sum")
    if name == "mean" and not data.is_float:
        wide = call.cast(data, "float64")
    result = reduce(name, wide)
    if call.op_type == "ReduceL2":
        result = call.op("sqrt", result if result.is_float else call.cast(result, "float64"))
    if call.op_type == "ReduceLogSum":
        result = call.op("log", result if result.is_float else call.cast(result, "float64"))
    return call.cast(result, data.dtype)


@importer("ArgMax", "ArgMin")
def arg_extreme(call: Call) -> ModelTensor:
    data = call.tensor()
    indices = call.op(
        call.op_type.lower(),
        data,
        axis=normalized_axis(call.integer("axis"), data.rank),
        keepdims=call.integer("keepdims", 1) == 1,
        select_last_index=call.integer("select_last_index") == 1,
    )
    return call.cast(indices, "int64")


@importer("Hardmax")
def hardmax(call: Call) -> ModelTensor:
    data = call.tensor()
    if call.version < 13:
        return _apply_to_rows(call, data, lambda rows: _hardmax(call, rows, 1))
    return _hardmax(call, data, normalized_axis(call.integer("axis", -1), data.rank))


def _hardmax(call: Call, data: ModelTensor, axis: int) -> ModelTensor:
    places = call.op("argmax", data, axis=axis)
    return call.op(
        "one_hot", places, on_value=1, off_value=0, depth=data.static_shape[axis], axis=axis, dtype=data.dtype
    )


@importer("Softmax", "LogSoftmax")
def softmax(call: Call) -> ModelTensor:
    data = call.tensor()
    if call.version < 13:
        return _apply_to_rows(call, data, lambda rows: _softmax(call, rows, 1))
    return _softmax(call, data, normalized_axis(call.integer("axis", -1), data.rank))


def _softmax(call: Call, data: ModelTensor, axis: int) -> ModelTensor:
    """Softmax or log-softmax along an axis. Rounds floats of 16 bits where ONNX's definition in terms of other
    operators rounds."""
    is_log = call.op_type == "LogSoftmax"
    if data.dtype not in ("float16", "bfloat16"):
        return call.op("nn.log_softmax" if is_log else "nn.softmax", data, axis=axis)
    left = call.op("subtract", data, call.op("max", data, axis=(axis,), keepdims=True))
    powers = call.op("exp", left)
    total = reduce_along(call, "sum", powers, (axis,), True)
    return call.op("subtract", left, call.op("log", total)) if is_log else call.op("divide", powers, total)


def _apply_to_rows(call: Call, data: ModelTensor, function: Any) -> ModelTensor:
    """Applies a function to rows, each of which holds the elements of the axes from `axis` on: the semantics of older
    versions."""
    axis = normalized_axis(call.integer("axis", 1), data.rank)
    extents = data.extents
    if axis == data.rank - 1 == 1:
        return function(data)
    rows = call.builder.reshape(data, [math.prod(extents[:axis]), math.prod(extents[axis:])])
    return call.builder.reshape(function(rows), extents)


@importer("CumSum", "CumProd")
def cumulative(call: Call) -> ModelTensor:
    data, name = call.tensor(), call.op_type.lower()
    flags = {name: call.integer(name) == 1 for name in ("exclusive", "reverse")}
    if is_computed(call, 1):
        wide = call.widen_small_floats(data)
        types = [(wide.dtype, wide.shape)]
        results = call_operator(call.builder, name, [wide], {"axis": computed_scalar(call, 1)}, types, **flags)
        return call.cast(results[0], data.dtype)
    axis = normalized_axis(call.constant_scalar(1, "axis"), data.rank)
    return call.cast(call.op(name, call.widen_small_floats(data), axis=axis, **flags), data.dtype)


@importer("TopK")
def topk(call: Call) -> Results:
    data = call.tensor()
    axis = normalized_axis(call.integer("axis", -1), data.rank)
    least = call.integer("largest", 1) == 0
    if call.version >= 10 and is_computed(call, 1):
        size = call.builder.new_size("topk")
        shape = [size if d == axis else extent for d, extent in enumerate(data.shape)]
        types = [(data.dtype, shape), ("int64", shape)]
        attributes = {"axis": axis, "is_ascend": least, "dtype": "int64"}
        k = {"k": computed_scalar(call, 1)}
        return Results(call_operator(call.builder, "topk", [data], k, types, **attributes))
    count = call.integer("k") if call.version < 10 else int(call.constant_scalar(1, "k"))
    extent = data.shape[axis]
    if isinstance(extent, int) and count > extent:
        raise OnnxError(f"TopK: k {count} of an extent of {extent}")
    if count < 0:
        raise OnnxError(f"TopK: k {count}, expected at least 0")
    if count == 0:
        shape = [0 if d == axis else n for d, n in enumerate(data.static_shape)]
        require_created(shape, "TopK")
        return Results(
            [call.constant(np.zeros(shape, numpy_dtype(data.dtype))), call.constant(np.zeros(shape, "int64"))]
        )
    return Results(call.ops("topk", data, k=count, axis=axis, is_ascend=least, dtype="int64"))
