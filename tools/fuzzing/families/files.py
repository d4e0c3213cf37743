"""Families of files: saved graphs, changed files of saved programs, changed ONNX models."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import strategies as st

from ....backends.cuda.emulation import compiler
from ....backends.graph import Executable, build_graph
from ....module import Module
from ...testing.artifacts import KINDS, changed_bytes, changed_metadata
from ...testing.choices import HypothesisChoices
from ...testing.comparison import assert_near
from ...testing.execution import run_graph
from ...testing.graphs import graphs
from ...testing.onnx_graphs import onnx_models
from ...testing.onnx_mutations import MODELS, change, check_import, valid_model
from ..case import Case


def check_saved_graph(data: st.DataObject, case: Case) -> None:
    """A graph computes the same after it is saved and loaded."""
    graph, name = data.draw(graphs(most=5)), data.draw(st.sampled_from(("graph", "graph.tar")))

    def check(program: Module) -> None:
        executable = build_graph(program)
        expected = run_graph(executable, graph.inputs)
        with tempfile.TemporaryDirectory() as folder:
            executable.save(Path(folder, name))
            got = run_graph(Executable.load(Path(folder, name)), graph.inputs)
        assert_near(got, expected, 0)

    case.check_program(graph.module, check, name)


def check_changed_artifact(data: st.DataObject, case: Case) -> None:
    """A saved program with changed files is refused, or computes the same."""
    kinds = [kind for kind in KINDS if kind != "kernel" or compiler() is not None]
    kind = data.draw(st.sampled_from(kinds))
    changed = data.draw(st.sampled_from((changed_metadata, changed_bytes)))
    artifact = changed(HypothesisChoices(data.draw), kind)
    case.show(artifact.change, kind)
    artifact.check()


def check_changed_model(data: st.DataObject, case: Case) -> None:
    """A changed model is imported, or is refused by an error that names the reason, in little time and memory."""
    name = data.draw(st.sampled_from((None, *MODELS)))
    proto = data.draw(onnx_models()).proto if name is None else valid_model(name)
    change(data.draw, proto)
    case.show(proto, "" if name is None else name.strip())
    check_import(proto)
