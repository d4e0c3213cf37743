"""Graphs as native code: one entry that runs all kernels, and the kernels one by one."""

from .executable import Executable, TensorSpec, build_graph
from .executor import GraphExecutor

__all__ = ["Executable", "GraphExecutor", "TensorSpec", "build_graph"]
