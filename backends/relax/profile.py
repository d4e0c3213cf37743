"""Profiles of calls of the virtual machine: the time of each step of a function."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation

from .values import Value


@dataclass(frozen=True)
class StepTime:
    """The time of a step. name: of the graph, kernel or function that is called, or of the operation.  operation: its
    name in MLIR.  shapes: of its results; empty for other values.  seconds: from its start to its end."""

    name: str
    operation: str
    shapes: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class CallProfile:
    """The steps of one call of a function, in the order of their execution. seconds: of the call. result: of the call.

    A branch and a call of another function are one step each, and so is a graph, whose kernels are one native function.
    """

    function: str
    steps: tuple[StepTime, ...]
    seconds: float
    result: Any

    def json(self) -> str:
        """The profile without the result, as JSON."""
        return json.dumps(
            {"function": self.function, "seconds": self.seconds, "steps": [asdict(step) for step in self.steps]}
        )

    def __str__(self) -> str:
        """The steps as a table, the longest first."""
        rows = sorted(self.steps, key=lambda step: -step.seconds)
        width = max((len(step.name) for step in rows), default=4)
        total = self.seconds or 1
        lines = [f"{'step':{width}}  {'us':>10}  {'share':>6}  results"]
        lines += [
            f"{step.name:{width}}  {step.seconds * 1e6:10.1f}  {step.seconds / total:6.1%}  {', '.join(step.shapes)}"
            for step in rows
        ]
        return "\n".join([*lines, f"{self.function:{width}}  {self.seconds * 1e6:10.1f}"])


def step_name(op: Operation) -> str:
    """The name of the function that an operation calls; the name of another operation."""
    match op.properties.get("callee", op.properties.get("func_name")):
        case SymbolRefAttr() as symbol:
            return symbol.string_value()
        case StringAttr() as text:
            return text.data
        case _:
            return op.name


def shapes_of(values: Sequence[Value]) -> tuple[str, ...]:
    """The data types and shapes of the tensors among values, those in tuples included."""
    tensors: list[str] = []
    for value in values:
        if isinstance(value, tuple):
            tensors += shapes_of(value)
        elif hasattr(value, "dtype") and hasattr(value, "shape"):
            tensors.append(f"{value.dtype}[{', '.join(map(str, value.shape))}]")
    return tuple(tensors)
