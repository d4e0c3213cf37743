"""Graphs as native code: an entry point that runs all kernels, and an entry point per kernel."""

from .executable import Executable, TensorSpec, build_graph
from .executor import GraphExecutor

__all__ = ["Executable", "GraphExecutor", "TensorSpec", "build_graph"]
