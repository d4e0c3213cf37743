"""Writing graphs: operators whose result types are inferred, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.dtypes import dtype_of_numpy
from .. import operator_of
from .functions import ConstantOp, IfOp
from .operators import OPERATIONS
from .types import dtype_of_tensor, tensor_type

Array: TypeAlias = npt.NDArray[Any]
OpT = TypeVar("OpT", bound=Operation)


class RelayBuilder:
    """Inserts ops at a point of a graph.

    point: where, or the block at whose end.  constants: arrays by name, to which those of constants are added; they
    belong to the module.  location: what the user wrote that ops are inserted for.
    """

    def __init__(
        self,
        point: InsertPoint | Block,
        constants: dict[str, Array] | None = None,
        location: LocationAttr | None = None,
    ):
        self.point = InsertPoint.at_end(point) if isinstance(point, Block) else point
        self.constants = {} if constants is None else constants
        self.location = location or UnknownLoc()

    def insert(self, op: OpT) -> OpT:
        """Insert an op at the point."""
        op.location = self.location
        Rewriter.insert_op(op, self.point)
        return op

    def operators(self, name: str, *operands: SSAValue, **attributes: object) -> Sequence[OpResult]:
        """The tensors that an operator computes: `builder.operators("split", x, indices_or_sections=2)`.

        UnknownOperatorError, and TeError for operands and attributes that do not go together.
        """
        operator_of(name)
        return self.insert(OPERATIONS[name](operands, attributes)).outputs

    def operator(self, name: str, *operands: SSAValue, **attributes: object) -> OpResult:
        """The tensor that an operator computes, or the first of several. Errors as of `operators`."""
        return self.operators(name, *operands, **attributes)[0]

    def constant(self, array: Array, name: str = "constant") -> SSAValue:
        """A constant. One number is written where it is used, other arrays stand beside the module.

        name: what the array shall be called; a number is added to one that is taken by another array.
        """
        type = tensor_type(array.shape, dtype_of_numpy(array.dtype))
        if array.ndim == 0:
            return self.insert(ConstantOp(array.item(), type)).result
        return self.insert(ConstantOp(self.name_array(array, name), type)).result

    def name_array(self, array: Array, name: str) -> str:
        """Keep an array beside the module. Returns what it is called there."""
        found, count = name, 0
        while self.constants.get(found, array) is not array:
            count += 1
            found = f"{name}_{count}"
        self.constants[found] = array
        return found

    def number(self, value: float, dtype: str) -> SSAValue:
        """A tensor without dimensions."""
        return self.insert(ConstantOp(value, tensor_type((), dtype))).result

    def cast(self, value: SSAValue, dtype: str) -> SSAValue:
        """A tensor in a data type: itself if that is its own."""
        return value if dtype_of_tensor(value) == dtype else self.operator("cast", value, dtype=dtype)

    def branch(self, op: IfOp) -> Sequence[OpResult]:
        """Insert a branch. Returns what it gives."""
        return self.insert(op).outputs
