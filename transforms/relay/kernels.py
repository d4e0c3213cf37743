"""Functions of operators written as tensor expressions, in the form in which graphs call kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from ...dialects import te
from ...dialects.attributes import KERNEL, TIR_NOALIAS
from ...dialects.tir.annotations import annotation_value
from ...expressions.expr import Var, const
from ...expressions.tensor import Tensor, compute, elementwise
from ...expressions.write import FunctionWriter
from ...operators.relay import ConstantOp, FuncOp, OperatorOp, Sizes, dtype_of_tensor, free_sizes, shape_of

Formula: TypeAlias = Callable[..., Any]
"""From tensors and attributes by name, those that are said, to the tensor or tensors that an operator computes."""


def kernel_of(func: FuncOp, formulas: Mapping[str, Formula] | None = None) -> te.FuncOp:
    """A function of operators as tensor expressions.

    Its parameters are those of the function, and the results behind them; in front of them, numbers, the sizes that no
    parameter says by itself.

    formulas: what computes operators, by name, in place of their definitions. TeError as these raise it.
    """
    sizes, values = Sizes(), dict[SSAValue, Tensor]()
    for name, value in func.params:
        values[value] = sizes.placeholder(value.type, name)
    inputs = list(values.values())
    for op in func.body.block.ops:
        if isinstance(op, OperatorOp):
            made = _computed(op, [values[arg] for arg in op.args], formulas or {})
            values |= dict(zip(op.outputs, made, strict=True))
        elif isinstance(op, ConstantOp):
            values[op.result] = _number(op)
    numbers: list[Var] = [sizes.variable(name) for name in sizes_of_kernel(func)]
    outputs = _distinct([values[value] for value in func.returned], inputs)
    attributes = {TIR_NOALIAS: annotation_value(True), KERNEL: annotation_value(True)}
    written = FunctionWriter(func.sym_name.data, [*numbers, *inputs, *outputs], attributes).write()
    written.location = func.location
    return written


def sizes_of_kernel(func: FuncOp) -> list[str]:
    """The sizes that no parameter says by itself, which the kernel of a function is given in front of them."""
    return free_sizes([value.type for _, value in func.params], func.result_types_)


def _computed(op: OperatorOp, operands: Sequence[Tensor], formulas: Mapping[str, Formula]) -> Sequence[Tensor]:
    own = formulas.get(op.operator.name)
    if own is None:
        return op.operator.tensors(operands, op.values)
    made = own(*operands, **op.values)
    return tuple(made) if isinstance(made, list | tuple) else (made,)


def _number(op: ConstantOp) -> Tensor:
    number, dtype = op.number, dtype_of_tensor(op.result)
    assert number is not None  # arrays are parameters of such functions
    return compute([int(size) for size in shape_of(op.result)], lambda *_: const(number, dtype), "constant")


def _distinct(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
    """Results, each a tensor of its own: a copy of what is a parameter or another result."""
    found: list[Tensor] = []
    for output in outputs:
        taken = output in inputs or output in found
        found.append(elementwise(lambda x: x, [output], "T_copy") if taken else output)
    return found
