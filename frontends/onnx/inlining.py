"""Functions written out where they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeAlias

from .errors import OnnxError, located
from .graph import AttributeReference, AttributeValue, OnnxFunction, OnnxGraph, OnnxNode, OnnxValue

Key: TypeAlias = tuple[str, str, str]
"""What a call names: domain, operator, overload."""

Functions: TypeAlias = Mapping[Key, OnnxFunction]


def function_key(function: OnnxFunction) -> Key:
    """How nodes call a function."""
    return function.domain, function.name, function.overload


def inline_functions(graph: OnnxGraph, functions: Functions, inside: tuple[Key, ...] = ()) -> OnnxGraph:
    """A graph whose nodes, and those inside of it, call none of the functions.

    Raises OnnxError for functions that call themselves.
    """
    return replace(graph, nodes=tuple(_inlined(graph.nodes, functions, inside)))


def _inlined(nodes: Sequence[OnnxNode], functions: Functions, inside: tuple[Key, ...]) -> Iterator[OnnxNode]:
    for node in nodes:
        key = (node.domain, node.op_type, node.overload)
        if key not in functions:
            yield replace(node, attributes=node.map_subgraphs(lambda graph: inline_functions(graph, functions, inside)))
            continue
        with located(node.place):
            if key in inside:
                raise OnnxError("a function that calls itself")
            yield from _inlined(instantiate(functions[key], node), functions, (*inside, key))


def instantiate(function: OnnxFunction, call: OnnxNode) -> list[OnnxNode]:
    """The nodes of a function in place of a call. What is local to it gets names that start with a result's.

    Raises OnnxError for more operands or results than the function has.
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
    given = {**function.defaults, **call.attributes}

    def rename(name: str) -> str:
        return names[name] if name in names else prefix + name

    nodes = [_instance(node, rename, given) for node in function.nodes]
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
        attributes=dict(_resolved(attributes, given)),
    )


def _resolved(
    attributes: Mapping[str, AttributeValue], given: Mapping[str, AttributeValue]
) -> Iterator[tuple[str, AttributeValue]]:
    """Attributes with the caller's in place of references; one that it leaves out is left out."""
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
