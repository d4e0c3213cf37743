"""Calls of random programs and graphs, and their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backends.graph import Executable, GraphExecutor
from ...backends.interpreter import interpret
from ...backends.oracle import run_oracle
from ...module import Module
from .programs import copy_arguments


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
