"""What `tvm.contrib` has of what is here: executors of graphs."""

from . import graph_executor, graph_runtime

__all__ = ["graph_executor", "graph_runtime"]
