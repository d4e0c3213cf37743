"""Families of graphs: passes and native code of relay, ONNX models, saved graphs."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ....backends.graph import Executable, GraphExecutor, build_graph
from ....backends.interpreter import interpret
from ....frontends.onnx import OnnxUnsupportedError, from_onnx
from ....module import Module
from ....transforms.pipelines import parse_passes, run_pipeline
from ...testing.graphs import RandomGraph, graphs
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


def interpret_graph(module: Module, inputs: Sequence[Any]) -> list[Any]:
    """The results of `main`, computed with numpy."""
    got = interpret(module, "main", inputs)
    return list(got) if isinstance(got, tuple) else [got]


def run_graph(executable: Executable, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of a compiled graph."""
    executor = GraphExecutor(executable)
    for n, array in enumerate(inputs):
        executor.set_input(n, array)
    executor.run()
    outputs = (executor.get_output(n) for n in range(executor.num_outputs))
    return [np.copy(array if isinstance(array, np.ndarray) else array.numpy()) for array in outputs]


def compare(got: Sequence[Any], expected: Sequence[Any], rtol: float, tolerances: Sequence[float]) -> None:
    """Raises AssertionError unless arrays have equal types and shapes, and near elements."""
    for a, b, tolerance in zip(got, expected, tolerances, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        np.testing.assert_allclose(a.astype("float64"), b.astype("float64"), rtol=rtol, atol=tolerance)


def check_graph_pass(data: st.DataObject, case: Case) -> None:
    """A pass leaves what a graph computes."""
    graph, passes = data.draw(graphs()), data.draw(st.sampled_from(EXACT_PASSES))
    case.show(graph.module, passes)
    after = run_pipeline(graph.module, parse_passes(passes))
    after.verify()
    expected = interpret_graph(graph.module, graph.inputs)
    compare(interpret_graph(after, graph.inputs), expected, 0, [0] * len(expected))


def check_compiled_graph(data: st.DataObject, case: Case) -> None:
    """A compiled graph computes what numpy computes."""
    graph, level = data.draw(graphs(most=8)), data.draw(st.integers(0, 2))
    case.show(graph.module, f"level {level}")
    _check_executable(build_graph(graph.module, opt_level=level), graph)


def _check_executable(executable: Executable, graph: RandomGraph) -> None:
    expected = interpret_graph(graph.module, graph.inputs)
    tolerances = [4 * tolerance for tolerance in graph.tolerances]  # rewriting rounds differently
    compare(run_graph(executable, graph.inputs), expected, 1e-5, tolerances)


def check_saved_graph(data: st.DataObject, case: Case) -> None:
    """A graph computes the same after it is saved and loaded."""
    graph, name = data.draw(graphs(most=5)), data.draw(st.sampled_from(("graph", "graph.tar")))
    case.show(graph.module, name)
    executable = build_graph(graph.module)
    expected = run_graph(executable, graph.inputs)
    with tempfile.TemporaryDirectory() as folder:
        executable.save(Path(folder, name))
        got = run_graph(Executable.load(Path(folder, name)), graph.inputs)
    compare(got, expected, 0, [0] * len(expected))


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
    compare(got, model.expected, 1e-3, [1e-3] * len(got))
    peer = _run_onnxruntime(model)
    if peer is not None:
        compare(got, peer, 1e-3, [1e-3] * len(got))


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
