"""The representation of a model: graphs of nodes, with Python values and numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..models.types import Array, ValueType


@dataclass(frozen=True)
class AttributeReference:
    """The attribute `name` of the call, in the body of a function."""

    name: str


@dataclass(frozen=True)
class OnnxValue:
    """An input or output of a graph. type: None if the model does not state it, which only subgraphs may omit."""

    name: str
    type: ValueType | None


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """A node: one application of an operator. inputs, outputs: names of values, "" for an omitted optional value.

    version: the opset of the domain that defines the operator; in inlined functions it may differ from the opset of the
    model.
    domain: "" for ONNX's own operators.
    """

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict[str, "AttributeValue"])
    name: str = ""
    domain: str = ""
    version: int = 0
    overload: str = ""

    @property
    def display_name(self) -> str:
        """The name of the node in messages: `node 'conv1' (Conv)`."""
        op = f"{self.domain}.{self.op_type}" if self.domain else self.op_type
        if self.name:
            return f"node '{self.name}' ({op})"
        result = next(filter(None, self.outputs), None)
        return f"a node ({op})" if result is None else f"the node of '{result}' ({op})"

    @property
    def subgraphs(self) -> Iterator[OnnxGraph]:
        """The graphs among the attributes."""
        for value in self.attributes.values():
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, OnnxGraph):
                    yield item

    def map_subgraphs(self, change: Callable[[OnnxGraph], OnnxGraph]) -> Mapping[str, AttributeValue]:
        """The attributes, with `change` applied to the graphs among them."""

        def apply(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(apply(item) for item in value)
            return change(value) if isinstance(value, OnnxGraph) else value

        return {name: apply(value) for name, value in self.attributes.items()}


@dataclass(frozen=True, eq=False)
class OnnxGraph:
    """A graph: its nodes in topological order.

    inputs: the inputs without an initializer.  initializers: read-only arrays by name; views for data in a file beside
    the model.  opset: the version of each domain.
    """

    name: str
    inputs: tuple[OnnxValue, ...]
    outputs: tuple[OnnxValue, ...]
    nodes: tuple[OnnxNode, ...]
    initializers: Mapping[str, Array]
    opset: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class OnnxFunction:
    """An operator defined by nodes. defaults: values of attributes that a call may omit."""

    name: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[OnnxNode, ...]
    defaults: Mapping[str, AttributeValue]
    overload: str = ""


AttributeValue: TypeAlias = (
    int
    | float
    | str
    | Array
    | OnnxGraph
    | ValueType
    | AttributeReference
    | tuple[int, ...]
    | tuple[float, ...]
    | tuple[str, ...]
    | tuple[Array, ...]
    | tuple[OnnxGraph, ...]
    | tuple[ValueType, ...]
)


def free_names(nodes: Sequence[OnnxNode]) -> set[str]:
    """The names of values used by `nodes` or their subgraphs and defined outside of them."""
    results = {name for node in nodes for name in node.outputs}
    return {name for node in nodes for name in used_names(node)} - results


def used_names(node: OnnxNode) -> set[str]:
    """The names of values used by a node: its inputs, and the free names of its subgraphs."""
    used = set(filter(None, node.inputs))
    for graph in node.subgraphs:
        local = {value.name for value in graph.inputs} | graph.initializers.keys()
        results = {value.name for value in graph.outputs} - {name for inner in graph.nodes for name in inner.outputs}
        used |= (free_names(graph.nodes) | results) - local
    return used
