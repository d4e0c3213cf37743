"""`torch.compile(model, backend="stepwell")`: compiles the graphs that PyTorch captures, for inference.

PyTorch finds `compile_graph` by the entry point `torch_dynamo_backends`. Requires the extra `torch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from ..backends.graph import GraphFunction, build_graph
from ..core.errors import OptionError, UnsupportedError
from ..expressions.sizes import evaluate_size
from ..frontends.models.symbols import Symbol
from ..frontends.torch.exporting import decompositions
from ..frontends.torch.importing import GraphImporter
from ..frontends.torch.library import torch
from ..frontends.torch.signature import Input, Inputs, Output
from ..frontends.torch.sizes import Sizes
from ..frontends.torch.tensors import call_with_tensors

_OPTIONS = ("freeze", "opt_level", "target")


def compile_graph(module: Any, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None) -> Any:
    """The function that computes a graph of Dynamo, for `torch.compile`.

    options: `target` and `opt_level` of `build_graph`; `freeze`: whether parameters of the model, which must not change
    afterwards, are constants, which may be folded and packed. Without it they are inputs of the compiled graph. Raises
    OptionError for another option, ModelUnsupportedError for unsupported operators, UnsupportedError for a graph with
    gradients.
    """
    settings = dict(options or {})
    unknown = settings.keys() - set(_OPTIONS)
    if unknown:
        raise OptionError(f"options {', '.join(sorted(unknown))}, expected {', '.join(_OPTIONS)}")
    freeze = settings.pop("freeze", False)
    frozen = {n: each for n, each in enumerate(inputs) if freeze and isinstance(each, torch.nn.Parameter)}

    def compile_inference(graph: Any, examples: Sequence[Any]) -> Any:
        nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
        if frozen:
            _require_constant(frozen, len(inputs), len(nodes))
        del examples
        with torch._subclasses.fake_tensor.unset_fake_temporarily():  # pyright: ignore[reportPrivateUsage]
            return _compile(graph, {nodes[n]: each for n, each in frozen.items()}, settings)

    # lazy: PyTorch's compiler takes seconds to import
    autograd = import_module("torch._dynamo.backends.common").aot_autograd
    compilers = {"fw_compiler": _refuse_gradients, "inference_compiler": compile_inference}
    return autograd(**compilers, decompositions=decompositions())(module, inputs)


def _refuse_gradients(graph: Any, examples: Sequence[Any]) -> Any:
    del graph, examples
    raise UnsupportedError(
        "a graph with gradients, expected inference: call the model in torch.no_grad() or torch.inference_mode()"
    )


def _require_constant(frozen: Iterable[int], inputs: int, placeholders: int) -> None:
    """Raises UnsupportedError if the traced graph changes one of the frozen parameters, or has other inputs than the
    graph of Dynamo."""
    metadata = torch._guards.TracingContext.get().fw_metadata  # pyright: ignore[reportPrivateUsage]
    if inputs != placeholders:
        raise UnsupportedError("freeze: inputs of the model share memory, expected separate tensors")
    if any(metadata.input_info[n].mutates_data for n in frozen):
        raise UnsupportedError("freeze: the model changes one of its parameters, expected constant parameters")


# Compilation


def _compile(graph: Any, frozen: Mapping[Any, Any], settings: Mapping[str, Any]) -> CompiledGraph:
    """The function that computes a graph of ATen's operators. frozen: the constant parameters, by their nodes."""
    nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
    inputs = [Input(node, node.name, frozen[node]) if node in frozen else _input(node) for node in nodes]
    importer = GraphImporter(graph, Inputs(inputs), Sizes())
    values = next(node for node in graph.graph.nodes if node.op == "output").args[0]
    numbers = {n: importer.value(each) for n, each in enumerate(values) if not _is_tensor(each)}
    tensors = [Output(f"output_{n}", each) for n, each in enumerate(values) if _is_tensor(each)]
    function = GraphFunction(build_graph(importer.finish(tensors), **settings)) if tensors else None
    names = {n: importer.value(node).text for n, node in enumerate(nodes) if isinstance(node.meta["val"], torch.SymInt)}
    return CompiledGraph(function, [n for n, each in enumerate(inputs) if each.is_parameter], names, numbers)


def _input(node: Any) -> Input:
    example = node.meta["val"]
    if not isinstance(example, torch.Tensor):
        return Input(node, node.name, example)
    if example.device.type != "cpu":
        raise UnsupportedError(f"a tensor on {example.device}, expected tensors on the processor")
    return Input(node, node.name, is_parameter=True)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.fx.Node) and isinstance(value.meta["val"], torch.Tensor)


class CompiledGraph:
    """A compiled graph as PyTorch calls it: with a list of tensors and sizes, which it may empty.

    Tensors are read and written in place; an input that is not contiguous is copied.
    """

    _boxed_call = True  # PyTorch's mark of this convention

    def __init__(
        self,
        function: GraphFunction | None,
        positions: Sequence[int],
        names: Mapping[int, str],
        numbers: Mapping[int, Any],
    ):
        """function: None without tensor results.  positions: of the tensors among the arguments.  names: of the sizes
        among the arguments.  numbers: the results that are no tensors, by position: integers, symbols and None."""
        self._function = function
        self._positions = positions
        self._names = names
        self._numbers = numbers

    def __call__(self, arguments: list[Any]) -> list[Any]:
        sizes = {name: arguments[n] for n, name in self._names.items()}
        tensors = [arguments[n] for n in self._positions]
        arguments.clear()
        results: list[Any] = []
        if self._function is not None:
            results, bound = call_with_tensors(self._function, tensors)
            sizes |= bound
        for position, number in self._numbers.items():
            results.insert(position, evaluate_size(number.text, sizes) if isinstance(number, Symbol) else number)
        return results
