"""Families of kernels, run on the emulated GPU."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ....backends.build import build
from ....backends.graph import build_graph
from ....core.errors import UndefinedBehaviorError, UnsupportedError
from ....module import Module
from ...testing.comparison import assert_near, assert_same
from ...testing.execution import arguments_of_smaller, interpret_graph, oracle_results, results, run_graph
from ...testing.graphs import graphs
from ...testing.thread_programs import check_lowering, mutate_threads, thread_program, thread_programs
from ...testing.thread_reductions import thread_reductions
from ..case import Case

TARGET = "cuda-emulated"


def check_thread_reduction(data: st.DataObject, case: Case) -> None:
    """A reduction over threads computes exactly what the oracle computes."""
    drawn: tuple[Module, dict[str, Any]] = data.draw(thread_reductions())
    module, arguments = drawn

    def check(program: Module) -> None:
        fitting = arguments_of_smaller(program, arguments)
        expected = oracle_results(program, fitting)
        try:
            built = build(program, target=TARGET)
        except UnsupportedError:
            return
        assert_same(results(built, fitting), expected)

    case.check_program(module, check)


def check_thread_program(data: st.DataObject, case: Case) -> None:
    """Kernels whose threads communicate compute what the oracle computes; changed ones are lowered or refused."""
    if data.draw(st.booleans()):
        text = mutate_threads(data.draw, thread_program(data.draw))
        case.check_program(text, check_lowering, "changed")
        return
    drawn: tuple[Module, dict[str, Any]] = data.draw(thread_programs())
    module, arguments = drawn

    def check(program: Module) -> None:
        fitting = arguments_of_smaller(program, arguments)
        try:
            expected = oracle_results(program, fitting)
            built = build(program, target=TARGET)
        except (UndefinedBehaviorError, UnsupportedError):
            return
        assert_same(results(built, fitting), expected)

    case.check_program(module, check)


def check_graph_of_kernels(data: st.DataObject, case: Case) -> None:
    """A graph of kernels with default schedules computes what numpy computes."""
    graph = data.draw(graphs(most=4))

    def check(program: Module) -> None:
        expected = interpret_graph(program, graph.inputs)
        got = run_graph(build_graph(program, target=TARGET, opt_level=1), graph.inputs)
        assert_near(got, expected, graph.tolerances, rtol=1e-5)

    case.check_program(graph.module, check)
