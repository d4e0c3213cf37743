"""A node as its importer sees it: operands as values, attributes by name, and a builder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.dtypes import parse_dtype
from .building import Builder
from .errors import OnnxError, OnnxUnsupportedError
from .graph import Array, OnnxGraph, OnnxNode
from .values import Item, Tensor, known_numbers, of_array, require_dtype

if TYPE_CHECKING:
    from .importing import Scope


@dataclass(frozen=True)
class Call:
    """An operator and what it is given. scope: what the graphs inside of the node may use."""

    node: OnnxNode
    inputs: Sequence[Item]
    builder: Builder
    scope: Scope = field(repr=False)

    @property
    def version(self) -> int:
        return self.node.version

    @property
    def op_type(self) -> str:
        return self.node.op_type

    # Operands

    def item(self, index: int) -> Item:
        """An operand; None for one that is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def has(self, index: int) -> bool:
        """Whether an operand is given."""
        return index < len(self.node.inputs) and self.node.inputs[index] != ""

    def optional(self, index: int) -> Tensor | None:
        """An operand that is a tensor, if it is given."""
        found = self.item(index)
        if isinstance(found, list):
            raise OnnxError(f"operand {index} is a sequence, expected a tensor")
        return found

    def tensor(self, index: int = 0) -> Tensor:
        """An operand that is a tensor."""
        found = self.optional(index)
        if found is None:
            raise OnnxError(f"operand {index} is missing")
        return found

    @property
    def tensors(self) -> list[Tensor]:
        """All operands."""
        return [self.tensor(index) for index in range(len(self.inputs))]

    def sequence(self, index: int = 0) -> list[Item]:
        """An operand that is a sequence."""
        found = self.item(index)
        if not isinstance(found, list):
            raise OnnxError(f"operand {index} is no sequence")
        return found

    def known(self, index: int, what: str) -> Array | None:
        """The elements of an operand, which may have symbols; None if it is left out. OnnxUnsupportedError if they are
        computed. what: how the error calls it."""
        found = self.optional(index)
        if found is None:
            return None
        if found.known is None:
            raise OnnxUnsupportedError(f"{what} of {self.op_type} is known only when the model runs")
        return found.known

    def numbers(self, index: int, what: str) -> tuple[int, ...] | None:
        """The elements of an operand as integers, none of them a symbol; None if it is left out."""
        found = self.known(index, what)
        return None if found is None else known_numbers(found.ravel(), f"{what} of {self.op_type}")

    def number(self, index: int, what: str, default: Any = None) -> Any:
        """The one element of an operand."""
        found = self.known(index, what)
        if found is None:
            return default
        if found.size != 1:
            raise OnnxError(f"{what} of {self.op_type} has {found.size} elements, expected one")
        return found.ravel()[0]

    # Attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute, or what it is if it is not there."""
        return self.node.attributes.get(name, default)

    def integer(self, name: str, default: int = 0) -> int:
        return int(self.attribute(name, default))

    def integers(self, name: str) -> tuple[int, ...] | None:
        found = self.attribute(name)
        return None if found is None else tuple(int(each) for each in found)

    def floating(self, name: str, default: float = 0.0) -> float:
        return float(self.attribute(name, default))

    def text(self, name: str, default: str = "") -> str:
        return str(self.attribute(name, default))

    def choice(self, name: str, *words: str) -> str:
        """An attribute that is one of some words, the first of them if it is not there. OnnxError for another one."""
        found = self.text(name, words[0])
        if found not in words:
            raise OnnxError(f"attribute '{name}': expected {', '.join(words[:-1])} or {words[-1]}, got {found!r}")
        return found

    def each(self, name: str, count: int, default: int, least: int) -> list[int]:
        """An attribute of so many numbers, `default` each if it is not there. OnnxError for others, and for less."""
        found = self.integers(name) or (default,) * count
        if len(found) != count or min(found, default=least) < least:
            raise OnnxError(f"attribute '{name}': expected {count} numbers from {least} on, got {list(found)}")
        return list(found)

    def graph(self, name: str) -> OnnxGraph:
        found = self.attribute(name)
        if not isinstance(found, OnnxGraph):
            raise OnnxError(f"attribute '{name}' is no graph")
        return found

    def refuse(self, condition: Any, what: str) -> None:
        """OnnxUnsupportedError if something holds. what: that which is not supported."""
        if condition:
            raise OnnxUnsupportedError(f"{self.op_type}: {what} is not supported")

    @property
    def asked(self) -> int:
        """How many results are used, those in front of the last one counted."""
        return max((n + 1 for n, name in enumerate(self.node.outputs) if name), default=0)

    # Computing

    def op(self, name: str, *operands: Tensor, **attributes: object) -> Tensor:
        """The tensor that an operator computes."""
        return self.builder.op(name, *operands, **attributes)

    def ops(self, name: str, *operands: Tensor, **attributes: object) -> list[Tensor]:
        """The tensors that an operator computes."""
        return self.builder.ops(name, *operands, **attributes)

    def scalar(self, name: str, data: Tensor, value: float) -> Tensor:
        """An operator on a tensor and a number."""
        return self.builder.scalar(name, data, value)

    def cast(self, data: Tensor, dtype: str) -> Tensor:
        return self.builder.cast(data, require_dtype(dtype))

    def chain(self, data: Tensor, *names: str) -> Tensor:
        """Operators without attributes, one behind the other."""
        for name in names:
            data = self.op(name, data)
        return data

    def constant(self, array: Any, dtype: str | None = None) -> Tensor:
        """A known tensor."""
        return of_array(np.asarray(array) if dtype is None else np.asarray(array).astype(dtype))

    def widened(self, data: Tensor) -> Tensor:
        """Floats of at most 16 bits as float32, others as they are."""
        return self.cast(data, "float32") if parse_dtype(require_dtype(data.dtype)).is_small_float else data

    def again(self, op_type: str, *inputs: Item, **attributes: Any) -> Any:
        """What another operator of ONNX gives, of the same version."""
        return self.scope.apply(op_type, inputs, attributes, self.node)


def axis_in(axis: Any, rank: int) -> int:
    """An axis from 0 on. OnnxError for one that a tensor does not have."""
    if not -rank <= axis < max(rank, 1):
        raise OnnxError(f"axis {axis} of {rank} dimensions")
    return int(axis) % max(rank, 1)
