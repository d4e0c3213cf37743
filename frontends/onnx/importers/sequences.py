"""Importers of operators on sequences and optional values, whose lengths and presence are known at import time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.call import normalized_axis
from ...models.limits import require_rounds
from ...models.values import Item, ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError
from ..registry import Results, importer
from .shapes import concatenate_along, insert_axes, split_along


@importer("SequenceConstruct")
def sequence_construct(call: Call) -> list[Item]:
    return list(call.inputs)


@importer("SequenceEmpty")
def sequence_empty(_call: Call) -> list[Item]:
    return []


def _position(call: Call, index: int, length: int, default: int, last: int) -> int:
    """The position operand of a sequence operator, counted from the end if negative. last: the greatest valid
    position."""
    position = int(call.constant_scalar(index, "position", default))
    position += length if position < 0 else 0
    if not 0 <= position <= last:
        raise OnnxError(f"{call.op_type}: position {position} in a sequence of {length}")
    return position


@importer("SequenceAt")
def sequence_at(call: Call) -> Item:
    items = call.sequence()
    return items[_position(call, 1, len(items), 0, len(items) - 1)]


@importer("SequenceInsert")
def sequence_insert(call: Call) -> list[Item]:
    items = list(call.sequence())
    items.insert(_position(call, 2, len(items), len(items), len(items)), call.tensor(1))
    return items


@importer("SequenceErase")
def sequence_erase(call: Call) -> list[Item]:
    items = list(call.sequence())
    del items[_position(call, 1, len(items), len(items) - 1, len(items) - 1)]
    return items


@importer("SequenceLength")
def sequence_length(call: Call) -> ModelTensor:
    return call.constant(len(call.sequence()), "int64")


@importer("SplitToSequence")
def split_to_sequence(call: Call) -> list[Any]:
    data, sizes = call.tensor(), call.constant_elements(1, "split")
    if not data.rank:
        raise OnnxError("SplitToSequence of a scalar, expected at least one dimension")
    axis = normalized_axis(call.integer("axis"), data.rank)
    extent = known_integers([data.shape[axis]], "SplitToSequence along")[0]
    if sizes is not None and sizes.ndim:
        extents = [int(each) for each in call.required_vector(1, "split")]
    else:
        extents = _extents_of_parts(extent, 1 if sizes is None else int(sizes))
    pieces = split_along(call, data, extents, axis)
    if sizes is None and not call.integer("keepdims", 1):
        return [call.op("squeeze", part, axis=[axis]) for part in pieces]
    return list(pieces)


def _extents_of_parts(extent: int, size: int) -> list[int]:
    """The extents of parts of `size` elements, and of the rest."""
    if size < 1:
        raise OnnxError(f"SplitToSequence into parts of {size} elements, expected 1 at least")
    require_rounds("SplitToSequence", -(-extent // size))
    return [min(size, extent - start) for start in range(0, extent, size)]


@importer("ConcatFromSequence")
def concat_from_sequence(call: Call) -> ModelTensor:
    tensors = [item for item in call.sequence() if isinstance(item, ModelTensor)]
    if not tensors:
        raise OnnxError("ConcatFromSequence of an empty sequence")
    is_new = call.integer("new_axis") == 1
    axis = normalized_axis(call.integer("axis"), tensors[0].rank + is_new)
    if is_new:
        tensors = [insert_axes(call, tensor, [axis]) for tensor in tensors]
    return concatenate_along(call, tensors, axis)


@importer("SequenceMap")
def sequence_map(call: Call) -> Results:
    body, items = call.graph("body"), call.sequence()
    require_rounds("SequenceMap", len(items))
    outputs: list[list[Item]] = [[] for _ in body.outputs]
    for n in range(len(items)):
        operands = [other[n] if isinstance(other, list) else other for other in call.inputs]
        for results, item in zip(outputs, call.scope.subgraph_outputs(body, operands), strict=True):
            results.append(item)
    return Results(outputs)


@importer("Optional")
def optional(call: Call) -> Item:
    return call.item(0)


@importer("OptionalHasElement")
def optional_has_element(call: Call) -> ModelTensor:
    return call.constant(np.asarray(call.item(0) is not None))


@importer("OptionalGetElement")
def optional_get_element(call: Call) -> Item:
    if call.item(0) is None:
        raise OnnxError("OptionalGetElement of a value that is not there")
    return call.item(0)
