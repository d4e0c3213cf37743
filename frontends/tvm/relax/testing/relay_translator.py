"""Programs of graphs of Relay: `tvm.relax.testing.relay_translator`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....relay.expr import Function
from ....relay.parameters import bind_parameters
from ...absent import report_absent
from ...ir.module import IRModule
from ..frontend.graphs import program_of_graph

__getattr__ = report_absent("tvm.relax.testing.relay_translator")


def from_relay(
    func: Function,
    target: Any = None,
    relay_params: Mapping[str, Any] | None = None,
    *,
    opt_level: int = 3,
    pass_config: Mapping[str, Any] | None = None,
    disabled_pass: Sequence[str] | None = None,
    translate_op_with_tir: Mapping[str, Any] | None = None,
    append_op_attrs: bool = False,
) -> IRModule:
    """The program of a graph, whose operators stay operators. relay_params: values of parameters, which become
    constants.  Ignored are the target and the options, which select kernels in TVM."""
    graph = IRModule.from_expr(func)
    if relay_params:
        graph = bind_parameters(graph, relay_params, "main")
    return program_of_graph(graph, None, False)


__all__ = ["from_relay"]
