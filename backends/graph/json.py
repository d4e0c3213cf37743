"""Export of a compiled graph to TVM's JSON of graph executors."""

from __future__ import annotations

import json
from typing import Any

from ...core.errors import UnsupportedError
from .executable import Executable
from .steps import Step


def graph_json(executable: Executable) -> str:
    """The graph as JSON: nodes with their kernels and inputs, the outputs, and the shape, type and storage of each
    tensor.

    Dynamic sizes are text. Raises UnsupportedError for a graph with branches.
    """
    steps = [step for step in executable.steps if isinstance(step, Step)]
    if len(steps) < len(executable.steps):
        raise UnsupportedError("a graph with branches has no form as JSON")
    nodes: list[dict[str, Any]] = []
    entries: dict[int, list[int]] = {}
    order: list[int] = []
    written = {number for step in steps for number in step.outputs}
    for number, (spec, _) in enumerate(executable.tensors):
        if number not in written:
            entries[number] = [len(nodes), 0, 0]
            order.append(number)
            nodes.append({"op": "null", "name": spec.name, "inputs": []})
    arguments = list(range(len(nodes)))
    for step in steps:
        counts = {"num_inputs": str(len(step.inputs)), "num_outputs": str(len(step.outputs)), "flatten_data": "0"}
        for n, number in enumerate(step.outputs):
            entries[number] = [len(nodes), n, 0]
            order.append(number)
        name = f"{step.kernel}_{len(nodes)}"
        inputs = [entries[number] for number in step.inputs]
        attributes = {"func_name": step.kernel, **counts}
        nodes.append({"op": "tvm_op", "name": name, "attrs": attributes, "inputs": inputs})
    rows = [0]
    for node in nodes:
        rows.append(rows[-1] + int(node.get("attrs", {}).get("num_outputs", 1)))
    specs = [executable.tensors[number] for number in order]
    graph = {
        "nodes": nodes,
        "arg_nodes": arguments,
        "heads": [entries[number] for number in executable.returned],
        "attrs": {
            "dltype": ["list_str", [spec.dtype for spec, _ in specs]],
            "shape": ["list_shape", [list(spec.shape) for spec, _ in specs]],
            "storage_id": ["list_int", _storages([offset for _, offset in specs])],
            "workspace_offset": ["list_int", [-1 if offset is None else offset for _, offset in specs]],
        },
        "node_row_ptr": rows,
    }
    return json.dumps(graph, indent=2)


def _storages(offsets: list[int | None]) -> list[int]:
    """A storage index for each offset in the workspace, and for each tensor with memory of its own."""
    known: dict[int, int] = {}
    storages: list[int] = []
    fresh = 0
    for offset in offsets:
        if offset is not None and offset in known:
            storages.append(known[offset])
            continue
        if offset is not None:
            known[offset] = fresh
        storages.append(fresh)
        fresh += 1
    return storages
