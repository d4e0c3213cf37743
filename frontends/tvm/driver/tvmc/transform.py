"""Changes of graphs before they are compiled: `tvm.driver.tvmc.transform`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...absent import refuse_options, report_absent
from ...ir.module import IRModule
from .compiler import change_graph

__getattr__ = report_absent("tvm.driver.tvmc.transform")


def apply_graph_transforms(mod: IRModule, args: Mapping[str, Any] | None = None) -> IRModule:
    """A graph in another layout and precision. args: the arguments of `tvmc.compile` of these names. UnsupportedError
    for `mixed_precision_ops`."""
    given = dict(args or {})
    refuse_options("apply_graph_transforms", mixed_precision_ops=given.get("mixed_precision_ops"))
    kind = given.get("mixed_precision_calculation_type") or "float16"
    precision = kind if given.get("mixed_precision") else None
    return change_graph(mod, given.get("desired_layout"), given.get("desired_layout_ops"), precision)


def convert_graph_layout(mod: IRModule, desired_layout: str, ops: Sequence[str] | None = None) -> IRModule:
    """A graph in another layout: "NCHW" or "NHWC", for convolutions, or for the operators `ops`."""
    return change_graph(mod, desired_layout, ops, None)


__all__ = ["apply_graph_transforms", "convert_graph_layout"]
