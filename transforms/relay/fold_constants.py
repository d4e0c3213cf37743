"""The pass `relay-fold-constants`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.dtypes import numpy_dtype
from ...core.walking import find_ops
from ...module import constants_of
from ...operators.relay import (
    ConstantOp,
    IfOp,
    OperatorOp,
    RelayBuilder,
    YieldOp,
    constant_array,
    dtype_of_tensor,
    shape_of,
)
from ...operators.relay.effects import is_overwritten
from .graphs import drop_unused_arrays, erase, functions_of_operators, replace

Array: TypeAlias = npt.NDArray[Any]

LARGE, GROWTH = 2**20, 8
"""A result of more than `LARGE` bytes is not computed if it has more than `GROWTH` times the bytes of the operands."""
_FEW = 64
"""The number of elements that are compared before all others."""


class RelayFoldConstantsPass(ModulePass):
    """Folds operators on constants, and branches of graphs with constant conditions; in functions of relax too.

    Operators are computed with numpy. Arrays are the constants kept beside the module (`constants_of`); an operator on
    an array that is absent is not folded. A result whose elements are all the same is a scalar constant, any other
    result an array beside the module. An operator whose result has more than a mebibyte, and much more than its
    operands, and one that a call in place overwrites, is not folded. Arrays without references are removed from the
    module.

    Before
        %0 = relay.constant 2.0 : tensor<f32>
        %1 = relay.constant 3.0 : tensor<4xf32>
        %2 = relay.multiply(%0, %1) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>

    After
        %0 = relay.constant 6.0 : tensor<4xf32>

    Must hold before: nothing; primitive functions stay as they are.

    Gone after: nothing.
    """

    name = "relay-fold-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with drop_unused_arrays(op):
            for func in functions_of_operators(op):
                folder = _Folder(constants_of(op))
                folder.fold(list(func.body.block.ops))
                folder.write()
                for constant in list(find_ops(func, ConstantOp)):
                    if not constant.result.uses:
                        erase(constant)


class _Folder:
    """The evaluation of one function: first computes all constant results, then writes those that remaining ops use.

    constants: the arrays beside the module.  known: the array of each computed tensor, and the name for that array.
    """

    def __init__(self, constants: dict[str, Array]):
        self.constants = constants
        self.known: dict[SSAValue, tuple[Array, str]] = {}
        self.folded: dict[OperatorOp, None] = {}

    def fold(self, ops: Sequence[Operation]) -> None:
        """Computes the operators whose operands are known, and replaces branches on known conditions by the branch
        taken.
        """
        for op in ops:
            if isinstance(op, OperatorOp):
                self._compute(op)
            elif isinstance(op, IfOp):
                condition = self._array(op.condition)
                if condition is not None:
                    self.fold(_take_branch(op, bool(condition)))
                    continue
            for region in op.regions:
                self.fold(list(region.block.ops))

    def write(self) -> None:
        """Replaces uses of computed results by constants, and erases the folded operators."""
        for op in self.folded:
            builder = RelayBuilder(InsertPoint.before(op), self.constants, op.location)
            for output in op.outputs:
                if any(use.operation not in self.folded for use in output.uses):
                    array, name = self.known[output]
                    output.replace_all_uses_with(_constant(builder, output.type, self._own(op, array), name))
        for op in reversed(self.folded):
            erase(op)

    def _own(self, op: OperatorOp, array: Array) -> Array:
        """A result of an operator in memory that the operands of the operator do not have, row by row."""
        is_view = any(np.may_share_memory(array, self._array(arg)) for arg in op.args)
        return np.array(array, order="C", copy=True if is_view else None)

    def _array(self, value: SSAValue) -> Array | None:
        if value in self.known:
            return self.known[value][0]
        return constant_array(value.owner, self.constants) if isinstance(value.owner, ConstantOp) else None

    def _compute(self, op: OperatorOp) -> None:
        operands = [self._array(arg) for arg in op.args]
        known = [operand for operand in operands if operand is not None]
        if len(known) < len(operands) or _is_too_large(op) or is_overwritten(op):
            return
        try:
            with np.errstate(all="ignore"):
                results = op.operator.arrays(known, op.explicit_attributes)
        except ValueError:
            return  # numpy has no result, for instance for the maximum of no elements
        self.folded[op] = None
        name = next((name for arg in op.args if (name := self._name(arg)) is not None), op.operator.name)
        self.known |= {output: (array, name) for output, array in zip(op.outputs, results, strict=True)}

    def _name(self, value: SSAValue) -> str | None:
        """The name of an array, or of the first array that it was computed from."""
        if value in self.known:
            return self.known[value][1]
        assert isinstance(value.owner, ConstantOp)
        return None if value.owner.array_name is None else value.owner.array_name.data


def _take_branch(op: IfOp, condition: bool) -> list[Operation]:
    """Inlines the branch that is always taken in place of the conditional; returns its ops."""
    block = (op.then if condition else op.orelse).block
    last = block.last_op
    assert isinstance(last, YieldOp)
    values = list(last.values)
    erase(last)
    ops = list(block.ops)
    Rewriter.inline_block(block, InsertPoint.before(op))
    replace(op, values)
    return ops


def _is_too_large(op: OperatorOp) -> bool:
    size = sum(map(_bytes, op.outputs))
    return size > LARGE and size > GROWTH * sum(map(_bytes, op.args))


def _bytes(value: SSAValue) -> int:
    shape = shape_of(value)
    return prod(size for size in shape if isinstance(size, int)) * numpy_dtype(dtype_of_tensor(value)).itemsize


def _constant(builder: RelayBuilder, type: Attribute, array: Array, name: str) -> SSAValue:
    """Builds a constant: a scalar if all elements are the same, else a named array."""
    is_number = array.size > 0 and _is_uniform(array)
    value = array.flat[0].item() if is_number else builder.name_array(array, name)
    return builder.insert(ConstantOp(value, type)).result


def _is_uniform(array: Array) -> bool:
    """Whether all elements have the same bits."""
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")
    return bool((bits[:_FEW] == bits[0]).all() and (bits == bits[0]).all())
