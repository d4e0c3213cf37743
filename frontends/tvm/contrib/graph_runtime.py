"""The name of `tvm.contrib.graph_executor` up to v0.7."""

from __future__ import annotations

from .graph_executor import GraphModule, create

__all__ = ["GraphModule", "create"]
