"""Checks of graphs: each name is defined once, before its uses, and each node conforms to the schema of its
operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from onnx import defs

from ..models.errors import error_location
from ..models.types import OptionalType, SequenceType, TensorType
from .errors import OnnxError
from .graph import AttributeReference, AttributeValue, OnnxGraph, OnnxNode, used_names
from .reading import OLDEST_OPSET


def check_graph(graph: OnnxGraph, around: AbstractSet[str] = frozenset()) -> OnnxGraph:
    """Checks a graph and sorts its nodes topologically; keeps an order that is topological.

    around: the names of the enclosing graphs.  Raises OnnxError for an invalid graph.
    """
    inputs = [*(value.name for value in graph.inputs), *graph.initializers]
    results = [name for node in graph.nodes for name in node.outputs if name]
    _check_unique([*inputs, *results])
    known = {*around, *inputs, *results}
    for node in graph.nodes:
        with error_location(node.display_name):
            _check_signature(node)
            _check_references(node)
            _check_known(used_names(node), known)
    for value in graph.outputs:
        with error_location(f"output '{value.name}'"):
            _check_known([value.name], known)
    return replace(graph, nodes=tuple(_check_subgraphs(node, known) for node in _topological_order(graph.nodes)))


def _check_subgraphs(node: OnnxNode, around: AbstractSet[str]) -> OnnxNode:
    with error_location(node.display_name):
        return replace(node, attributes=node.map_subgraphs(lambda graph: check_graph(graph, around)))


def _check_unique(names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise OnnxError(f"expected one input, initializer or node that makes '{name}', got {count}")
        if not name:
            raise OnnxError("expected a name for each input and initializer, got ''")


def _check_known(names: Iterable[str], known: AbstractSet[str]) -> None:
    for name in sorted(names):
        if name not in known:
            raise OnnxError(f"'{name}' is no input, no initializer, and no node makes it")


# Order


def _topological_order(nodes: Sequence[OnnxNode]) -> Sequence[OnnxNode]:
    """The nodes in topological order; the given order if it is topological. Raises OnnxError for a cycle."""
    makers = {name: index for index, node in enumerate(nodes) for name in node.outputs if name}
    needs = [sorted({makers[name] for name in used_names(node) if name in makers}) for node in nodes]
    if all(before < index for index, befores in enumerate(needs) for before in befores):
        return nodes
    try:
        return [nodes[index] for index in TopologicalSorter(dict(enumerate(needs))).static_order()]
    except CycleError as error:
        cycle = reversed(error.args[1][1:])  # which begins and ends with the same node
        places = " <- ".join(nodes[index].display_name for index in cycle)
        raise OnnxError(f"nodes need each other: {places}") from None


# Operators


def _check_signature(node: OnnxNode) -> None:
    """Checks the numbers of operands and results and the attributes of an operator of ONNX's domains; accepts operators
    of other domains."""
    if node.domain not in _domains():
        return
    if not defs.has(node.op_type, node.version, node.domain):
        raise OnnxError(f"opset {node.version} of domain '{node.domain}' has no operator {node.op_type}")
    schema = defs.get_schema(node.op_type, node.version, node.domain)
    if not node.domain and schema.name in _CHANGED and not _is_as_in_oldest(schema):
        raise OnnxError(f"expected opset {OLDEST_OPSET} or newer, got opset {node.version}")
    _check_count("inputs", len(node.inputs), schema.min_input, schema.max_input)
    _check_count("outputs", len(node.outputs), schema.min_output, schema.max_output)
    _check_operands(node.inputs, schema.inputs)
    _check_attributes(node.attributes, schema.attributes)


_CHANGED = frozenset({"GRU", "GlobalLpPool", "LSTM", "LpPool", "RNN", "Split", "Tile"})
"""The operators whose definitions before the oldest supported opset are not read."""


def _is_as_in_oldest(schema: defs.OpSchema) -> bool:
    """Whether the definition of an operator is the one of the oldest supported opset, or newer."""
    if schema.since_version >= OLDEST_OPSET:
        return True
    return defs.get_schema(schema.name, OLDEST_OPSET).since_version == schema.since_version


@cache
def _domains() -> AbstractSet[str]:
    return {schema.domain for schema in defs.get_all_schemas()}


def _check_count(kind: str, got: int, least: int, most: int) -> None:
    if not least <= got <= most:
        expected = f"{least}" if least == most else f"at least {least}" if most > 2**30 else f"{least} to {most}"
        raise OnnxError(f"expected {expected} {kind}, got {got}")


def _check_operands(names: Sequence[str], formal: Sequence[Any]) -> None:
    """Raises OnnxError for an omitted operand that is not optional."""
    for index, name in enumerate(names):
        operand = formal[min(index, len(formal) - 1)]
        if not name and operand.option != defs.OpSchema.FormalParameterOption.Optional:
            raise OnnxError(f"operand {index} ({operand.name}) is missing")


def _check_attributes(given: Mapping[str, AttributeValue], known: Mapping[str, Any]) -> None:
    for name, attribute in known.items():
        if attribute.required and name not in given:
            raise OnnxError(f"attribute '{name}' is missing")
    for name, value in given.items():
        if name not in known:
            raise OnnxError(f"unknown attribute '{name}' (has: {', '.join(known) or 'none'})")
        kind, expected = attribute_kind(value), known[name].type.name
        if kind != expected and not (value == () and expected.endswith("S")):
            raise OnnxError(f"attribute '{name}': expected {expected}, got {kind}")


def attribute_kind(value: AttributeValue) -> str:
    """ONNX's name for the type of an attribute value."""
    if isinstance(value, tuple):
        return f"{attribute_kind(value[0])}S" if value else "INTS"
    for kind, types in _KINDS.items():
        if isinstance(value, types):
            return kind
    raise TypeError(f"no value of an attribute: {value!r}")


_KINDS: dict[str, tuple[type, ...]] = {
    "INT": (int,),
    "FLOAT": (float,),
    "STRING": (str,),
    "TENSOR": (np.ndarray,),
    "GRAPH": (OnnxGraph,),
    "TYPE_PROTO": (TensorType, SequenceType, OptionalType),
}


def _check_references(node: OnnxNode) -> None:
    for name, value in node.attributes.items():
        if isinstance(value, AttributeReference):
            raise OnnxError(f"attribute '{name}' refers to '{value.name}' of a function, and is in none")
