"""Programs for imported graphs, and their parameters."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.rewriter import InsertPoint, Rewriter

from .....dialects.attributes import PARAM_VALUES
from .....dialects.tir.base import string_array
from .....module import Module
from .....operators import relax
from .....operators.relay.functions import RESULT_NAMES
from .....transforms.pipelines import run_pipeline
from .....transforms.relay.to_relax import ConvertRelayToRelaxPass
from ...ir.module import IRModule
from ...nd import HostArray, NDArray


def program_of_graph(graph: Module, params: Sequence[str] | None, is_tuple: bool) -> IRModule:
    """The module of the program that computes a graph `main`.

    graph: has the values of `params` among its constants.  params: the names of the parameters that `detach_params`
    returns, None if the constants stay constants.  is_tuple: whether one result is returned as a tuple.
    """
    program = run_pipeline(graph, [ConvertRelayToRelaxPass()])
    (func,) = program.function_ops.values()
    assert isinstance(func, relax.FuncOp)
    attributes = {} if func.func_attrs is None else dict(func.func_attrs.data)
    attributes.pop(RESULT_NAMES, None)  # results of functions of TVM have no names
    if params is not None:
        attributes[PARAM_VALUES] = string_array(params)
    func.func_attrs = DictionaryAttr(attributes) if attributes else None
    last = func.body.block.last_op
    assert isinstance(last, relax.ReturnOp)
    if is_tuple and not isinstance(last.value.owner, relax.TupleOp):
        whole = relax.TupleOp([last.value])
        Rewriter.insert_op(whole, InsertPoint.before(last))
        last.operands[0] = whole.output
        func.result_type = whole.output.type
    return IRModule(program.op, {**graph.constants, **program.constants})


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[NDArray]]]:
    """A copy of an imported module without the values of its parameters, and these values: for each function that has
    any, in the order of its parameters."""
    copy = IRModule(mod.op.clone(), dict(mod.constants))
    values: dict[str, list[NDArray]] = {}
    taken: set[str] = set()
    for name, func in copy.function_ops.items():
        names = _take_params(func) if isinstance(func, relax.FuncOp) else None
        if names is not None:
            values[name] = [HostArray(copy.constants[each]) for each in names]
            taken.update(names)
    for name in taken:
        del copy.constants[name]
    return copy, values


def _take_params(func: relax.FuncOp) -> list[str] | None:
    """The names of the parameters with values of a function, which loses them; None if it was not imported so."""
    attributes = {} if func.func_attrs is None else dict(func.func_attrs.data)
    names = attributes.pop(PARAM_VALUES, None)
    if not isinstance(names, ArrayAttr):
        return None
    func.func_attrs = DictionaryAttr(attributes) if attributes else None
    return [name.data for name in names.data if isinstance(name, StringAttr)]


__all__ = ["detach_params", "program_of_graph"]
