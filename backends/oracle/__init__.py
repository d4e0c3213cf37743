"""The oracle: the reference semantics of programs, independent of the lowering.

The oracle compiles `tir` functions to Python source that computes exactly the results defined in docs/semantics.md, and
detects excluded behaviour.
"""

from .cost import estimated_seconds
from .program import PythonFunction, PythonProgram, compile_oracle, run_oracle

__all__ = ["PythonFunction", "PythonProgram", "compile_oracle", "estimated_seconds", "run_oracle"]
