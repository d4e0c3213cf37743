"""Models of ONNX that break rules of ONNX as TVM permits: in the form that the rules require."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module
from typing import Any

POSITIONS = {"Expand": 1, "Reshape": 1, "Trilu": 1}
"""The operators with an operand of sizes or numbers of int64, and its position."""
DOMAINS = {"com.microsoft": 1, "ai.onnx.ml": 3}
"""The version of each domain in models that use it without importing it."""


def valid_model(model: Any, opset: int) -> Any:
    """A model with an opset for the domain of ONNX if it states none, and for other domains of its nodes; with casts of
    sizes of int32 to int64; without the reduction `update` of scattering, which is none. A valid model, and what is no
    message of ONNX, is itself."""
    if getattr(model, "opset_import", None) is None:
        return model
    onnx: Any = import_module("onnx")
    stated = {each.domain for each in model.opset_import}
    domains = sorted({node.domain for node in model.graph.node} & DOMAINS.keys() - stated)
    narrow = set(_narrow_values(model.graph, onnx.TensorProto.INT32))
    is_valid = stated & {"", "ai.onnx"} and not domains
    if is_valid and not any(_has_update(each) or _is_narrow(each, narrow) for each in model.graph.node):
        return model
    copy = type(model)()
    copy.CopyFrom(model)
    if not stated & {"", "ai.onnx"}:
        copy.opset_import.add().version = opset
    for domain in domains:
        imported = copy.opset_import.add()
        imported.domain, imported.version = domain, DOMAINS[domain]
    for node in copy.graph.node:
        for attribute in node.attribute if _has_update(node) else ():
            attribute.s = b"none" if attribute.name == "reduction" else attribute.s
    _cast_sizes(copy.graph, narrow)
    return copy


def _has_update(node: Any) -> bool:
    """Whether a node scatters with the reduction `update`."""
    return node.op_type.startswith("Scatter") and any(
        (each.name, each.s) == ("reduction", b"update") for each in node.attribute
    )


def _is_narrow(node: Any, narrow: Collection[str]) -> bool:
    """Whether a node has an operand of sizes among the values of int32."""
    position = POSITIONS.get(node.op_type, len(node.input))
    return not node.domain and position < len(node.input) and node.input[position] in narrow


def _cast_sizes(graph: Any, narrow: Collection[str]) -> None:
    """Inserts casts of operands of int32 that are sizes."""
    onnx: Any = import_module("onnx")
    nodes: list[Any] = []
    for node in graph.node:
        if _is_narrow(node, narrow):
            position = POSITIONS[node.op_type]
            wide = f"{node.input[position]}_of_{len(nodes)}"
            nodes.append(onnx.helper.make_node("Cast", [node.input[position]], [wide], to=onnx.TensorProto.INT64))
            node.input[position] = wide
        nodes.append(node)
    if len(nodes) > len(graph.node):
        copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)


def _narrow_values(graph: Any, kind: int) -> Iterator[str]:
    """The names of inputs and constants of a data type."""
    yield from (each.name for each in graph.input if each.type.tensor_type.elem_type == kind)
    yield from (each.name for each in graph.initializer if each.data_type == kind)
    for node in graph.node:
        values = [each.t for each in node.attribute if each.name == "value"]
        if node.op_type == "Constant" and values and values[0].data_type == kind:
            yield node.output[0]
