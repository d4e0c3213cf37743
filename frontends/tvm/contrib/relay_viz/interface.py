"""The interfaces of parsers and plotters of graphs: `tvm.contrib.relay_viz.interface`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import relay
from ....relay.expr import FunctionCall

UNKNOWN = "unknown"


@dataclass(frozen=True)
class VizNode:
    """A node of a drawn graph: its name, the kind of the expression, and a text about it."""

    identity: str
    type_name: str
    detail: str


@dataclass(frozen=True)
class VizEdge:
    """An edge of a drawn graph, between the names of two nodes: from an operand to its reader."""

    start: str
    end: str


class VizParser:
    """Turns an expression into a node and edges."""

    def get_node_edges(
        self, node: relay.Expr, relay_param: Mapping[str, Any], node_to_id: Mapping[relay.Expr, str]
    ) -> tuple[VizNode | None, Sequence[VizEdge]]:
        """The node of an expression, None to draw none, and its edges.

        relay_param: the arrays of parameters, by name.  node_to_id: the name of each expression.
        """
        raise NotImplementedError


class VizGraph:
    """A drawn graph: one function of a module."""

    def node(self, viz_node: VizNode) -> None:
        """Adds a node."""
        raise NotImplementedError

    def edge(self, viz_edge: VizEdge) -> None:
        """Adds an edge."""
        raise NotImplementedError

    def render(self) -> str:
        """The text of the graph."""
        raise NotImplementedError


class Plotter:
    """Creates a graph for each function, and draws all."""

    def create_graph(self, name: str) -> VizGraph:
        """A new graph for the function called `name`."""
        raise NotImplementedError

    def render(self, filename: str) -> None:
        """Draws the graphs to a file, or where the plotter draws by default for an empty name."""
        raise NotImplementedError


class DefaultVizParser(VizParser):
    """The parser of the expressions of `tvm.relay`."""

    def get_node_edges(
        self, node: relay.Expr, relay_param: Mapping[str, Any], node_to_id: Mapping[relay.Expr, str]
    ) -> tuple[VizNode | None, Sequence[VizEdge]]:
        kind, detail = self.describe(node, relay_param)
        name = node_to_id[node]
        edges = [VizEdge(node_to_id[source], name) for source in operands(node)]
        return VizNode(name, kind, detail), edges

    def describe(self, node: relay.Expr, relay_param: Mapping[str, Any]) -> tuple[str, str]:
        """The kind of an expression and a text about it."""
        match node:
            case relay.Var():
                kind = "Var(Param)" if node.name_hint in relay_param else "Var(Input)"
                known = "" if node.type_annotation is None else f"\ntype: {node.type_annotation}"
                return kind, f"name_hint: {node.name_hint}{known}"
            case relay.GlobalVar():
                return "GlobalVar", f"name_hint: {node.name_hint}"
            case relay.Constant():
                values = np.asarray(node.data)
                return "Const", f"{values.dtype} {values.shape}" if values.ndim else f"{values.dtype} {values.item()}"
            case FunctionCall():
                return "Call", ""
            case relay.Call():
                attributes = "\n".join(f"{name}: {value}" for name, value in (node.attrs or {}).items())
                return f"Call({node.op.name})", attributes
            case relay.TupleGetItem():
                return "TupleGetItem", f"index: {node.index}"
            case relay.Function():
                return "Func", ""
            case _:
                return type(node).__name__, ""


def operands(node: relay.Expr) -> list[relay.Expr]:
    """The expressions that an expression reads; of the call of a function, the function too."""
    if isinstance(node, FunctionCall) and isinstance(node.op, relay.Expr):
        return [node.op, *(each for each in node.children if each is not node.op)]
    if isinstance(node, relay.Function):
        return [node.body]
    return list(node.children)
