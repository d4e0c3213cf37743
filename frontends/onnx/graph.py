"""What is left of a model when it is read: graphs of nodes, in Python values and numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

Dimension: TypeAlias = int | str
"""An extent, or the name of one that is known when the model runs."""


@dataclass(frozen=True)
class TensorType:
    """A tensor. dtype: numpy's or ml_dtypes' name, or `string`.  shape: None if not even the rank is known."""

    dtype: str
    shape: tuple[Dimension, ...] | None

    def __str__(self) -> str:
        return self.dtype if self.shape is None else f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class SequenceType:
    """A list of values of one type."""

    element: ValueType

    def __str__(self) -> str:
        return f"sequence({self.element})"


@dataclass(frozen=True)
class OptionalType:
    """A value or none."""

    element: ValueType

    def __str__(self) -> str:
        return f"optional({self.element})"


ValueType: TypeAlias = TensorType | SequenceType | OptionalType


@dataclass(frozen=True)
class AttributeReference:
    """Inside a function: what its caller gives for the attribute `name`."""

    name: str


@dataclass(frozen=True)
class OnnxValue:
    """An input or output of a graph. type: None where the model does not say, which only subgraphs may do."""

    name: str
    type: ValueType | None


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """One operator. inputs, outputs: names of values, "" for an optional one that is left out.

    version: the opset of its domain by which it is to be read, which in inlined functions may not be the model's.
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
    def place(self) -> str:
        """How messages call it: `node 'conv1' (Conv)`."""
        op = f"{self.domain}.{self.op_type}" if self.domain else self.op_type
        if self.name:
            return f"node '{self.name}' ({op})"
        made = next(filter(None, self.outputs), None)
        return f"a node ({op})" if made is None else f"the node of '{made}' ({op})"

    @property
    def subgraphs(self) -> Iterator[OnnxGraph]:
        """The graphs among its attributes."""
        for value in self.attributes.values():
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, OnnxGraph):
                    yield item

    def map_subgraphs(self, change: Callable[[OnnxGraph], OnnxGraph]) -> Mapping[str, AttributeValue]:
        """Its attributes with `change` made to the graphs among them."""

        def changed(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(changed(item) for item in value)
            return change(value) if isinstance(value, OnnxGraph) else value

        return {name: changed(value) for name, value in self.attributes.items()}


@dataclass(frozen=True, eq=False)
class OnnxGraph:
    """Nodes, each behind those whose results it uses.

    inputs: without those that have an initializer.  initializers: what is known of the start, arrays that cannot be
    written; of a file beside the model they are views.  opset: the version of each domain.
    """

    name: str
    inputs: tuple[OnnxValue, ...]
    outputs: tuple[OnnxValue, ...]
    nodes: tuple[OnnxNode, ...]
    initializers: Mapping[str, Array]
    opset: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class OnnxFunction:
    """An operator made of others. defaults: of attributes that the caller need not give."""

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


def dtype_name(dtype: np.dtype[Any]) -> str:
    """How a `TensorType` calls the data type of an array."""
    return "string" if dtype == np.dtype(object) else dtype.name


def free_names(nodes: Sequence[OnnxNode]) -> set[str]:
    """The values that nodes use and that none of them, nor a graph inside, makes."""
    made = {name for node in nodes for name in node.outputs}
    return {name for node in nodes for name in used_names(node)} - made


def used_names(node: OnnxNode) -> set[str]:
    """The values a node needs: its inputs, and what its subgraphs take from around them."""
    used = set(filter(None, node.inputs))
    for graph in node.subgraphs:
        local = {value.name for value in graph.inputs} | graph.initializers.keys()
        results = {value.name for value in graph.outputs} - {name for inner in graph.nodes for name in inner.outputs}
        used |= (free_names(graph.nodes) | results) - local
    return used
