"""The supported part of `tvm.contrib`: graph executors."""

from . import graph_executor, graph_runtime

__all__ = ["graph_executor", "graph_runtime"]
