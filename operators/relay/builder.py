"""`RelayBuilder`: builds graphs of operators, whose result types are inferred, and constants."""

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

    point: the insertion point, or the block at whose end to insert.  constants: the arrays of the module by name, to
    which the builder adds the arrays of constants.  location: the source location of inserted ops.  size_names: names
    of sizes that a new size must not have.
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
        self.size_names: set[str] = set()

    def insert(self, op: OpT) -> OpT:
        """Insert an op at the insertion point."""
        op.location = self.location
        Rewriter.insert_op(op, self.point)
        return op

    def operators(self, name: str, *operands: SSAValue, **attributes: object) -> Sequence[OpResult]:
        """The results of a new operator: `builder.operators("split", x, indices_or_sections=2)`.

        UnknownOperatorError for an unknown name, TeError for operands and attributes that do not match.
        """
        operator_of(name)
        return self.insert(OPERATIONS[name](operands, attributes)).outputs

    def operator(self, name: str, *operands: SSAValue, **attributes: object) -> OpResult:
        """The first result of a new operator. Raises the errors of `operators`."""
        return self.operators(name, *operands, **attributes)[0]

    def constant(self, array: Array, name: str = "constant") -> SSAValue:
        """A constant tensor. A number becomes part of the op, other arrays are added to the constants of the module.

        name: the preferred name of the array; a suffix is appended if another array has this name.
        """
        type = tensor_type(array.shape, dtype_of_numpy(array.dtype))
        if array.ndim == 0:
            return self.insert(ConstantOp(array.item(), type)).result
        return self.insert(ConstantOp(self.name_array(array, name), type)).result

    def name_array(self, array: Array, name: str) -> str:
        """Adds an array to the constants of the module. Returns its unique name."""
        unique, count = name, 0
        while self.constants.get(unique, array) is not array:
            count += 1
            unique = f"{name}_{count}"
        self.constants[unique] = array
        return unique

    def number(self, value: float, dtype: str) -> SSAValue:
        """A constant tensor without dimensions."""
        return self.insert(ConstantOp(value, tensor_type((), dtype))).result

    def cast(self, value: SSAValue, dtype: str) -> SSAValue:
        """`value` converted to a data type; `value` itself if it already has the data type."""
        return value if dtype_of_tensor(value) == dtype else self.operator("cast", value, dtype=dtype)

    def branch(self, op: IfOp) -> Sequence[OpResult]:
        """Insert a branch. Returns its results."""
        return self.insert(op).outputs
