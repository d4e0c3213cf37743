"""The function of a model: its results, their names, and the limits of its sizes."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, SSAValue

from ...core.walking import find_ops
from ...dialects.tir.base import string_array
from ...module import Module
from ...operators.relay import RESULT_NAMES, SIZE_LIMITS, ConstantOp, FuncOp, ReturnOp
from ...transforms.pipelines import run_pipeline
from ...transforms.relay.to_relax import ConvertRelayToRelaxPass
from .building import Builder
from .data_sizes import DATA_SIZES
from .types import Array
from .values import ModelTensor


def result_value(builder: Builder, tensor: ModelTensor) -> SSAValue:
    """The SSA value of a tensor as a result of the function: a copy of a parameter or constant."""
    builder.set_location("")
    value = builder.value(tensor)
    if tensor.value is None or not value.owner or tensor.value in builder.entry.args:
        return builder.relay.operator("copy", value)
    return value


def finish_module(
    func: FuncOp, builder: Builder, constants: Mapping[str, Array], results: Mapping[str, SSAValue]
) -> Module:
    """The module of a function that returns `results`, by name, with those of the constants that it uses: a graph, or a
    program if it calls packed functions."""
    builder.set_location("")
    builder.relay.insert(ReturnOp(list(results.values())))
    attributes: dict[str, Attribute] = {RESULT_NAMES: string_array(results)}
    if builder.data_sizes:
        attributes[DATA_SIZES] = string_array([f"{name}: {what}" for name, what in builder.data_sizes.items()])
    if builder.limits:
        attributes[SIZE_LIMITS] = string_array(builder.size_limits)
    func.func_attrs = DictionaryAttr(attributes)
    names_of = (op.array_name for op in find_ops(func, ConstantOp))
    used = {name.data for name in names_of if name is not None}
    module = Module(ModuleOp([func]), {key: array for key, array in constants.items() if key in used})
    return run_pipeline(module, [ConvertRelayToRelaxPass()]) if builder.is_program else module
