"""Reference semantics: what a program computes, independent of the way down.

The oracle turns `tir` functions into Python source that computes exactly what docs/semantics.md says, and finds what
it excludes.
"""

from .library import PythonFunction, PythonLibrary, compile_oracle, run_oracle

__all__ = ["PythonFunction", "PythonLibrary", "compile_oracle", "run_oracle"]
