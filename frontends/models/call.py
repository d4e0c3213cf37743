"""`OperatorCall`: an application of an operator of a model, with the operators of Stepwell to build its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.dtypes import parse_dtype
from .building import Builder
from .errors import ModelError, ModelUnsupportedError
from .values import ModelTensor, require_dtype, tensor_of_array


@dataclass(frozen=True)
class OperatorCall:
    """An application of an operator of a model. builder: inserts operators into the graph."""

    builder: Builder

    @property
    def op_type(self) -> str:
        """The name of the operator in the model."""
        raise NotImplementedError

    def raise_unsupported_if(self, condition: Any, what: str) -> None:
        """Raises ModelUnsupportedError if `condition` is true. what: the unsupported feature."""
        if condition:
            raise ModelUnsupportedError(f"{self.op_type}: {what} is not supported")

    # Computing

    def op(self, name: str, *operands: ModelTensor, **attributes: object) -> ModelTensor:
        """The first result of a relay operator."""
        return self.builder.op(name, *operands, **attributes)

    def ops(self, name: str, *operands: ModelTensor, **attributes: object) -> list[ModelTensor]:
        """The results of a relay operator."""
        return self.builder.ops(name, *operands, **attributes)

    def scalar(self, name: str, data: ModelTensor, value: float) -> ModelTensor:
        """The result of a binary relay operator on a tensor and a scalar."""
        return self.builder.scalar(name, data, value)

    def cast(self, data: ModelTensor, dtype: str) -> ModelTensor:
        return self.builder.cast(data, require_dtype(dtype))

    def chain(self, data: ModelTensor, *names: str) -> ModelTensor:
        """Applies unary operators without attributes in sequence."""
        for name in names:
            data = self.op(name, data)
        return data

    def constant(self, array: Any, dtype: str | None = None) -> ModelTensor:
        """A constant tensor."""
        return tensor_of_array(np.asarray(array) if dtype is None else np.asarray(array).astype(dtype))

    def widen_small_floats(self, data: ModelTensor) -> ModelTensor:
        """Converts floats of at most 16 bits to float32; returns other tensors unchanged."""
        return self.cast(data, "float32") if parse_dtype(require_dtype(data.dtype)).is_small_float else data


def normalized_axis(axis: Any, rank: int) -> int:
    """An axis of a tensor of rank `rank` as an index from 0. Raises ModelError for an axis out of range."""
    if not -rank <= axis < rank:
        raise ModelError(f"axis {axis} of {rank} dimensions")
    return int(axis) % rank
