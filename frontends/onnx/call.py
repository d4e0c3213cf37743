"""The view of a node that an importer receives: operands as values, attributes by name, and a builder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..models.call import OperatorCall
from ..models.types import Array
from ..models.values import Item, ModelObject, ModelTensor, known_integers
from .errors import OnnxError, OnnxUnsupportedError
from .graph import OnnxGraph, OnnxNode

if TYPE_CHECKING:
    from .importing import GraphScope


@dataclass(frozen=True)
class Call(OperatorCall):
    """A node with its operands. scope: the values visible to the subgraphs of the node."""

    node: OnnxNode
    inputs: Sequence[Item]
    scope: GraphScope = field(repr=False)

    @property
    def version(self) -> int:
        return self.node.version

    @property
    def op_type(self) -> str:
        return self.node.op_type

    # Operands

    def item(self, index: int) -> Item:
        """The operand at `index`; None if it is omitted."""
        return self.inputs[index] if index < len(self.inputs) else None

    def has(self, index: int) -> bool:
        """Whether the operand at `index` is present."""
        return index < len(self.node.inputs) and self.node.inputs[index] != ""

    def optional(self, index: int) -> ModelTensor | None:
        """The tensor operand at `index`; None if it is omitted. Raises OnnxError for an object of the program, and
        for a sequence."""
        operand = self.item(index)
        if isinstance(operand, list):
            raise OnnxError(f"operand {index} is a sequence, expected a tensor")
        if isinstance(operand, ModelObject):
            raise OnnxError(f"operand {index} is of type {operand.type}, expected a tensor")
        return operand

    def tensor(self, index: int = 0) -> ModelTensor:
        """The tensor operand at `index`. Raises OnnxError for a missing operand or a sequence."""
        operand = self.optional(index)
        if operand is None:
            raise OnnxError(f"operand {index} is missing")
        return operand

    def tensor_of_rank(self, index: int, rank: int) -> ModelTensor:
        """The tensor operand at `index`. Raises OnnxError for another rank."""
        tensor = self.tensor(index)
        if tensor.rank != rank:
            raise OnnxError(f"operand {index} has {tensor.rank} dimensions, expected {rank}")
        return tensor

    @property
    def tensors(self) -> list[ModelTensor]:
        """All operands, which must be tensors."""
        return [self.tensor(index) for index in range(len(self.inputs))]

    def sequence(self, index: int = 0) -> list[Item]:
        """The sequence operand at `index`. Raises OnnxError for other operands."""
        operand = self.item(index)
        if not isinstance(operand, list):
            raise OnnxError(f"operand {index} is no sequence")
        return operand

    def constant_elements(self, index: int, what: str) -> Array | None:
        """The elements of a constant operand, symbols among them; None if the operand is omitted. Raises
        OnnxUnsupportedError for an operand computed at run time. what: the name of the operand in the error."""
        operand = self.optional(index)
        if operand is None:
            return None
        if operand.known_elements is None:
            raise OnnxUnsupportedError(f"{what} of {self.op_type} is known only when the model runs")
        return operand.known_elements

    def constant_vector(self, index: int, what: str) -> Array | None:
        """The elements of a constant operand of one dimension, symbols among them; None if the operand is omitted."""
        elements = self.constant_elements(index, what)
        if elements is not None and elements.ndim != 1:
            raise OnnxError(f"{what} of {self.op_type} has {elements.ndim} dimensions, expected one")
        return elements

    def required_vector(self, index: int, what: str) -> Array:
        """The elements of a constant operand of one dimension, symbols among them."""
        elements = self.constant_vector(index, what)
        if elements is None:
            raise OnnxError(f"operand {index} ({what}) is missing")
        return elements

    def constant_integers(self, index: int, what: str) -> tuple[int, ...] | None:
        """The elements of a constant operand as integers, without symbols; None if the operand is omitted."""
        elements = self.constant_elements(index, what)
        return None if elements is None else known_integers(elements.ravel(), f"{what} of {self.op_type}")

    def constant_scalar(self, index: int, what: str, default: Any = None) -> Any:
        """The single element of a constant operand; `default` if the operand is omitted."""
        elements = self.constant_elements(index, what)
        if elements is None:
            return default
        if elements.size != 1:
            raise OnnxError(f"{what} of {self.op_type} has {elements.size} elements, expected one")
        return elements.ravel()[0]

    # Attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        """The attribute `name`; `default` if it is absent."""
        return self.node.attributes.get(name, default)

    def integer(self, name: str, default: int = 0) -> int:
        return int(self.attribute(name, default))

    def integers(self, name: str) -> tuple[int, ...] | None:
        values = self.attribute(name)
        return None if values is None else tuple(int(each) for each in values)

    def floating(self, name: str, default: float = 0.0) -> float:
        return float(self.attribute(name, default))

    def text(self, name: str, default: str = "") -> str:
        return str(self.attribute(name, default))

    def choice(self, name: str, *words: str) -> str:
        """The attribute `name`, one of `words`; the first word if the attribute is absent. Raises OnnxError for another
        value."""
        word = self.text(name, words[0])
        if word not in words:
            raise OnnxError(f"attribute '{name}': expected {', '.join(words[:-1])} or {words[-1]}, got {word!r}")
        return word

    def integers_attribute(self, name: str, count: int, default: int, least: int) -> list[int]:
        """The attribute `name`, `count` integers; `default` for each if the attribute is absent. Raises OnnxError for
        another count, and for integers less than `least`."""
        integers = self.integers(name) or (default,) * count
        if len(integers) != count or min(integers, default=least) < least:
            raise OnnxError(f"attribute '{name}': expected {count} numbers from {least} on, got {list(integers)}")
        return list(integers)

    def graph(self, name: str) -> OnnxGraph:
        graph = self.attribute(name)
        if not isinstance(graph, OnnxGraph):
            raise OnnxError(f"attribute '{name}' is no graph")
        return graph

    @property
    def used_result_count(self) -> int:
        """The number of results up to and including the last used result."""
        return max((n + 1 for n, name in enumerate(self.node.outputs) if name), default=0)

    def apply_operator(self, op_type: str, *inputs: Item, **attributes: Any) -> Any:
        """The result of another ONNX operator of the same version."""
        return self.scope.apply(op_type, inputs, attributes, self.node)
