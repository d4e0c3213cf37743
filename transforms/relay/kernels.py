"""Kernels of graphs: functions of operators as tensor expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...core.identifiers import fresh_name
from ...dialects import te
from ...dialects.attributes import GRAPH_KERNEL, TIR_NOALIAS
from ...dialects.tir.annotations import annotation_value
from ...expressions.expr import Var, const
from ...expressions.index_dtype import requires_wide_indices, with_index_dtype
from ...expressions.tensor import Tensor, compute, elementwise_tensor
from ...expressions.write import TeFuncEmitter
from ...operators.relay import (
    ConstantOp,
    FuncOp,
    OperatorOp,
    SizeScope,
    dtype_of_tensor,
    free_sizes,
    names_of_size,
    shape_of,
)

_MULTIPLE = re.compile(r"(\d+ \* )?\w+")
"""The text of a size, or of a multiple of a size."""
Formula: TypeAlias = Callable[..., Any]
"""A function from tensors, and explicit attributes by name, to the tensor or tensors that an operator computes."""


def kernel_of(func: FuncOp, formulas: Mapping[str, Formula] | None = None) -> te.FuncOp:
    """The tensor expressions of a function of operators.

    The parameters are the parameters of the function, its results, and the sizes that no parameter determines by
    itself, as integers.

    formulas: functions that compute operators, by name, in place of their definitions. Raises the TeErrors of formulas.
    """
    sizes, values = SizeScope(_names_of_sizes(func)), dict[SSAValue, Tensor]()
    for name, value in func.params:
        values[value] = sizes.placeholder(value.type, name)
    inputs = list(values.values())
    for op in func.body.block.ops:
        if isinstance(op, OperatorOp):
            tensors = _compute_operator(op, [values[arg] for arg in op.args], formulas or {})
            values |= dict(zip(op.outputs, tensors, strict=True))
        elif isinstance(op, ConstantOp):
            values[op.result] = _number(op)
    numbers: list[Var] = [sizes.variable(name) for name in sizes_of_kernel(func)]
    outputs = _distinct([values[value] for value in func.return_values], inputs)
    attributes = {TIR_NOALIAS: annotation_value(True), GRAPH_KERNEL: annotation_value(True)}
    parameters = _with_wide_indices([*inputs, *outputs, *numbers], func)
    written = TeFuncEmitter(func.sym_name.data, parameters, attributes).write()
    written.location = func.location
    return written


def sizes_of_kernel(func: FuncOp) -> list[str]:
    """The sizes that no parameter determines by itself, which are the last parameters of the kernel of a function."""
    return free_sizes([value.type for _, value in func.params], func.result_types_)


def _names_of_sizes(func: FuncOp) -> dict[str, str]:
    """Names for sizes of parameters that are computed from others, as `b * s` or `(h - 1) // 2 + 1`, where no other
    size of a parameter depends on these others: the kernel has one size then, from which formulas compute those of
    results, and of which loops are divided as of any other. Multiples of a size, as `2 * n`, stay, for divisors of them
    are known."""
    given = {size for _, value in func.params for size in shape_of(value.type) if isinstance(size, str)}
    names = {size: names_of_size(size) for size in sorted(given)}
    taken = set[str]().union(*names.values())
    return {
        size: fresh_name("_".join(sorted(own)), taken)
        for size, own in names.items()
        if not _MULTIPLE.fullmatch(size) and all(other == size or names[other].isdisjoint(own) for other in names)
    }


def _with_wide_indices(parameters: Sequence[Tensor | Var], func: FuncOp) -> Sequence[Tensor | Var]:
    """The parameters, with sizes and axes of 64 bits if a tensor of the kernel requires them. UnsupportedError for such
    a kernel if sizes of 32 bits are among its parameters."""
    if not requires_wide_indices(parameters):
        return parameters
    if isinstance(parameters[-1], Var):
        message = "a tensor of 2**31 elements or more, expected fewer beside sizes known when the graph runs"
        raise UnsupportedError(f"{where(func)}kernel {func.sym_name.data}: {message}")
    return with_index_dtype(parameters, "int64")


def _compute_operator(op: OperatorOp, operands: Sequence[Tensor], formulas: Mapping[str, Formula]) -> Sequence[Tensor]:
    own = formulas.get(op.operator.name)
    if own is None:
        return op.operator.tensors(operands, op.explicit_attributes)
    result = own(*operands, **op.explicit_attributes)
    return tuple(result) if isinstance(result, list | tuple) else (result,)


def _number(op: ConstantOp) -> Tensor:
    number, dtype = op.number, dtype_of_tensor(op.result)
    assert number is not None  # arrays are parameters of such functions
    return compute([int(size) for size in shape_of(op.result)], lambda *_: const(number, dtype), "constant")


def _distinct(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
    """The results, each a distinct tensor: parameters and repeated results are copied."""
    results: list[Tensor] = []
    for output in outputs:
        is_repeated = output in inputs or output in results
        results.append(elementwise_tensor(lambda x: x, [output], "T_copy") if is_repeated else output)
    return results
