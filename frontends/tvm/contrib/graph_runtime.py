"""What `tvm.contrib.graph_runtime` had until v0.7, and `graph_executor` has now."""

from __future__ import annotations

from .graph_executor import GraphModule, create

__all__ = ["GraphModule", "create"]
