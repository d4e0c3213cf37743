"""Binding of parameters to constants at compile time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.rewriter import InsertPoint

from ...core.diagnostics import did_you_mean
from ...core.dtypes import dtype_of_numpy
from ...core.errors import ArgumentError
from ...dialects.tir.base import string_array
from ...module import Module
from ...operators import relax
from ...operators.relax.types import may_match
from ...operators.relay import FuncOp, RelayBuilder, tensor_type


def bind_parameters(mod: Module, arrays: Mapping[str, npt.NDArray[Any]], entry: str = "main") -> Module:
    """A copy of a module in which parameters of a graph, or of a function of `relax`, are constants. arrays: by
    parameter name.

    The arrays are not copied. They determine the symbolic sizes of parameters of `relax`. ArgumentError for an unknown
    function or parameter, and for an array of another type.
    """
    mod = mod.clone()
    func = mod.function_ops.get(entry)
    if not isinstance(func, FuncOp | relax.FuncOp):
        kind = "no function" if func is None else func.name
        raise ArgumentError(f"function {entry}: {kind}, expected a graph or a function of relax")
    params = dict(func.params)
    builder = RelayBuilder(InsertPoint.at_start(func.body.block), mod.constants, func.location)
    for name, array in arrays.items():
        if name not in params:
            known = ", ".join(params)
            raise ArgumentError(f"function {entry}: no parameter {name!r}{did_you_mean(name, params)} (has: {known})")
        value, type = params[name], tensor_type(np.shape(array), dtype_of_numpy(array.dtype))
        is_program = isinstance(func, relax.FuncOp)
        if value.type != type and not (is_program and may_match(value.type, type)):
            raise ArgumentError(f"parameter {name}: {type}, expected {value.type}")
        constant = builder.constant(array, name)
        if value.type != type:  # the array determines sizes
            constant = builder.insert(relax.MatchCastOp(constant, value.type)).output
        value.replace_all_uses_with(constant)
        func.body.block.erase_arg(value)
    func.param_names = string_array(name for name in params if name not in arrays)
    return mod
