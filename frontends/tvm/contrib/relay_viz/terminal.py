"""Graphs as indented text: `tvm.contrib.relay_viz.terminal`."""

from __future__ import annotations

import sys
from pathlib import Path

from .interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode


class TermVizParser(DefaultVizParser):
    """The parser of `TermPlotter`: that of all expressions."""


class TermGraph(VizGraph):
    """A function as a tree of lines, each below its reader; a node that has been written before is a reference."""

    def __init__(self, name: str):
        self._name = name
        self._nodes: dict[str, VizNode] = {}
        self._sources: dict[str, list[str]] = {}

    def node(self, viz_node: VizNode) -> None:
        self._nodes[viz_node.identity] = viz_node

    def edge(self, viz_edge: VizEdge) -> None:
        self._sources.setdefault(viz_edge.end, []).append(viz_edge.start)

    def render(self) -> str:
        read = {source for sources in self._sources.values() for source in sources}
        lines = [f"@{self._name}"]
        numbers: dict[str, int] = {}
        for root in (name for name in self._nodes if name not in read):
            self._write(root, lines, numbers)
        return "\n".join(lines)

    def _write(self, root: str, lines: list[str], numbers: dict[str, int]) -> None:
        """Writes a node and its operands; without recursion, whose depth would grow with the graph."""
        todo = [(root, "`--")]
        while todo:
            name, prefix = todo.pop()
            node = self._nodes.get(name)
            if node is None:
                continue
            if name in numbers:
                lines.append(f"{prefix}(reference to #{numbers[name]})")
                continue
            numbers[name] = len(numbers)
            detail = " ".join(node.detail.split("\n"))
            lines.append(f"{prefix}#{numbers[name]} {node.type_name} {detail}".rstrip())
            sources = self._sources.get(name, [])
            inside = f"{prefix[:-3]}{'|  ' if prefix.endswith('|--') else '   '}"
            todo += reversed(
                [(source, f"{inside}{'`--' if n == len(sources) - 1 else '|--'}") for n, source in enumerate(sources)]
            )


class TermPlotter(Plotter):
    """Prints graphs, or writes them to a text file."""

    def __init__(self) -> None:
        self._name_to_graph: dict[str, TermGraph] = {}

    def create_graph(self, name: str) -> TermGraph:
        self._name_to_graph[name] = TermGraph(name)
        return self._name_to_graph[name]

    def render(self, filename: str) -> None:
        text = "\n".join(graph.render() for graph in self._name_to_graph.values())
        if filename:
            Path(filename).write_text(f"{text}\n")
        else:
            sys.stdout.write(f"{text}\n")
