"""Importers of operators on sequences and optional values. Those known at import time are lists and values; others are
objects of a program."""

from __future__ import annotations

import numpy as np

from ....core.errors import UnsupportedError
from ...models.call import normalized_axis
from ...models.data_sizes import call_function, call_host, call_object, object_of
from ...models.limits import MOST_ROUNDS
from ...models.objects import UNKNOWN, join, runtime_type
from ...models.types import Dimension, OptionalType, SequenceType, TensorType, ValueType
from ...models.values import Item, ModelObject, ModelTensor
from ..call import Call
from ..errors import OnnxError
from ..registry import Results, importer
from .data_sizes import computed_scalar, is_computed
from .loops import program_loop
from .shapes import concatenate_along, insert_axes, split_along


@importer("SequenceConstruct")
def sequence_construct(call: Call) -> list[Item]:
    return list(call.inputs)


@importer("SequenceEmpty")
def sequence_empty(_call: Call) -> list[Item]:
    return []


# Elements


def _is_computed_sequence(call: Call, position: int) -> bool:
    """Whether the sequence, or the operand that is a position in it, is known only when the model runs."""
    return not isinstance(call.item(0), list) or is_computed(call, position)


def _object(call: Call) -> tuple[ModelObject, ValueType | None]:
    """The sequence operand as one of a program, and the type of its elements."""
    sequence = object_of(call.builder, call.item(0))
    if not isinstance(sequence.type, SequenceType):
        raise OnnxError(f"operand 0 is of type {sequence.type}, expected a sequence")
    return sequence, sequence.type.element


def _position(call: Call, index: int, length: int, default: int, last: int) -> int:
    """The position operand of a sequence operator, counted from the end if negative. last: the greatest valid
    position."""
    position = int(call.constant_scalar(index, "position", default))
    position += length if position < 0 else 0
    if not 0 <= position <= last:
        raise OnnxError(f"{call.op_type}: position {position} in a sequence of {length}")
    return position


def _positions(call: Call, index: int) -> list[ModelTensor]:
    """Returns the position operand of a node, or an empty list without this operand."""
    return [computed_scalar(call, index)] if call.has(index) else []


@importer("SequenceAt")
def sequence_at(call: Call) -> Item:
    if not _is_computed_sequence(call, 1):
        items = call.sequence()
        return items[_position(call, 1, len(items), 0, len(items) - 1)]
    sequence, element = _object(call)
    return _element(call, sequence, element, computed_scalar(call, 1))


def _element(call: Call, sequence: ModelObject, element: ValueType | None, position: ModelTensor) -> Item:
    if element is None:
        raise OnnxError(f"{call.op_type} of an empty sequence")
    return call_function(call.builder, "sequence_at", [sequence, position], [element])[0]


@importer("SequenceInsert")
def sequence_insert(call: Call) -> Item:
    if not _is_computed_sequence(call, 2):
        items = list(call.sequence())
        items.insert(_position(call, 2, len(items), len(items), len(items)), call.tensor(1))
        return items
    sequence, element = _object(call)
    return _insert(call, sequence, element, call.tensor(1), _positions(call, 2))


def _insert(
    call: Call, sequence: ModelObject, element: ValueType | None, item: Item, position: list[ModelTensor]
) -> ModelObject:
    type = SequenceType(join(element, runtime_type(item), "elements of a sequence"))
    return call_object(call.builder, "sequence_insert", [sequence, item, *position], type)


@importer("SequenceErase")
def sequence_erase(call: Call) -> Item:
    if not _is_computed_sequence(call, 1):
        items = list(call.sequence())
        del items[_position(call, 1, len(items), len(items) - 1, len(items) - 1)]
        return items
    sequence, element = _object(call)
    return call_object(call.builder, "sequence_erase", [sequence, *_positions(call, 1)], SequenceType(element))


@importer("SequenceLength")
def sequence_length(call: Call) -> ModelTensor:
    if isinstance(call.item(0), list):
        return call.constant(len(call.sequence()), "int64")
    return _length(call, _object(call)[0])


def _length(call: Call, sequence: ModelObject) -> ModelTensor:
    return call_host(call.builder, "sequence_length", [sequence, call.constant(0, "int64")], [("int64", [])])[0]


# Tensors


@importer("SplitToSequence")
def split_to_sequence(call: Call) -> Item:
    data = call.tensor()
    if not data.rank:
        raise OnnxError("SplitToSequence of a scalar, expected at least one dimension")
    axis = normalized_axis(call.integer("axis"), data.rank)
    extent = data.shape[axis]
    if is_computed(call, 1) or not isinstance(extent, int):
        return _computed_split(call, data, axis)
    sizes = call.constant_elements(1, "split")
    if sizes is not None and sizes.ndim:
        extents = [int(each) for each in call.required_vector(1, "split")]
    else:
        extents = _extents_of_parts(extent, 1 if sizes is None else int(sizes))
    if len(extents) > MOST_ROUNDS:
        return _computed_split(call, data, axis)
    pieces = split_along(call, data, extents, axis)
    if sizes is None and not call.integer("keepdims", 1):
        return [call.op("squeeze", part, axis=[axis]) for part in pieces]
    return list(pieces)


def _extents_of_parts(extent: int, size: int) -> list[int]:
    """The extents of parts of `size` elements, and of the rest."""
    if size < 1:
        raise OnnxError(f"SplitToSequence into parts of {size} elements, expected 1 at least")
    return [min(size, extent - start) for start in range(0, extent, size)]


def _computed_split(call: Call, data: ModelTensor, axis: int) -> ModelObject:
    keeps = call.has(1) or call.integer("keepdims", 1)
    part: list[Dimension] = [UNKNOWN if call.has(1) else 1] if keeps else []
    shape = (*data.shape[:axis], *part, *data.shape[axis + 1 :])
    sizes = call.tensor(1) if call.has(1) else call.constant(1, "int64")
    operands = [data, sizes, axis, int(bool(keeps))]
    return call_object(call.builder, "split_to_sequence", operands, SequenceType(TensorType(data.dtype, shape)))


@importer("ConcatFromSequence")
def concat_from_sequence(call: Call) -> ModelTensor:
    is_new = call.integer("new_axis") == 1
    if not isinstance(call.item(0), list):
        return _computed_concatenation(call, is_new)
    tensors = [item for item in call.sequence() if isinstance(item, ModelTensor)]
    if not tensors:
        raise OnnxError("ConcatFromSequence of an empty sequence")
    axis = normalized_axis(call.integer("axis"), tensors[0].rank + is_new)
    if is_new:
        tensors = [insert_axes(call, tensor, [axis]) for tensor in tensors]
    return concatenate_along(call, tensors, axis)


def _computed_concatenation(call: Call, is_new: bool) -> ModelTensor:
    sequence, element = _object(call)
    if not isinstance(element, TensorType) or element.shape is None:
        raise UnsupportedError(f"{call.op_type} of a sequence of {element or 'values of an unknown type'}")
    axis = normalized_axis(call.integer("axis"), len(element.shape) + is_new)
    extents: list[Dimension] = [*element.shape]
    extents[axis : axis + (not is_new)] = [UNKNOWN]
    type = TensorType(element.dtype, tuple(extents))
    result = call_function(call.builder, "concat_from_sequence", [sequence, axis, int(is_new)], [type])[0]
    assert isinstance(result, ModelTensor)
    return result


@importer("SequenceMap")
def sequence_map(call: Call) -> Results:
    body = call.graph("body")
    sequences = [item for item in call.inputs if isinstance(item, list)]
    if not isinstance(call.item(0), list) or len(call.sequence()) > MOST_ROUNDS or _maps_objects(call):
        return _map_of_program(call)
    outputs: list[list[Item]] = [[] for _ in body.outputs]
    for n in range(len(call.sequence())):
        if any(n >= len(each) for each in sequences):
            raise OnnxError(f"SequenceMap of sequences of {', '.join(str(len(each)) for each in sequences)} elements")
        operands = [other[n] if isinstance(other, list) else other for other in call.inputs]
        for results, item in zip(outputs, call.scope.subgraph_outputs(body, operands), strict=True):
            results.append(item)
    return Results(outputs)


def _maps_objects(call: Call) -> bool:
    return any(isinstance(item, ModelObject) for item in call.inputs)


def _map_of_program(call: Call) -> Results:
    """A loop over the elements of sequences, which inserts the results in other sequences."""
    body, builder = call.graph("body"), call.builder
    inputs = [item if isinstance(item, ModelTensor) else object_of(builder, item) for item in call.inputs]
    first = inputs[0]
    if not isinstance(first, ModelObject):
        raise OnnxError("operand 0 is no sequence")

    def step(number: ModelTensor, states: list[Item]) -> tuple[Item, list[Item], list[Item]]:
        operands = [_item_at(call, each, number) for each in inputs]
        results = call.scope.subgraph_outputs(body, operands)
        inserted: list[Item] = []
        for state, item in zip(states, results, strict=True):
            sequence = object_of(builder, state)
            assert isinstance(sequence.type, SequenceType)
            inserted.append(_insert(call, sequence, sequence.type.element, item, []))
        return call.constant(True), inserted, []

    states, _ = program_loop(call, [[] for _ in body.outputs], step, _length(call, first))
    return Results(states)


def _item_at(call: Call, item: ModelTensor | ModelObject, number: ModelTensor) -> Item:
    if isinstance(item, ModelObject) and isinstance(item.type, SequenceType):
        return _element(call, item, item.type.element, number)
    return item


# Optional values


@importer("Optional")
def optional(call: Call) -> Item:
    return call.item(0)


@importer("OptionalHasElement")
def optional_has_element(call: Call) -> ModelTensor:
    item = call.item(0)
    if isinstance(item, ModelObject) and isinstance(item.type, OptionalType):
        operands = [item, call.constant(0, "int64")]
        return call_host(call.builder, "optional_has_element", operands, [("bool", [])])[0]
    return call.constant(np.asarray(item is not None))


@importer("OptionalGetElement")
def optional_get_element(call: Call) -> Item:
    item = call.item(0)
    if item is None:
        raise OnnxError("OptionalGetElement of a value that is not there")
    if isinstance(item, ModelObject) and isinstance(item.type, OptionalType):
        return call_function(call.builder, "optional_get_element", [item], [item.type.element])[0]
    return item
