"""Drawings of graphs: `tvm.contrib.relay_viz`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .... import relay
from ...absent import report_absent
from ...ir.module import IRModule
from . import dot, interface, terminal
from .dot import DotPlotter as DotPlotter
from .dot import DotVizParser as DotVizParser
from .interface import Plotter, VizGraph, VizParser, operands
from .terminal import TermPlotter, TermVizParser

__getattr__ = report_absent("tvm.contrib.relay_viz")


class RelayVisualizer:
    """Draws the functions of a module. relay_param: the arrays of parameters, by name.  plotter: by default one that
    prints text.  parser: of expressions.
    """

    def __init__(
        self,
        relay_mod: IRModule,
        relay_param: Mapping[str, Any] | None = None,
        plotter: Plotter | None = None,
        parser: VizParser | None = None,
    ):
        self._plotter = plotter or TermPlotter()
        self._parser = parser or TermVizParser()
        self._param = dict(relay_param or {})
        for name, function in relay_mod.items():
            if isinstance(function, relay.Function):
                self._add(self._plotter.create_graph(name), function)

    def _add(self, graph: VizGraph, function: relay.Function) -> None:
        names: dict[relay.Expr, str] = {}
        order = [*function.params, *_post_order(function)]
        for each in dict.fromkeys(order):
            names[each] = str(len(names))
        for each in names:
            node, edges = self._parser.get_node_edges(each, self._param, names)
            if node is not None:
                graph.node(node)
            for edge in edges:
                graph.edge(edge)

    def render(self, filename: str = "") -> None:
        """Draws the functions, to a file if it is named."""
        self._plotter.render(filename)


def _post_order(root: relay.Expr) -> list[relay.Expr]:
    """The expressions of a function, operands first; without recursion, whose depth would grow with the graph."""
    found: dict[relay.Expr, None] = {}
    todo = [(root, False)]
    while todo:
        node, is_ready = todo.pop()
        if is_ready:
            found[node] = None
        elif node not in found:
            todo.append((node, True))
            todo += [(source, False) for source in reversed(operands(node))]
    return list(found)


__all__ = ["Plotter", "RelayVisualizer", "VizGraph", "VizParser", "dot", "interface", "terminal"]
