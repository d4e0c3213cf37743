"""Families of kernels, run on the emulated GPU."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ....backends.build import build
from ....backends.graph import build_graph
from ....core.errors import UnsupportedError
from ....module import Module
from ...testing.comparison import same
from ...testing.graphs import graphs
from ...testing.programs import copy_arguments
from ...testing.thread_reductions import thread_reductions
from ..case import Case
from .graphs import compare, interpret_graph, run_graph
from .programs import run_on_oracle

TARGET = "cuda-emulated"


def check_thread_reduction(data: st.DataObject, case: Case) -> None:
    """A reduction over threads computes exactly what the oracle computes."""
    drawn: tuple[Module, dict[str, Any]] = data.draw(thread_reductions())
    module, arguments = drawn
    case.show(module)
    *expected, _ = run_on_oracle(module, arguments)
    got = copy_arguments(arguments)
    try:
        program = build(module, target=TARGET)
    except UnsupportedError:
        return
    program(*got)
    for name, a, b in zip(arguments, got, expected, strict=True):
        assert same(a, b), f"{name}: {a!r}, expected {b!r}"


def check_graph_of_kernels(data: st.DataObject, case: Case) -> None:
    """A graph of kernels with default schedules computes what numpy computes."""
    graph = data.draw(graphs(most=4))
    case.show(graph.module)
    expected = interpret_graph(graph.module, graph.inputs)
    compare(
        run_graph(build_graph(graph.module, target=TARGET, opt_level=1), graph.inputs), expected, 1e-5, graph.tolerances
    )
