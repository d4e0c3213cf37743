"""xDSL's interpreter for graphs, and programs on tensors and on loops: op by op, and so with anybody's ops among them.

`register_implementations(interpreter)` is all that a tool needs. The oracle, a compiler to Python, is some hundred
times faster and finds races too; this is the second opinion, and what debuggers and listeners of xDSL step through.
"""

from .elements import array_of
from .regions import run_region
from .register import interpret, register_implementations
from .relay import RelayFunctions
from .te import TeFunctions
from .tir import TirFunctions
from .values import ValueFunctions

__all__ = [
    "RelayFunctions",
    "TeFunctions",
    "TirFunctions",
    "ValueFunctions",
    "array_of",
    "interpret",
    "register_implementations",
    "run_region",
]
