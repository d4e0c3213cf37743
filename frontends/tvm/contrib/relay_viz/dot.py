"""Graphs in the language of Graphviz: `tvm.contrib.relay_viz.dot`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..graphviz import edge, node, quoted
from .interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode


class DotVizParser(DefaultVizParser):
    """The parser of `DotPlotter`: that of all expressions."""


class DotGraph(VizGraph):
    """A function as a cluster of nodes. get_node_attr: the attributes of a node, by name."""

    def __init__(self, name: str, get_node_attr: Callable[[VizNode], Mapping[str, str]] | None = None):
        self._name = name
        self._attributes = get_node_attr or (lambda _: {})
        self._lines: list[str] = []

    def node(self, viz_node: VizNode) -> None:
        label = f"{viz_node.type_name}\n{viz_node.detail}".strip()
        self._lines.append(node(self._unique(viz_node.identity), label, **self._attributes(viz_node)))

    def edge(self, viz_edge: VizEdge) -> None:
        self._lines.append(edge(self._unique(viz_edge.start), self._unique(viz_edge.end)))

    def _unique(self, identity: str) -> str:
        return f"{self._name} {identity}"

    def render(self) -> str:
        name = quoted(f"cluster {self._name}")
        lines = [f"subgraph {name} {{", f"  label={quoted(self._name)}", *(f"  {line}" for line in self._lines), "}"]
        return "\n".join(f"  {line}" for line in lines)


class DotPlotter(Plotter):
    """Writes graphs to the file `FILENAME.dot`, which Graphviz draws. get_node_attr: as of `DotGraph`.  render_kwargs,
    and other options: those of Graphviz, ignored.
    """

    def __init__(
        self, graph_attr: Any = None, node_attr: Any = None, edge_attr: Any = None,
        get_node_attr: Callable[[VizNode], Mapping[str, str]] | None = None, render_kwargs: Any = None,
    ):  # fmt: skip
        self._get_node_attr = get_node_attr
        self._name_to_graph: dict[str, DotGraph] = {}

    def create_graph(self, name: str) -> DotGraph:
        self._name_to_graph[name] = DotGraph(name, self._get_node_attr)
        return self._name_to_graph[name]

    def render(self, filename: str) -> None:
        body = "\n".join(graph.render() for graph in self._name_to_graph.values())
        path = Path(filename or "relay_viz")
        path.with_name(f"{path.name}.dot").write_text(f"digraph {{\n  node [shape=box]\n{body}\n}}\n")
