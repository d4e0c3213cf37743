"""What graphs compute, operator by operator, by numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Block, SSAValue

from ...core.dtypes import numpy_dtype
from ...dialects.relay import CallOp, ConstantOp, FuncOp, IfOp, OperatorOp, ReturnOp, YieldOp, dtype_of_tensor
from ...module import Module

Array = npt.NDArray[Any]


def graph_arrays(mod: Module, inputs: Sequence[Array], entry: str = "main") -> list[Array]:
    """The results of a function of the `relay` dialect. inputs: its arguments, in order."""
    func = mod.functions[entry]
    assert isinstance(func, FuncOp)
    return _run(mod, func.body.block, dict(zip(func.body.block.args, inputs, strict=True)))


def _run(mod: Module, block: Block, values: dict[SSAValue, Array]) -> list[Array]:
    for op in block.ops:
        given = [values[operand] for operand in op.operands]
        if isinstance(op, ReturnOp | YieldOp):
            return given
        values |= zip(op.results, _results(mod, op, given, values), strict=True)
    raise ValueError("a graph without an end")


def _results(mod: Module, op: Any, given: list[Array], values: dict[SSAValue, Array]) -> Sequence[Array]:
    match op:
        case OperatorOp():
            return op.operator.arrays(given, op.values)
        case CallOp():
            return graph_arrays(mod, given, op.callee.string_value())
        case IfOp():
            return _run(mod, (op.then if given[0] else op.orelse).block, dict(values))
        case ConstantOp() if op.array_name is not None:
            return [mod.constants[op.array_name.data]]
        case _:
            return [np.asarray(op.number, numpy_dtype(dtype_of_tensor(op.result)))]
