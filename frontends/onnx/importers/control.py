"""Importers of branches and loops. Loops with a constant trip count are unrolled, others are loops of a program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from xdsl.ir import Block, Operation, Region, SSAValue

from ....operators import relax
from ....operators.relax.types import tuple_type
from ....operators.relay import IfOp, YieldOp
from ...models.call import normalized_axis
from ...models.data_sizes import attribute_of, checked_item, operand_value
from ...models.limits import MOST_DIMENSIONS, MOST_ROUNDS, require_rounds
from ...models.objects import UNKNOWN, forget_sizes, join_presence, runtime_type
from ...models.types import TensorType, ValueType
from ...models.values import Item, ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError, OnnxUnsupportedError
from ..graph import OnnxGraph
from ..registry import Results, importer
from .data_sizes import is_computed
from .loops import program_loop
from .shapes import concatenate_along, insert_axes, permute_axes, split_along


@importer("If")
def branch(call: Call) -> Results:
    condition = call.tensor()
    branches = [call.graph("then_branch"), call.graph("else_branch")]
    if condition.array is not None:
        return Results(call.scope.subgraph_outputs(branches[0 if condition.array.ravel()[0] else 1], []))
    flag = call.builder.value(call.builder.reshape(condition, []))
    before = set(call.builder.data_sizes)
    blocks = [_import_branch(call, each) for each in branches]
    inner = call.builder.data_sizes.keys() - before
    then, orelse = ([_type_outside(item, inner) for item in items] for _, items in blocks)
    if len(then) != len(orelse):
        raise OnnxError(f"If with branches of {len(then)} and {len(orelse)} results")
    words = "results of the branches of If"
    types = [join_presence(*pair, words) for pair in zip(then, orelse, strict=True)]
    if types == then == orelse and all(
        isinstance(type, TensorType) and UNKNOWN not in (type.shape or ()) for type in types
    ):
        regions = [_region(call, each, YieldOp) for each in blocks]
        op = IfOp(flag, [attribute_of(type) for type in types], *regions)
        return Results([call.builder.tensor_of_value(value) for value in call.builder.relay.branch(op)])
    return Results(_branch_of_program(call, flag, types, blocks))


_Branch: TypeAlias = tuple[Block, Sequence[Item]]


def _import_branch(call: Call, graph: OnnxGraph) -> _Branch:
    """A block with the nodes of a branch, and its results."""
    block = Block()
    return block, call.builder.build_in_block(block, lambda: call.scope.subgraph_outputs(graph, []))


def _type_outside(item: Item, inner: Collection[str]) -> ValueType | None:
    type = runtime_type(item)
    return None if type is None else forget_sizes(type, inner)


def _region(call: Call, branch: _Branch, terminator: Callable[[Sequence[SSAValue]], Operation]) -> Region:
    """The region of a branch. terminator: yields the values of its results."""
    block, items = branch

    def write() -> None:
        values = [operand_value(call.builder, item) for item in items]
        call.builder.relay.insert(terminator(values))

    call.builder.build_in_block(block, write)
    return Region(block)


def _branch_of_program(
    call: Call, flag: SSAValue, types: Sequence[ValueType], branches: Sequence[_Branch]
) -> list[Item]:
    """A branch of a program: its results are objects, whose types are checked after the branch."""
    builder = call.builder

    def write(values: Sequence[SSAValue]) -> Operation:
        objects = [builder.relay.insert(relax.MatchCastOp(value, relax.ObjectType())).output for value in values]
        return relax.YieldOp(builder.relay.insert(relax.TupleOp(objects)).output)

    regions = [_region(call, each, write) for each in branches]
    whole = builder.relay.insert(relax.IfOp(flag, tuple_type([relax.ObjectType()] * len(types)), *regions)).output
    builder.is_program = True
    fields = [builder.relay.insert(relax.TupleGetOp(whole, n)).output for n in range(len(types))]
    return [checked_item(builder, field, type, "if") for field, type in zip(fields, types, strict=True)]


def _tensor(item: Item) -> ModelTensor:
    if not isinstance(item, ModelTensor):
        raise OnnxUnsupportedError("a loop that collects sequences")
    return item


@importer("Loop")
def loop(call: Call) -> Results:
    body = call.graph("body")
    if not _is_unrollable(call, body):
        return _loop_of_program(call, body)
    rounds = int(call.constant_scalar(0, "the number of rounds", MOST_ROUNDS)) if call.has(0) else None
    going = bool(call.constant_scalar(1, "the condition", True)) if call.has(1) else True
    carried: list[Item] = list(call.inputs[2:])
    collected: list[list[ModelTensor]] = [[] for _ in body.outputs[1 + len(carried) :]]
    count = 0
    while going and (rounds is None or count < rounds):
        if count == MOST_ROUNDS:
            raise OnnxUnsupportedError(f"Loop of more than {MOST_ROUNDS} rounds")
        condition, *results = _round(call, body, call.constant(count, "int64"), carried)
        if not isinstance(condition, ModelTensor) or condition.array is None:
            raise OnnxUnsupportedError("Loop with a condition that is known only when the model runs")
        going = bool(condition.array.ravel()[0])
        carried = results[: len(carried)]
        for items, item in zip(collected, results[len(carried) :], strict=True):
            items.append(_tensor(item))
        count += 1
    if any(not items for items in collected):
        raise OnnxUnsupportedError("Loop of no rounds that collects results")
    return Results([*carried, *(_stack(call, items, 0) for items in collected)])


def _round(call: Call, body: OnnxGraph, number: ModelTensor, carried: Sequence[Item]) -> list[Item]:
    """The outputs of the body of a loop in an iteration, which takes place if the condition holds."""
    return call.scope.subgraph_outputs(body, [number, call.constant(True), *carried])


def _is_unrollable(call: Call, body: OnnxGraph) -> bool:
    """Whether the trip count and the conditions of a loop are constant, and it has few iterations."""
    if is_computed(call, 0, 1):
        return False
    rounds = int(call.constant_scalar(0, "the number of rounds", 1))
    if not 0 < rounds <= MOST_ROUNDS:
        return rounds <= 0
    first = call.constant(0, "int64")
    outputs, _, discard = call.builder.attempt(lambda _: _round(call, body, first, call.inputs[2:]))
    discard()
    condition = outputs[0]
    return not isinstance(condition, ModelTensor) or condition.array is not None


def _loop_of_program(call: Call, body: OnnxGraph) -> Results:
    count = len(call.inputs) - 2

    def step(number: ModelTensor, states: list[Item]) -> tuple[Item, list[Item], list[Item]]:
        condition, *results = _round(call, body, number, states)
        return condition, results[:count], results[count:]

    states, collected = program_loop(call, call.inputs[2:], step, call.optional(0), call.optional(1))
    return Results([*states, *collected])


def _stack(call: Call, items: Sequence[ModelTensor], axis: int) -> ModelTensor:
    return concatenate_along(call, [insert_axes(call, item, [axis]) for item in items], axis)


@importer("Scan")
def scan(call: Call) -> Results:
    body = call.graph("body")
    count = call.integer("num_scan_inputs")
    if call.version < 9:
        return _scan_of_batches(call, body, count)
    if not 1 <= count <= len(call.inputs):
        raise OnnxError(f"attribute 'num_scan_inputs': expected 1 to {len(call.inputs)}, got {count}")
    states, scanned = list(call.inputs[: len(call.inputs) - count]), [_tensor(item) for item in call.inputs[-count:]]
    axes = call.integers_attribute("scan_input_axes", count, 0, -MOST_DIMENSIONS)
    axes = [normalized_axis(axis, each.rank) for axis, each in zip(axes, scanned, strict=True)]
    backward = call.integers_attribute("scan_input_directions", count, 0, 0)
    sequences = list(zip(scanned, axes, backward, strict=True))
    length = scanned[0].shape[axes[0]]
    if isinstance(length, int) and length <= MOST_ROUNDS:
        states, unstacked = _unroll_scan(call, body, states, [_rows(call, *each) for each in sequences])
        collected = [_stack(call, items, 0) for items in unstacked]
    else:
        states, collected = _scan_of_program(call, body, states, sequences)
    out_axes = call.integers_attribute("scan_output_axes", len(collected), 0, -MOST_DIMENSIONS)
    out_backward = call.integers_attribute("scan_output_directions", len(collected), 0, 0)
    results: list[Item] = [*states]
    for rows, axis, turned in zip(collected, out_axes, out_backward, strict=True):
        position = normalized_axis(axis, rows.rank)
        order = list(range(1, rows.rank))
        order.insert(position, 0)
        results.append(permute_axes(call, call.op("reverse", rows, axis=0) if turned else rows, order))
    return Results(results)


def _scan_of_program(
    call: Call, body: OnnxGraph, states: Sequence[Item], sequences: Sequence[tuple[ModelTensor, int, int]]
) -> tuple[list[Item], list[ModelTensor]]:
    """The final states of a scan whose length is known only when the model runs, and the other outputs of all
    iterations."""
    data, axis, _ = sequences[0]
    length = data.shape[axis]
    if any(each.shape[along] != length for each, along, _ in sequences):
        words = ", ".join(str(each.shape[along]) for each, along, _ in sequences)
        raise OnnxUnsupportedError(f"Scan of sequences of {words} elements")
    count = call.builder.size_value(data.extents[axis])
    last = call.builder.scalar("subtract", count, 1)

    def step(number: ModelTensor, states: list[Item]) -> tuple[Item, list[Item], list[Item]]:
        rows = [
            call.op("take", each, call.op("subtract", last, number) if backward else number, axis=along)
            for each, along, backward in sequences
        ]
        results = call.scope.subgraph_outputs(body, [*states, *rows])
        return call.constant(True), results[: len(states)], results[len(states) :]

    return program_loop(call, states, step, count, extent=length)


def _unroll_scan(
    call: Call, body: OnnxGraph, states: list[Item], rows: Sequence[Sequence[ModelTensor]]
) -> tuple[list[Item], list[list[ModelTensor]]]:
    """The final states of an unrolled scan, and for each other output its values in all iterations."""
    length = len(rows[0])
    if any(len(each) != length for each in rows):
        raise OnnxError(f"Scan of sequences of {', '.join(str(len(each)) for each in rows)} elements")
    collected: list[list[ModelTensor]] = [[] for _ in body.outputs[len(states) :]]
    for n in range(length):
        results = call.scope.subgraph_outputs(body, [*states, *(each[n] for each in rows)])
        states = results[: len(states)]
        for items, item in zip(collected, results[len(states) :], strict=True):
            items.append(_tensor(item))
    return states, collected


def _rows(call: Call, data: ModelTensor, axis: int, backward: int) -> list[ModelTensor]:
    """The slices of a tensor along an axis, without the axis."""
    length = known_integers([data.shape[axis]], f"{call.op_type} along")[0]
    require_rounds("Scan", length, 1)
    cut = split_along(call, data, [1] * length, axis)
    kept = [extent for d, extent in enumerate(data.extents) if d != axis]
    rows = [call.builder.reshape(part, kept) for part in cut]
    return rows[::-1] if backward else rows


def _scan_of_batches(call: Call, body: OnnxGraph, count: int) -> Results:
    """A scan of opset 8: each index of the first axis has a sequence of its own."""
    call.raise_unsupported_if(call.has(0), "lengths of sequences")
    call.raise_unsupported_if(any(call.integers("directions") or ()), "sequences from their end")
    operands = [_tensor(item) for item in call.inputs[1:]]
    if any(operand.rank == 0 for operand in operands):
        raise OnnxError("Scan of a scalar, expected a batch of sequences")
    batch = known_integers([operands[0].shape[0]], "Scan of sequences")[0]
    require_rounds("Scan", batch, 1)
    results: list[list[ModelTensor]] = []
    for n in range(batch):
        own = [call.op("take", each, call.constant(n, "int64"), axis=0) for each in operands]
        rows = [_rows(call, each, 0, 0) for each in own[len(own) - count :]]
        states, collected = _unroll_scan(call, body, [*own[: len(own) - count]], rows)
        results.append([*map(_tensor, states), *(_stack(call, items, 0) for items in collected)])
    return Results([_stack(call, items, 0) for items in zip(*results, strict=True)])
