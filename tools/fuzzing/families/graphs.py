"""Families of graphs: passes and native code of relay, ONNX models."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from ....backends.graph import build_graph
from ....core.processors import threads
from ....frontends.onnx import OnnxUnsupportedError, from_onnx
from ....module import Module
from ....schedule.cpu import threads as threads_rule
from ....transforms.pipelines import parse_passes, run_pipeline
from ...testing.comparison import assert_near
from ...testing.execution import interpret_graph, run_graph
from ...testing.graphs import graphs
from ...testing.onnx_graphs import RandomModel, onnx_models
from ..case import Case

EXACT_PASSES = (
    "relay-simplify",
    "relay-fold-constants,relay-simplify,cse",
    "relay-eliminate-dead-code",
    "relay-copy-results",
    "relay-fuse-operators,relay-plan-memory,relay-eliminate-dead-code",
)
"""Passes that leave the results equal bit by bit."""
TARGETS = ("llvm", "interpreter")


def check_graph_pass(data: st.DataObject, case: Case) -> None:
    """A pass leaves what a graph computes."""
    graph, passes = data.draw(graphs()), data.draw(st.sampled_from(EXACT_PASSES))

    def check(program: Module) -> None:
        after = run_pipeline(program, parse_passes(passes))
        after.verify()
        expected = interpret_graph(program, graph.inputs)
        assert_near(interpret_graph(after, graph.inputs), expected, 0)

    case.check_program(graph.module, check, passes)


def check_compiled_graph(data: st.DataObject, case: Case) -> None:
    """A compiled graph computes what numpy computes."""
    graph, level = data.draw(graphs(most=8)), data.draw(st.integers(0, 2))
    count, least = data.draw(st.sampled_from((1, 2, 5))), data.draw(st.sampled_from((0, threads_rule.LEAST_TIME)))

    def check(program: Module) -> None:
        expected = interpret_graph(program, graph.inputs)
        tolerances = [4 * tolerance for tolerance in graph.tolerances]  # rewriting rounds differently
        with patch.object(threads_rule, "LEAST_TIME", least), threads(count):
            got = run_graph(build_graph(program, opt_level=level), graph.inputs)
        assert_near(got, expected, tolerances, rtol=1e-5)

    case.check_program(graph.module, check, f"level {level}, {count} threads, kernels of {least} ns are shared")


def check_onnx(data: st.DataObject, case: Case) -> None:
    """An ONNX model computes what ONNX's reference evaluator computes, and onnxruntime where it is installed."""
    model, target = data.draw(onnx_models()), data.draw(st.sampled_from(TARGETS))
    case.show(model.proto, target)
    try:
        module = from_onnx(model.proto)
    except OnnxUnsupportedError:
        return
    inputs = list(model.inputs.values())
    got = interpret_graph(module, inputs) if target == "interpreter" else run_graph(build_graph(module), inputs)
    assert_near(got, model.expected, 1e-3, rtol=1e-3)
    peer = _run_onnxruntime(model)
    if peer is not None:
        assert_near(got, peer, 1e-3, rtol=1e-3)


def _run_onnxruntime(model: RandomModel) -> list[Any] | None:
    """The outputs by onnxruntime; None if it is not installed, or does not know an operator for a data type."""
    try:
        import onnxruntime  # lazy: optional, and slow to import  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    try:
        session: Any = onnxruntime.InferenceSession(model.proto.SerializeToString(), providers=["CPUExecutionProvider"])  # pyright: ignore
    except Exception:  # a class of its own for "not implemented"
        return None
    return session.run(None, model.inputs)
