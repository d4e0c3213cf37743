"""What can run the models of the suite, by name. Each is imported when it is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .running import Prepare, Run


def _reference() -> Prepare:
    """ONNX's own evaluator."""
    from onnx import ModelProto
    from onnx.reference import ReferenceEvaluator

    def prepare(data: bytes) -> Run:
        session: Any = ReferenceEvaluator(ModelProto.FromString(data))

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            return session.run(None, dict(zip(session.input_names, inputs, strict=True)))

        return run

    return prepare


def _stepwell() -> Prepare:
    """Models as graphs of ours, in native code."""
    import numpy as np

    from ...backends.graph import GraphExecutor, build_graph
    from ...frontends.onnx import OnnxGraph, SequenceType, from_onnx, importers, load_model

    assert importers.__all__  # loaded here once, not in each process

    def prepare(data: bytes) -> Run:
        graph = load_model(data)
        executor = GraphExecutor(build_graph(from_onnx(graph)))

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            for value, array in zip(graph.inputs, inputs, strict=True):
                executor.set_input(value.name, array)
            executor.run()
            found = [np.array(executor.get_output(n)) for n in range(executor.num_outputs)]
            return _in_sequences(graph, found)

        return run

    def _in_sequences(graph: OnnxGraph, found: list[Any]) -> list[Any]:
        """Results as a model says them, of which a sequence is several tensors."""
        lists = [isinstance(value.type, SequenceType) for value in graph.outputs]
        if not any(lists):
            return found
        if sum(lists) > 1:
            raise NotImplementedError("several results that are sequences")
        first, count = lists.index(True), len(found) - len(lists) + 1
        return [*found[:first], found[first : first + count], *found[first + count :]]

    return prepare


PEERS: dict[str, Callable[[], Prepare]] = {"stepwell": _stepwell, "reference": _reference}
