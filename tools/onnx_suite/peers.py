"""The runners of models, by name. A runner is imported when it is selected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .running import Prepare, Run


def _reference() -> Prepare:
    """The reference evaluator of ONNX."""
    # lazy: the runner is the only one that needs the evaluator
    from onnx import ModelProto
    from onnx.reference import ReferenceEvaluator

    def prepare(data: bytes) -> Run:
        session: Any = ReferenceEvaluator(ModelProto.FromString(data))

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            return session.run(None, dict(zip(session.input_names, inputs, strict=True)))

        return run

    return prepare


def _stepwell() -> Prepare:
    """The graphs of Stepwell in native code."""
    # lazy: the runner is the only one that needs the compiler
    import numpy as np

    from ...backends.graph import GraphExecutor, build_graph
    from ...frontends.onnx import OnnxGraph, SequenceType, from_onnx, load_model

    def prepare(data: bytes) -> Run:
        graph = load_model(data)
        executor = GraphExecutor(build_graph(from_onnx(graph)))

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            for value, array in zip(graph.inputs, inputs, strict=True):
                executor.set_input(value.name, array)
            executor.run()
            tensors = [np.array(executor.get_output(n)) for n in range(executor.num_outputs)]
            return _group_sequences(graph, tensors)

        return run

    def _group_sequences(graph: OnnxGraph, tensors: list[Any]) -> list[Any]:
        """The results of a model, with the tensors of a sequence in a list."""
        lists = [isinstance(value.type, SequenceType) for value in graph.outputs]
        if not any(lists):
            return tensors
        if sum(lists) > 1:
            raise NotImplementedError("several results that are sequences")
        first, count = lists.index(True), len(tensors) - len(lists) + 1
        return [*tensors[:first], tensors[first : first + count], *tensors[first + count :]]

    return prepare


PEERS: dict[str, Callable[[], Prepare]] = {"stepwell": _stepwell, "reference": _reference}
