"""Implementations for xDSL's interpreter of graphs, tensor programs and loop programs: op by op, so they
combine with foreign ops.

`register_implementations(interpreter)` is the only call a tool needs. The oracle, a compiler to Python,
is some hundred times faster and also detects races; the interpreter is an independent check, and supports
xDSL's debuggers and listeners.
"""

from .elements import array_of
from .regions import run_region
from .register import interpret, register_implementations
from .relax import RelaxFunctions
from .relay import RelayFunctions
from .te import TeFunctions
from .tir import TirFunctions
from .values import ValueFunctions

__all__ = [
    "RelaxFunctions",
    "RelayFunctions",
    "TeFunctions",
    "TirFunctions",
    "ValueFunctions",
    "array_of",
    "interpret",
    "register_implementations",
    "run_region",
]
