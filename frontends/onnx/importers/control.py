"""Importers of branches, and of loops with a constant trip count, which are unrolled."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Region, SSAValue

from ....operators.relay import IfOp, YieldOp
from ...models.call import normalized_axis
from ...models.limits import MOST_DIMENSIONS, MOST_ROUNDS, require_rounds
from ...models.values import Item, ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError, OnnxUnsupportedError
from ..graph import OnnxGraph
from ..registry import Results, importer
from .shapes import concatenate_along, insert_axes, split_along


@importer("If")
def branch(call: Call) -> Results:
    condition = call.tensor()
    branches = [call.graph("then_branch"), call.graph("else_branch")]
    if condition.array is not None:
        return Results(call.scope.subgraph_outputs(branches[0 if condition.array.ravel()[0] else 1], []))
    flag = call.builder.reshape(condition, [])
    regions = [_region(call, each) for each in branches]
    types = [[value.type for value in values] for _, values in regions]
    if types[0] != types[1]:
        words = [f"({', '.join(map(str, each))})" for each in types]
        raise OnnxUnsupportedError(f"If with branches of different types {words[0]} and {words[1]}")
    (then, _), (orelse, _) = regions
    op = IfOp(call.builder.value(flag), types[0], then, orelse)
    return Results([call.builder.tensor_of_value(value) for value in call.builder.relay.branch(op)])


def _region(call: Call, graph: OnnxGraph) -> tuple[Region, Sequence[SSAValue]]:
    """The region of a branch, and the values that it yields."""
    block, builder = Block(), call.builder

    def write() -> list[SSAValue]:
        items = call.scope.subgraph_outputs(graph, [])
        values = [builder.value(_tensor(item)) for item in items]
        builder.relay.insert(YieldOp(values))
        return values

    return Region(block), builder.build_in_block(block, write)


def _tensor(item: Item) -> ModelTensor:
    if not isinstance(item, ModelTensor):
        raise OnnxUnsupportedError(
            "a branch that gives a sequence, or nothing, which is known only when the model runs"
        )
    return item


@importer("Loop")
def loop(call: Call) -> Results:
    body = call.graph("body")
    rounds = int(call.constant_scalar(0, "the number of rounds", MOST_ROUNDS)) if call.has(0) else None
    going = bool(call.constant_scalar(1, "the condition", True)) if call.has(1) else True
    if rounds is not None:
        require_rounds("Loop", max(rounds, 0))
    carried: list[Item] = list(call.inputs[2:])
    collected: list[list[ModelTensor]] = [[] for _ in body.outputs[1 + len(carried) :]]
    count = 0
    while going and (rounds is None or count < rounds):
        if count == MOST_ROUNDS:
            raise OnnxUnsupportedError(f"Loop of more than {MOST_ROUNDS} rounds")
        operands = [call.constant(count, "int64"), call.constant(True)]
        condition, *results = call.scope.subgraph_outputs(body, [*operands, *carried])
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
    backward = call.integers_attribute("scan_input_directions", count, 0, 0)
    rows = [_rows(call, *each) for each in zip(scanned, axes, backward, strict=True)]
    states, collected = _unroll_scan(call, body, states, rows)
    out_axes = call.integers_attribute("scan_output_axes", len(collected), 0, -MOST_DIMENSIONS)
    out_backward = call.integers_attribute("scan_output_directions", len(collected), 0, 0)
    results: list[Item] = [*states]
    for items, axis, turned in zip(collected, out_axes, out_backward, strict=True):
        position = normalized_axis(axis, items[0].rank + 1)
        results.append(_stack(call, items[::-1] if turned else items, position))
    return Results(results)


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
    axis = normalized_axis(axis, data.rank)
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
