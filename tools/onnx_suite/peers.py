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
    """The graphs and programs of Stepwell in native code."""
    # lazy: the runner is the only one that needs the compiler
    import numpy as np

    from ...backends.graph import GraphExecutor, build_graph
    from ...backends.relax import VirtualMachine, build_relax
    from ...frontends.onnx import OnnxGraph, SequenceType, from_onnx, load_model
    from ...module import Module
    from ...operators.relax import FuncOp

    def prepare(data: bytes) -> Run:
        graph = load_model(data)
        module = from_onnx(graph)
        return (
            _run_program(graph, module) if isinstance(module.functions["main"], FuncOp) else _run_graph(graph, module)
        )

    def _run_graph(graph: OnnxGraph, module: Module) -> Callable[[Sequence[Any]], list[Any]]:
        executor = GraphExecutor(build_graph(module))

        def run(inputs: Sequence[Any]) -> list[Any]:
            for value, array in zip(graph.inputs, inputs, strict=True):
                executor.set_input(value.name, array)
            executor.run()
            return _group_sequences(graph, [np.array(executor.get_output(n)) for n in range(executor.num_outputs)])

        return run

    def _run_program(graph: OnnxGraph, module: Module) -> Callable[[Sequence[Any]], list[Any]]:
        main = VirtualMachine(build_relax(module))["main"]

        def run(inputs: Sequence[Any]) -> list[Any]:
            results = main(*inputs)
            return _arrays(results if len(graph.outputs) > 1 else (results,))

        return run

    def _arrays(value: Any) -> Any:
        """A value of a program, with arrays of numpy in lists."""
        if isinstance(value, tuple):
            return [_arrays(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        return None if value is None else np.array(value)

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
