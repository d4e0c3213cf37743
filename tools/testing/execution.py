"""Calls of random programs and graphs, and their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute

from ...backends.graph import Executable, GraphExecutor
from ...backends.interpreter import interpret
from ...backends.oracle import run_oracle
from ...dialects.tir import FuncOp
from ...module import Module
from .programs import copy_arguments


def arguments_of_smaller(module: Module, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `main` of a program that is smaller than the program of some arguments: without those of
    parameters that are gone, and the first elements of arrays whose parameters have smaller extents."""
    func = module.functions["main"]
    assert isinstance(func, FuncOp)
    return {name: _first_elements(arguments[name], value.type) for name, value in func.params}


def _first_elements(argument: Any, type: Attribute) -> Any:
    if not isinstance(type, MemRefType) or type.get_num_dims() != np.ndim(argument):
        return argument
    extents = type.get_shape()
    if extents == np.shape(argument) or DYNAMIC_INDEX in extents:
        return argument
    return argument[tuple(map(slice, extents))].copy()


def results(call: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments after a call with copies of them, and the returned value (0 for none), by name."""
    values = copy_arguments(arguments)
    returned = call(*values)
    return {**dict(zip(arguments, values, strict=True)), "the result": 0 if returned is None else returned}


def oracle_results(module: Module, arguments: dict[str, Any], entry: str = "main") -> dict[str, Any]:
    """The `results` of a function by the oracle."""
    return results(lambda *values: run_oracle(module, entry, values), arguments)


def interpreter_results(module: Module, arguments: dict[str, Any]) -> dict[str, Any]:
    """The `results` of `main` by the interpreter."""
    return results(lambda *values: interpret(module, "main", values), arguments)


def interpret_graph(module: Module, inputs: Sequence[Any]) -> list[Any]:
    """The results of the graph `main`, computed with numpy."""
    got = interpret(module, "main", inputs)
    return list(got) if isinstance(got, tuple) else [got]


def run_graph(executable: Executable, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of a compiled graph."""
    executor = GraphExecutor(executable)
    for n, array in enumerate(inputs):
        executor.set_input(n, array)
    executor.run()
    outputs = (executor.get_output(n) for n in range(executor.num_outputs))
    return [np.copy(array if isinstance(array, np.ndarray) else array.numpy()) for array in outputs]
