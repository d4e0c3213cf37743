"""Gradients of functions of programs, by those of graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ....core.errors import ArgumentError, UnsupportedError
from ....operators import relax
from ....operators.relax.types import known_dtype, known_rank
from ....operators.relay import ConstantOp, OperatorOp
from ....operators.relay.constants import Array, constant_array
from ....transforms.pipelines import run_pipeline
from ....transforms.relax.inline_dataflow import RelaxInlineDataflowPass
from ....transforms.relay.to_relax import ConvertRelayToRelaxPass
from ...relay import expr as graphs
from ...relay.gradients import gradient
from ...relay.graph import module_of
from ...relay.reading import type_of
from ..ir.module import IRModule
from .function import Function


def add_adjoint(mod: IRModule, name: str, wanted: Sequence[str] | None, target: int) -> IRModule:
    """A module with the function `NAME_adjoint` too, which returns the result of a function and the tuple of the
    gradients of a scalar of this result.

    wanted: the parameters whose gradients are computed, by default all.  target: the position of the scalar if the
    result is a tuple.  ArgumentError for a name that is no function or no parameter, and for a target that is no scalar
    of floats; UnsupportedError for an operation without a gradient.
    """
    inlined = run_pipeline(mod, [RelaxInlineDataflowPass()])
    func = inlined.function_ops.get(name)
    if not isinstance(func, relax.FuncOp):
        raise ArgumentError(f"Gradient: {name!r} is no function of relax, there is {', '.join(mod.function_ops)}")
    _require_scalar(func, target)
    graph = graph_of(func, inlined.constants)
    params = {param.name_hint: param for param in graph.params}
    if missing := [each for each in wanted or () if each not in params]:
        raise ArgumentError(f"Gradient: {', '.join(missing)} is no parameter of {name}, which has {', '.join(params)}")
    sources = list(params.values()) if wanted is None else [params[each] for each in wanted]
    whole = gradient(graph, target=target if isinstance(func.result_type, TupleType) else None, wanted=sources)
    adjoint = f"{name}_adjoint"
    flat = run_pipeline(module_of({adjoint: whole}), [ConvertRelayToRelaxPass()])
    added = flat.function_ops[adjoint]
    assert isinstance(added, relax.FuncOp)
    _nest(added, func.result_type, len(sources))
    added.func_attrs = func.func_attrs
    result = IRModule(mod.op.clone(), dict(mod.constants))
    result[adjoint] = Function.from_op(added, flat.constants)
    return result


def _require_scalar(func: relax.FuncOp, target: int) -> None:
    types = func.result_type.types.data if isinstance(func.result_type, TupleType) else [func.result_type]
    if not 0 <= target < len(types):
        raise ArgumentError(f"Gradient: target_index {target}, expected one of {len(types)} results")
    if known_rank(types[target]) != 0 or "float" not in str(known_dtype(types[target])):
        raise ArgumentError(f"Gradient: the target is {types[target]}, expected a scalar of floats")


def graph_of(func: relax.FuncOp, constants: Mapping[str, Array]) -> graphs.Function:
    """The graph of a function without dataflow regions, which returns a tensor or a tuple of tensors. constants: the
    arrays of the module.  UnsupportedError for a parameter that is no tensor, and for an operation that is neither an
    operator nor a tuple."""
    values: dict[SSAValue, Any] = {}
    params: list[graphs.Var] = []
    for name, argument in func.params:
        if not isinstance(argument.type, TensorType):
            raise UnsupportedError(f"Gradient: parameter {name} of type {argument.type}, expected a tensor")
        params.append(graphs.Var(name, type_of(argument)))
        values[argument] = params[-1]
    *ops, last = func.body.block.ops
    for op in ops:
        values.update(zip(op.results, _read(op, [values[each] for each in op.operands], constants), strict=True))
    return graphs.Function(params, values[last.operands[0]])


def _read(op: Operation, operands: list[Any], constants: Mapping[str, Array]) -> list[graphs.Expr]:
    """The expressions of the results of an operation."""
    match op:
        case ConstantOp():
            array = constant_array(op, constants)
            if array is None:
                raise UnsupportedError(f"Gradient: {op} has no array")
            return [graphs.Constant(array)]
        case relax.TupleOp():
            return [graphs.Tuple(operands)]
        case relax.TupleGetOp() if isinstance(operands[0], graphs.Tuple):
            return [operands[0].fields[op.index.value.data]]
        case OperatorOp():
            call = graphs.Call(op.operator, operands, op.explicit_attributes)
            count = len(op.results)
            return [call] if count == 1 else [graphs.TupleGetItem(call, n) for n in range(count)]
        case _:
            raise UnsupportedError(f"Gradient: {op.name} has no gradient, expected operators on tensors")


def _nest(func: relax.FuncOp, result: Attribute, count: int) -> None:
    """Divides the tuple that a function returns into the result of a type, and the tuple of the last `count` fields."""
    last = func.body.block.last_op
    assert isinstance(last, relax.ReturnOp)
    flat = last.value.owner
    assert isinstance(flat, relax.TupleOp)
    values = list(flat.values)
    new: list[Operation] = []

    def tupled(fields: Sequence[SSAValue]) -> SSAValue:
        new.append(relax.TupleOp(fields))
        return new[-1].results[0]

    split = len(values) - count
    first = tupled(values[:split]) if isinstance(result, TupleType) else values[0]
    whole = tupled([first, tupled(values[split:])])
    func.body.block.insert_ops_before(new, last)
    last.operands[0] = whole
    flat.detach()
    flat.erase()
    func.result_type = whole.type
