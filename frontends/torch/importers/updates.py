"""Importers of operators that write a part of a tensor, and return a copy with this part."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.errors import ModelUnsupportedError
from ...models.indices import check_indices
from ...models.shapes import insert_axes, permute_axes
from ...models.slices import slice_along
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..registry import aten
from .indexing import Indices
from .shapes import slice_bounds


@aten("copy.default")
def copy(call: Call) -> ModelTensor:
    return call.builder.expand(call.operand("src", call.result_dtype), call.tensor().extents)


@aten("slice_scatter.default")
def slice_scatter(call: Call) -> ModelTensor:
    start, end, step = slice_bounds(call)
    x, axis = call.tensor(), call.axis()
    (extent,) = known_integers([x.shape[axis]], f"{call.op_type} along an extent of")
    first, last = known_integers([start, end], f"bounds of {call.op_type}")
    places = np.arange(extent)[first:last:step]
    return _write_along(call, x, call.cast(call.tensor("src"), x.dtype), axis, places)


@aten("select_scatter.default")
def select_scatter(call: Call) -> ModelTensor:
    x, axis = call.tensor(), call.axis()
    index, extent = known_integers([call.get("index"), x.shape[axis]], f"{call.op_type} at")
    src = insert_axes(call, call.cast(call.tensor("src"), x.dtype), [axis])
    return _write_along(call, x, src, axis, np.array([index % extent]))


def _write_along(call: Call, x: ModelTensor, src: ModelTensor, axis: int, places: Any) -> ModelTensor:
    """Replaces the slices of `x` at constant indices of an axis by the slices of `src`."""
    extent = int(x.shape[axis])
    if len(places) == extent:
        return src
    mask, inverse = np.zeros(extent, bool), np.zeros(extent, "int64")
    mask[places], inverse[places] = True, np.arange(len(places))
    if not mask.any():
        return x
    shape = [extent if d == axis else 1 for d in range(x.rank)]
    spread = call.op("take", src, call.constant(inverse), axis=axis)
    return call.op("where", call.constant(mask.reshape(shape)), spread, x)


# Writes at computed indices


@aten("index_put.default", "_unsafe_index_put.default")
def index_put(call: Call) -> ModelTensor:
    x, values = call.tensor(), call.cast(call.tensor("values"), call.result_dtype)
    given = call.get("indices")
    if given and given[0] is not None and given[0].dtype == "bool" and given[1:] == [None] * (len(given) - 1):
        return _put_by_mask(call, x, given[0], values)
    indices = Indices(call, given)
    order = indices.order(x.rank)
    front = permute_axes(call, x, order)
    shape = [*indices.shape, *front.extents[len(indices.axes) :]]
    back = indices.result_order(x.rank)
    spread = call.builder.expand(values, [shape[axis] for axis in back])
    updates = permute_axes(call, spread, [back.index(axis) for axis in range(len(back))])
    mode = "add" if call.get("accumulate") else "update"
    written = _scatter_nd(call, front, indices.stack(call), updates, mode)
    return permute_axes(call, written, [order.index(axis) for axis in range(x.rank)])


def _scatter_nd(call: Call, x: ModelTensor, indices: ModelTensor, updates: ModelTensor, mode: str) -> ModelTensor:
    if x.dtype != "bool":
        return call.op("scatter_nd", x, indices, updates, mode=mode)
    wide = call.op("scatter_nd", call.cast(x, "uint8"), indices, call.cast(updates, "uint8"), mode=mode)
    return call.cast(wide, "bool")


def _put_by_mask(call: Call, x: ModelTensor, mask: ModelTensor, values: ModelTensor) -> ModelTensor:
    """Writes one value where a mask of the leading axes is true."""
    if values.shape not in ((), (1,)) or call.get("accumulate"):
        raise ModelUnsupportedError(f"{call.op_type} of {list(values.shape)} by a mask, expected one value")
    aligned = insert_axes(call, mask, list(range(mask.rank, x.rank))) if mask.rank < x.rank else mask
    return call.op("where", aligned, values, x)


_REDUCTIONS = {"add": "add", "sum": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


@aten("scatter.src", "scatter.value", "scatter_add.default", "scatter_reduce.two")
def scatter(call: Call) -> ModelTensor:
    reduction = "add" if call.operator == "scatter_add" else call.get("reduce")
    call.raise_unsupported_if(reduction not in (None, *_REDUCTIONS), f"the reduction {reduction}")
    call.raise_unsupported_if(call.get("include_self", True) is False, "include_self=False")
    x, index = call.tensor(), call.tensor("index")
    if not x.rank:
        raise ModelUnsupportedError(f"{call.op_type} into a tensor without dimensions")
    axis = call.axis()
    check_indices(call, index, [x.shape[axis]])
    mode = "update" if reduction is None else _REDUCTIONS[reduction]
    updates = _updates(call, x, index)
    if x.dtype != "bool":
        return call.op("scatter_elements", x, index, updates, axis=axis, reduction=mode)
    wide = call.op("scatter_elements", call.cast(x, "uint8"), index, call.cast(updates, "uint8"), axis=axis)
    return call.cast(wide, "bool")


def _updates(call: Call, x: ModelTensor, index: ModelTensor) -> ModelTensor:
    """The updates of a scatter, in the shape of the indices."""
    if call.operator == "scatter" and "value" in call.op_type:
        return call.filled(index.extents, call.get("value"), x.dtype)
    updates = call.cast(call.tensor("src"), x.dtype)
    for axis, (own, wanted) in enumerate(zip(updates.shape, index.extents, strict=True)):
        if own != wanted:
            updates = slice_along(call, updates, axis, 0, wanted, 1)
    return updates
