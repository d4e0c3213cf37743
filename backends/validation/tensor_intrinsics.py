"""Registration of tensor intrinsics whose implementation computes what the description does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...analysis.threads.registers import is_register_operation
from ...core.errors import OptionError, UnsupportedError
from ...dialects.tir import CallExternOp, CallPackedOp, FuncOp
from ...module import Module
from ...schedule.intrinsics import TensorIntrin, add_tensor_intrin, describe_tensor_intrin
from .comparison import differences
from .execution import Call, Program, Results, Undefined
from .validator import describe


def register_tensor_intrin(
    name: str, description: Module, implementation: Module, *, override: bool = False
) -> TensorIntrin:
    """Registers a tensor intrinsic; later schedules of this process find it by its name.

    description: a function whose parameters are buffers; its statements are the computation.  implementation: a
    function of the same buffers, whose statements replace the computation; its `T.match_buffer` may name the strides
    and the offset that the memory has.  override: whether an intrinsic of this name is replaced.

    Both functions run in the oracle on the same random inputs, unless the implementation calls functions of Python or
    C, instructions that the oracle does not run, or operations on the registers of a warp: descriptions of these agree
    among themselves on the places of elements in registers, which may be others than those of the instructions.
    OptionError for other results, with the inputs; if the name is
    taken; for a module of several functions; and if the parameters differ in number, shape or data type.
    """
    intrin = describe_tensor_intrin(name, description, implementation)
    _require_equal_results(intrin)
    return add_tensor_intrin(intrin, override=override)


def _require_equal_results(intrin: TensorIntrin) -> None:
    """Raises OptionError if description and implementation have other results, as far as the oracle runs both."""
    inside = list(intrin.implementation.walk())
    if any(isinstance(op, CallExternOp | CallPackedOp) or is_register_operation(op) for op in inside):
        return
    try:
        described, implemented = _program(intrin.description), _program(intrin.implementation)
        for call in described.calls():
            _require_equal_call(intrin.name, call, described, implemented)
    except UnsupportedError:
        return


def _program(function: FuncOp) -> Program:
    return Program.of(Module(ModuleOp([function.clone()])))


def _require_equal_call(name: str, call: Call, described: Program, implemented: Program) -> None:
    arguments = described.arguments(call, {})
    (expected,) = described.run([(call, arguments)])
    if isinstance(expected, Undefined):
        return
    (entry,) = implemented.module.function_ops
    other = replace(call, entry=entry)
    (actual,) = implemented.run([(other, _with_values(implemented.arguments(other, {}), arguments))])
    inputs = f"\n    inputs: {describe(arguments)}"
    if isinstance(actual, Undefined):
        raise OptionError(f"tensor intrinsic {name!r}: the implementation is undefined: {actual.message}{inputs}")
    for difference in differences(expected.values, _renamed(actual, arguments)):
        raise OptionError(f"tensor intrinsic {name!r}: the implementation has other results: {difference}{inputs}")


def _with_values(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays with the strides of `arguments` and the elements of `values`, in order."""
    for array, value in zip(arguments.values(), values.values(), strict=True):
        np.copyto(array, value)
    return dict(arguments)


def _renamed(results: Results, names: Mapping[str, Any]) -> dict[str, Any]:
    """The results under the names of the parameters of another function."""
    *parameters, result = results.values
    return {name: results.values[each] for name, each in zip((*names, result), (*parameters, result), strict=True)}
