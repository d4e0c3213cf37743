"""Import of models of ONNX: `tvm.relax.frontend.onnx`. Requires the extra `onnx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from .....dialects.tir.base import string_array
from .....module import Module
from .....operators.relax import FuncOp as ProgramOp
from .....operators.relay import ConstantOp, FuncOp
from ...ir.module import IRModule
from ...relay.frontend import shapes_of_inputs
from .graphs import program_of_graph


def from_onnx(
    model: Any,
    shape_dict: Mapping[str, Sequence[Any]] | None = None,
    dtype_dict: Any = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
) -> IRModule:
    """A program for a model of ONNX; several results are a tuple.

    model: a model of the package `onnx`, or a path.  shape_dict: shapes of inputs by name, for sizes that the model
    leaves dynamic; those of other names are ignored with a warning.  dtype_dict, opset: ignored in favor of the
    model's.  keep_params_in_input: whether weights are parameters, whose values `detach_params` returns; otherwise they
    are constants.  sanitize_input_names: ignored, as names of this package are texts. OnnxError for an invalid model,
    OnnxUnsupportedError for a model that uses unsupported features.
    """
    importer: Any = import_module("....onnx", __package__)
    graph: Module = importer.from_onnx(model, shapes=shapes_of_inputs(model, shape_dict))
    (func,) = graph.functions.values()
    if isinstance(func, ProgramOp):
        return IRModule(graph.op, graph.constants)
    assert isinstance(func, FuncOp)
    return program_of_graph(graph, _constants_as_params(func) if keep_params_in_input else None, False)


def _constants_as_params(func: FuncOp) -> list[str]:
    """Makes parameters of the arrays of a graph, and returns their names."""
    block = func.body.block
    params: dict[str, SSAValue] = {}
    for op in list(block.ops):
        if not isinstance(op, ConstantOp) or op.array_name is None:
            continue
        name = op.array_name.data
        if name not in params:
            params[name] = block.insert_arg(op.result.type, len(block.args))
        op.result.replace_all_uses_with(params[name])
        Rewriter.erase_op(op)
    func.param_names = string_array([*(name.data for name in func.param_names.data), *params])
    return list(params)


__all__ = ["from_onnx"]
