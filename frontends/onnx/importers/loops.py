"""Loops that a program executes: their trip count, or the sizes of their states, are known only when the model runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.ir import Block, SSAValue

from ....operators import relax
from ....operators.relax.types import shape
from ....operators.relay import tensor_type
from ...models.data_sizes import attribute_of, call_function, item_of_value, name_sizes, operand_value
from ...models.lifting import lift_block
from ...models.objects import UNKNOWN, forget_sizes, join_presence, runtime_type
from ...models.types import Dimension, TensorType, ValueType
from ...models.values import Item, ModelTensor
from ..call import Call
from ..errors import OnnxUnsupportedError

Step: TypeAlias = Callable[[ModelTensor, list[Item]], tuple[Item, list[Item], list[Item]]]
"""An iteration: from its number, an int64 scalar, and the states to the condition for another iteration, the new
states, and the values that are collected."""


def program_loop(
    call: Call,
    states: Sequence[Item],
    step: Step,
    most: ModelTensor | None = None,
    condition: ModelTensor | None = None,
    extent: Dimension = UNKNOWN,
) -> tuple[list[Item], list[ModelTensor]]:
    """The final states of a loop, and the collected values of all iterations, stacked along a new first axis.

    most: the greatest number of iterations.  condition: whether there is an iteration at all.  extent: the number of
    iterations, if it is known.
    """
    types = [runtime_type(state) for state in states]
    while True:
        iteration, block, discard = call.builder.attempt(lambda block: _iteration(call, block, types, step))
        words = f"states of {call.op_type}"
        joined = [join_presence(a, b, words) for a, b in zip(types, iteration.states, strict=True)]
        if joined == types:
            return _finish(call, states, joined, block, iteration, [most, condition], extent)
        discard()
        types = list[ValueType | None](joined)


@dataclass(frozen=True)
class _Iteration:
    """An imported iteration. results: the condition, the new states and the collected values.  states, collected: the
    types of the latter."""

    results: Sequence[SSAValue]
    states: Sequence[ValueType | None]
    collected: Sequence[TensorType]


def _iteration(call: Call, block: Block, types: Sequence[ValueType | None], step: Step) -> _Iteration:
    builder, before = call.builder, set(call.builder.data_sizes)
    number = builder.tensor_of_value(block.insert_arg(tensor_type([], "int64"), 0))
    states = [_argument(call, block, type) for type in types]
    condition, new, collected = step(number, states)
    if not isinstance(condition, ModelTensor):
        raise OnnxUnsupportedError(f"{call.op_type} with a condition that is no tensor")
    flag = builder.value(builder.reshape(condition, []))
    values = [flag, *(operand_value(builder, item) for item in (*new, *collected))]
    inner = builder.data_sizes.keys() - before
    outside = [None if type is None else forget_sizes(type, inner) for type in map(runtime_type, [*new, *collected])]
    stacked = outside[len(new) :]
    if not all(isinstance(type, TensorType) for type in stacked):
        raise OnnxUnsupportedError(f"{call.op_type} that collects sequences")
    return _Iteration(values, outside[: len(new)], [type for type in stacked if isinstance(type, TensorType)])


def _argument(call: Call, block: Block, type: ValueType | None) -> Item:
    if type is None:
        return None
    known = name_sizes(call.builder, type, call.op_type.lower())
    return item_of_value(call.builder, block.insert_arg(attribute_of(known), len(block.args)), known)


def _finish(
    call: Call,
    states: Sequence[Item],
    types: Sequence[ValueType],
    block: Block,
    iteration: _Iteration,
    limits: Sequence[ModelTensor | None],
    extent: Dimension,
) -> tuple[list[Item], list[ModelTensor]]:
    builder = call.builder
    defaults = [call.constant(np.iinfo(np.int64).max), call.constant(True)]
    most, condition = (
        default if limit is None else builder.reshape(limit, [])
        for limit, default in zip(limits, defaults, strict=True)
    )
    body, *captured = lift_block(builder, f"{call.op_type.lower()}_body", block, iteration.results)
    description = json.dumps({"states": len(states), "collected": [type.dtype for type in iteration.collected]})
    shapes = [_empty_shape(call, type) for type in iteration.collected]
    operands = [description, body, most, condition, *shapes, *states, *captured]
    stacked = [TensorType(type.dtype, (extent, *(type.shape or ()))) for type in iteration.collected]
    results = call_function(builder, "loop", operands, [*types, *stacked])
    return results[: len(states)], [each for each in results[len(states) :] if isinstance(each, ModelTensor)]


def _empty_shape(call: Call, type: TensorType) -> SSAValue:
    """The shape of the values that a loop without iterations collects, as a value of the program."""
    extents = [0 if extent == UNKNOWN else extent for extent in type.shape or ()]
    return call.builder.relay.insert(relax.ShapeOp(shape(extents))).output
