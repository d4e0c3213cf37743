"""The view of a node that an importer receives: arguments by the names of ATen's schemas, and a builder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.dtypes import numpy_dtype
from ..models.call import OperatorCall, normalized_axis
from ..models.errors import ModelError
from ..models.symbols import Symbol
from ..models.types import Array
from ..models.values import ModelTensor, known_integers, tensor_of_array
from .library import torch
from .tensors import dtype_name


@dataclass(frozen=True)
class Call(OperatorCall):
    """A node with its arguments. arguments: by name, with the defaults of the schema; tensors as `ModelTensor`, sizes
    as integers and symbols.  examples: the arguments with the tensors of the export, which have types and no elements.
    """

    node: Any
    arguments: Mapping[str, Any]
    examples: Mapping[str, Any]

    @property
    def op_type(self) -> str:
        return str(self.node.target)

    @property
    def operator(self) -> str:
        """The name of the operator without its overload: `add`."""
        return self.op_type.split(".")[1]

    # Arguments

    def get(self, name: str, default: Any = None) -> Any:
        """An argument; `default` if it is None, or if the schema has no such argument."""
        value = self.arguments.get(name)
        return default if value is None else value

    def tensor(self, name: str = "self") -> ModelTensor:
        """A tensor argument. Raises ModelError for another argument."""
        value = self.arguments.get(name)
        if not isinstance(value, ModelTensor):
            raise ModelError(f"argument '{name}' is {value!r}, expected a tensor")
        return value

    def optional(self, name: str) -> ModelTensor | None:
        """A tensor argument; None if it is omitted."""
        return None if self.arguments.get(name) is None else self.tensor(name)

    def tensors(self, name: str = "tensors") -> list[ModelTensor]:
        """A list of tensors."""
        return list(self.arguments[name])

    def operand(self, name: str, dtype: str) -> ModelTensor:
        """A tensor, number or size argument as a tensor of a data type."""
        return self.as_tensor(self.arguments[name], dtype)

    def as_tensor(self, value: Any, dtype: str) -> ModelTensor:
        """A tensor, number or size as a tensor of a data type."""
        if isinstance(value, ModelTensor):
            return self.cast(value, dtype)
        if isinstance(value, Symbol):
            return self.cast(self.builder.size_value(value), dtype)
        return tensor_of_array(np.asarray(value).astype(numpy_dtype(dtype)))

    def operands(self, *names: str) -> list[ModelTensor]:
        """Arguments as tensors of the data type to which PyTorch promotes them."""
        dtype = self.common_dtype(*names)
        return [self.operand(name, dtype) for name in names]

    def common_dtype(self, first: str, second: str) -> str:
        """The data type to which PyTorch promotes two arguments."""
        return dtype_name(torch.result_type(*(_plain_number(self.examples[name]) for name in (first, second))))

    def integers(self, name: str, what: str = "") -> tuple[int, ...]:
        """Integers; an omitted argument is empty, one integer a list of one. Raises ModelUnsupportedError for symbols.
        what: the name of the integers in the error."""
        value = self.get(name, ())
        sizes = value if isinstance(value, Sequence) else (value,)
        return known_integers(sizes, what or f"{name} of {self.op_type}")

    def window(self, name: str, rank: int, default: int | Sequence[int] = ()) -> list[int]:
        """Integers for `rank` spatial dimensions, of which one stands for all. default: for an empty argument."""
        values = self.integers(name) or ((default,) if isinstance(default, int) else tuple(default))
        return list(values) * rank if len(values) == 1 else list(values)

    def axis(self, name: str = "dim", of: str = "self") -> int:
        """An axis of a tensor argument, counted from 0."""
        return normalized_axis(self.arguments[name], max(self.tensor(of).rank, 1))

    def axes(self, name: str = "dim") -> list[int]:
        """Axes of the argument `self`, counted from 0; all axes if the argument is omitted or empty."""
        rank = self.tensor().rank
        given = self.integers(name)
        return [normalized_axis(axis, max(rank, 1)) for axis in given if rank] if given else list(range(rank))

    # Results

    @property
    def result_dtype(self) -> str:
        """The data type of the result, or of the first of several results."""
        value = self.node.meta["val"]
        return dtype_name((value[0] if isinstance(value, tuple | list) else value).dtype)

    def result_is_used(self, index: int) -> bool:
        """Whether a node reads one of several results."""
        return any(user.args[1] == index for user in self.node.users)

    def filled(self, shape: Any, value: Any, dtype: str) -> ModelTensor:
        """A tensor with equal elements. value: a number or a size."""
        if isinstance(value, Symbol):
            return self.builder.expand(self.as_tensor(value, dtype), shape)
        element: Array = np.asarray(value).astype(numpy_dtype(dtype))
        return self.builder.full(shape, element)

    def static_extent(self, data: ModelTensor, axis: int) -> int:
        """An extent of a tensor as an integer. Raises ModelUnsupportedError for a symbolic extent."""
        return known_integers([data.shape[axis]], f"axis {axis} of an operand of {self.op_type}, of extent")[0]


def _plain_number(value: Any) -> Any:
    """A symbolic number as a number of its type, by which PyTorch promotes."""
    return 1 if isinstance(value, torch.SymInt) else 1.0 if isinstance(value, torch.SymFloat) else value
