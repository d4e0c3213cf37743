"""Drawings of schedules and graphs: `tvm.contrib.tedd`, `tvm.contrib.relay_viz`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import OptionError
from stepwell.frontends.tvm import relay, te
from stepwell.frontends.tvm.contrib import relay_viz, tedd
from stepwell.frontends.tvm.contrib.relay_viz.dot import DotPlotter
from stepwell.frontends.tvm.contrib.relay_viz.interface import VizEdge, VizNode, VizParser
from stepwell.frontends.tvm.contrib.relay_viz.terminal import TermGraph, TermPlotter, TermVizParser


def scheduled() -> te.Schedule:
    a = te.placeholder((32, 8), name="A")
    b = te.compute((32, 8), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((32, 8), lambda i, j: b[i, j] + 1.0, name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], factor=4)
    s[c].fuse(inner, c.op.axis[1])
    s[c].bind(outer, te.thread_axis("blockIdx.x"))
    s[b].compute_at(s[c], outer)
    return s


def test_the_stages_and_their_tensors(tmp_path: Path) -> None:
    text = tedd.viz_dataflow_graph(scheduled(), output_dot_string=True)
    assert text is not None
    assert '"stage 0" [label="A\\nplaceholder, global"]' in text
    assert '"stage 1" -> "tensor 1.0"' in text
    assert '"tensor 1.0" -> "stage 2"' in text
    assert tedd.viz_dataflow_graph(scheduled(), dot_file_path=tmp_path / "flow.dot") is None
    assert (tmp_path / "flow.dot").read_text() == text
    with pytest.raises(OptionError, match="expected dot_file_path"):
        tedd.viz_dataflow_graph(scheduled(), show_svg=True)


def test_the_loops_and_where_stages_are_computed() -> None:
    text = tedd.viz_schedule_tree(scheduled().normalize(), output_dot_string=True)
    assert text is not None
    assert '"stage 2 axis i.outer" -> "stage 1"' in text
    assert '[label="i.outer spatial blockIdx.x", shape="oval"]' in text
    assert '"root" -> "stage 2"' in text
    assert '"root" -> "stage 1"' not in text


def test_the_splits_and_fusions_of_axes() -> None:
    text = tedd.viz_itervar_relationship_graph(scheduled(), output_dot_string=True)
    assert text is not None
    assert '"stage 2 step 0" [label="split factor 4"]' in text
    assert '"stage 2 axis i" -> "stage 2 step 0"' in text
    assert '"stage 2 step 1" -> "stage 2 axis i.inner.j.fused"' in text
    assert '[label="i spatial [0, +32)", shape="oval"]' in text


def model() -> tvm.IRModule:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    y = relay.nn.relu(relay.nn.dense(x, w))
    return tvm.IRModule.from_expr(relay.Function([x, w], relay.add(y, relay.add(y, relay.const(1.0)))))


def test_a_graph_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    relay_viz.RelayVisualizer(model(), {"w": np.zeros((4, 3))}).render()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "@main"
    assert lines[1] == "`--#0 Func"
    assert lines[2] == "   `--#1 Call(add)"
    assert any("Var(Param) name_hint: w" in line for line in lines)
    assert any("Var(Input) name_hint: x" in line for line in lines)
    assert lines[-2].endswith("(reference to #2)")
    assert lines[-1].endswith("Const float32 1.0")


def test_a_graph_is_a_file_of_graphviz(tmp_path: Path) -> None:
    relay_viz.RelayVisualizer(model(), plotter=DotPlotter()).render(str(tmp_path / "model"))
    text = (tmp_path / "model.dot").read_text()
    assert text.startswith('digraph {\n  node [shape=box]\n  subgraph "cluster main" {')
    assert text.count(" -> ") == 8


class Parser(VizParser):
    def get_node_edges(
        self, node: relay.Expr, relay_param: Mapping[str, Any], node_to_id: Mapping[relay.Expr, str]
    ) -> tuple[VizNode | None, Sequence[VizEdge]]:
        if isinstance(node, relay.Var):
            return VizNode(node_to_id[node], "Own", node.name_hint), []
        return TermVizParser().get_node_edges(node, relay_param, node_to_id)


class Graph(TermGraph):
    def node(self, viz_node: VizNode) -> None:
        super().node(viz_node)
        if viz_node.type_name == "Own":
            super().node(VizNode(f"double {viz_node.identity}", "double Own", ""))
            super().edge(VizEdge(f"double {viz_node.identity}", viz_node.identity))


class Plotter(TermPlotter):
    def create_graph(self, name: str) -> TermGraph:
        self._name_to_graph[name] = Graph(name)
        return self._name_to_graph[name]


def test_parsers_and_plotters_of_users(tmp_path: Path) -> None:
    relay_viz.RelayVisualizer(model(), {}, Plotter(), Parser()).render(str(tmp_path / "text"))
    text = (tmp_path / "text").read_text()
    assert text.count("double Own") == 2
    assert "Own w" in text


def test_the_plotters_have_their_names_in_the_package() -> None:
    assert relay_viz.DotPlotter is relay_viz.dot.DotPlotter
    assert relay_viz.DotVizParser is relay_viz.dot.DotVizParser
