"""The supported part of `tvm.contrib`: graph executors."""

from . import debugger, graph_executor, graph_runtime

__all__ = ["debugger", "graph_executor", "graph_runtime"]
