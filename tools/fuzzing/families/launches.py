"""Families of kernels, run on the emulated GPU."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ....backends.build import build
from ....backends.graph import build_graph
from ....core.errors import UndefinedBehaviorError, UnsupportedError
from ....module import Module
from ...testing.comparison import assert_near, assert_same
from ...testing.execution import interpret_graph, oracle_results, results, run_graph
from ...testing.graphs import graphs
from ...testing.thread_programs import check_lowering, mutate_threads, thread_program, thread_programs
from ...testing.thread_reductions import thread_reductions
from ..case import Case

TARGET = "cuda-emulated"


def check_thread_reduction(data: st.DataObject, case: Case) -> None:
    """A reduction over threads computes exactly what the oracle computes."""
    drawn: tuple[Module, dict[str, Any]] = data.draw(thread_reductions())
    module, arguments = drawn
    case.show(module)
    expected = oracle_results(module, arguments)
    try:
        program = build(module, target=TARGET)
    except UnsupportedError:
        return
    assert_same(results(program, arguments), expected)


def check_thread_program(data: st.DataObject, case: Case) -> None:
    """Kernels whose threads communicate compute what the oracle computes; changed ones are lowered or refused."""
    if data.draw(st.booleans()):
        text = mutate_threads(data.draw, thread_program(data.draw))
        case.show(text, "changed")
        check_lowering(text)
        return
    drawn: tuple[Module, dict[str, Any]] = data.draw(thread_programs())
    module, arguments = drawn
    case.show(module)
    try:
        expected = oracle_results(module, arguments)
        program = build(module, target=TARGET)
    except (UndefinedBehaviorError, UnsupportedError):
        return
    assert_same(results(program, arguments), expected)


def check_graph_of_kernels(data: st.DataObject, case: Case) -> None:
    """A graph of kernels with default schedules computes what numpy computes."""
    graph = data.draw(graphs(most=4))
    case.show(graph.module)
    expected = interpret_graph(graph.module, graph.inputs)
    got = run_graph(build_graph(graph.module, target=TARGET, opt_level=1), graph.inputs)
    assert_near(got, expected, graph.tolerances, rtol=1e-5)
