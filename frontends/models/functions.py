"""The function of a model: its results, their names, and the limits of its sizes."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, UnitAttr
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
from .values import ModelObject, ModelTensor


def result_value(builder: Builder, tensor: ModelTensor | ModelObject) -> SSAValue:
    """The SSA value of a tensor as a result of the function: a copy of a parameter or constant. Sequences are not
    copied."""
    builder.set_location("")
    if isinstance(tensor, ModelObject):
        return tensor.value
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
    names_of = (op.array_name for each in (func, *builder.functions) for op in find_ops(each, ConstantOp))
    used = {name.data for name in names_of if name is not None}
    module = Module(
        ModuleOp([*builder.functions, func]), {key: array for key, array in constants.items() if key in used}
    )
    return _program(module, func.sym_name.data) if builder.is_program else module


def _program(module: Module, name: str) -> Module:
    """The program of a function, of which all other functions are parts."""
    program = run_pipeline(module, [ConvertRelayToRelaxPass()])
    for other, part in program.function_ops.items():
        if other != name:
            part.properties["private"] = UnitAttr()
    return program
