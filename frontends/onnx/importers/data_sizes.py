"""Importers of operators with results of sizes that only data determines, and of operators whose parameters are
computed: the function of the model is a program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....operators.relay import Size
from ...models.call import normalized_axis
from ...models.data_sizes import call_host
from ...models.symbols import size_of_symbol
from ...models.values import ModelTensor
from ..call import Call
from ..errors import OnnxError
from ..registry import Results, importer


def is_computed(call: Call, *indices: int) -> bool:
    """Whether an operand at one of the indices is known only when the model runs."""
    operands = [call.optional(index) for index in indices]
    return any(operand is not None and operand.known_elements is None for operand in operands)


def computed_nonzero(call: Call, data: ModelTensor) -> ModelTensor:
    """The indices of the elements of a computed tensor that are not zero."""
    return call_host(call.builder, "nonzero", [data], [("int64", [data.rank, call.builder.new_size("nonzero")])])[0]


def computed(call: Call, name: str, operands: Sequence[ModelTensor | int | str], dtype: str, rank: int) -> ModelTensor:
    """The result of a packed function of which only the data type and the rank are known."""
    sizes: list[Size] = [call.builder.new_size(name) for _ in range(rank)]
    return call_host(call.builder, name, operands, [(dtype, sizes)])[0]


def computed_scalar(call: Call, index: int) -> ModelTensor:
    """A computed operand of one element, without dimensions."""
    return call.builder.reshape(call.tensor(index), [])


def element_count(call: Call, index: int, what: str) -> int:
    """The number of elements of a computed operand of one dimension. Raises OnnxError for another rank, and the errors
    of symbolic extents."""
    operand = call.tensor_of_rank(index, 1)
    call.raise_unsupported_if(not operand.is_static, f"a computed {what} of unknown length")
    return operand.static_shape[0]


@importer("Unique")
def unique(call: Call) -> Results:
    data, axis = call.tensor(), call.attribute("axis")
    if axis is None:
        data, axis = call.builder.reshape(data, [np.prod(data.extents)]), 0
    axis = normalized_axis(axis, data.rank)
    count = call.builder.new_size("unique")
    shape: list[Size] = [count if d == axis else extent for d, extent in enumerate(data.shape)]
    types = [(data.dtype, shape), ("int64", [count]), ("int64", [data.shape[axis]]), ("int64", [count])]
    return Results(call_host(call.builder, "unique", [data, axis, call.integer("sorted", 1)], types))


@importer("NonMaxSuppression")
def non_max_suppression(call: Call) -> ModelTensor:
    boxes, scores = call.tensor_of_rank(0, 3), call.tensor_of_rank(1, 3)
    expected = (boxes.shape[0], 4, boxes.shape[1])
    if (scores.shape[0], boxes.shape[2], scores.shape[2]) != expected:
        raise OnnxError(f"NonMaxSuppression of boxes {list(boxes.shape)} and scores {list(scores.shape)}")
    most = call.optional(2) or call.constant(np.zeros(1, "int64"))
    overlap = call.optional(3) or call.constant(np.zeros(1, "float32"))
    threshold = call.optional(4) or call.constant(np.full(1, -np.inf, "float32"))
    for limit in (most, overlap, threshold):
        if [size_of_symbol(each) for each in limit.extents] not in ([], [1]):
            raise OnnxError(f"NonMaxSuppression: a limit of shape {list(limit.shape)}, expected one element")
    operands = [boxes, scores, most, overlap, threshold, call.integer("center_point_box")]
    count = call.builder.new_size("boxes")
    return call_host(call.builder, "non_max_suppression", operands, [("int64", [count, 3])])[0]
