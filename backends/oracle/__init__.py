"""The oracle: the reference semantics of programs, independent of the lowering.

The oracle compiles `tir` functions to Python source that computes exactly the results defined in docs/semantics.md, and
detects excluded behaviour.
"""

from .library import PythonFunction, PythonLibrary, compile_oracle, run_oracle

__all__ = ["PythonFunction", "PythonLibrary", "compile_oracle", "run_oracle"]
