"""Inlining of functions into their calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeAlias

from ..models.errors import error_location
from ..models.limits import MOST_NESTED, NodeBudget
from .errors import OnnxError, OnnxUnsupportedError
from .graph import AttributeReference, AttributeValue, OnnxFunction, OnnxGraph, OnnxNode, OnnxValue

Key: TypeAlias = tuple[str, str, str]
"""The identity of a function in a call: domain, operator, overload."""

Functions: TypeAlias = Mapping[Key, OnnxFunction]


def function_key(function: OnnxFunction) -> Key:
    """The key by which nodes call a function."""
    return function.domain, function.name, function.overload


def inline_functions(graph: OnnxGraph, functions: Functions) -> OnnxGraph:
    """Inlines all calls of functions in a graph and its subgraphs.

    Raises OnnxError for a recursive function, OnnxUnsupportedError for too many nodes and for calls nested too deeply.
    """
    return _Inlining(functions).graph(graph, ())


class _Inlining:
    """The inlining of the functions of a model. budget: the nodes that bodies of functions may still add."""

    def __init__(self, functions: Functions):
        self.functions = functions
        self.budget = NodeBudget()

    def graph(self, graph: OnnxGraph, inside: tuple[Key, ...]) -> OnnxGraph:
        """Inlines the calls in a graph. inside: the functions whose calls it replaces, outermost first."""
        return replace(graph, nodes=tuple(self.nodes(graph.nodes, inside)))

    def nodes(self, nodes: Sequence[OnnxNode], inside: tuple[Key, ...]) -> Iterator[OnnxNode]:
        """Inlines the calls among nodes."""
        for node in nodes:
            key = (node.domain, node.op_type, node.overload)
            if key not in self.functions:
                yield replace(node, attributes=node.map_subgraphs(lambda graph: self.graph(graph, inside)))
                continue
            with error_location(node.display_name):
                yield from self.nodes(self.body(key, node, inside), (*inside, key))

    def body(self, key: Key, call: OnnxNode, inside: tuple[Key, ...]) -> list[OnnxNode]:
        """The nodes that replace a call."""
        if key in inside:
            raise OnnxError("a function that calls itself")
        if len(inside) == MOST_NESTED:
            raise OnnxUnsupportedError(f"calls of functions in functions, expected {MOST_NESTED} at most")
        self.budget.spend(len(self.functions[key].nodes))
        return instantiate(self.functions[key], call)


def instantiate(function: OnnxFunction, call: OnnxNode) -> list[OnnxNode]:
    """The nodes of a function that replace a call. Its local values are renamed: the name of a result is their prefix.

    Raises OnnxError for a call with more operands or results than the function has.
    """
    for kind, formal, actual in (
        ("inputs", function.inputs, call.inputs),
        ("outputs", function.outputs, call.outputs),
    ):
        if len(actual) > len(formal):
            raise OnnxError(f"function '{function.name}' has {len(formal)} {kind}, got {len(actual)}")
    prefix = f"{next(filter(None, call.outputs), call.name)}/{call.op_type}/"
    names = {"": "", **dict(zip_longest(function.inputs, call.inputs, fillvalue=""))}
    results = {formal: actual for formal, actual in zip(function.outputs, call.outputs, strict=False) if actual}
    passed = [formal for formal in results if formal in names]
    names |= {formal: actual for formal, actual in results.items() if formal not in passed}
    attributes = {**function.defaults, **call.attributes}

    def rename(name: str) -> str:
        return names[name] if name in names else prefix + name

    nodes = [_instance(node, rename, attributes) for node in function.nodes]
    version = max((node.version for node in function.nodes if not node.domain), default=call.version)
    return nodes + [
        OnnxNode("Identity", (names[formal],), (results[formal],), version=version or 13) for formal in passed
    ]


def _instance(node: OnnxNode, rename: Callable[[str], str], given: Mapping[str, AttributeValue]) -> OnnxNode:
    attributes = node.map_subgraphs(lambda graph: _graph_instance(graph, rename, given))
    return replace(
        node,
        name=rename(node.name) if node.name else "",
        inputs=tuple(map(rename, node.inputs)),
        outputs=tuple(map(rename, node.outputs)),
        attributes=dict(_resolve_references(attributes, given)),
    )


def _resolve_references(
    attributes: Mapping[str, AttributeValue], given: Mapping[str, AttributeValue]
) -> Iterator[tuple[str, AttributeValue]]:
    """The attributes, with references replaced by the attributes of the call; references to omitted attributes are
    dropped."""
    for name, value in attributes.items():
        if not isinstance(value, AttributeReference):
            yield name, value
        elif value.name in given:
            yield name, given[value.name]


def _graph_instance(graph: OnnxGraph, rename: Callable[[str], str], given: Mapping[str, AttributeValue]) -> OnnxGraph:
    return replace(
        graph,
        inputs=tuple(OnnxValue(rename(value.name), value.type) for value in graph.inputs),
        outputs=tuple(OnnxValue(rename(value.name), value.type) for value in graph.outputs),
        nodes=tuple(_instance(node, rename, given) for node in graph.nodes),
        initializers={rename(name): array for name, array in graph.initializers.items()},
    )
