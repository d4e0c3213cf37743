"""Programs of PyTorch as modules of the `relay` dialect."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from xdsl.ir import Attribute, Block, Region, SSAValue

from ...core.errors import StepwellError
from ...core.identifiers import fresh_name
from ...expressions.errors import TeError
from ...module import Module
from ...operators.relay import FuncOp, IfOp, YieldOp, tensor_type
from ..models.building import Builder
from ..models.errors import ModelError, ModelUnsupportedError, error_location
from ..models.functions import finish_module, result_value
from ..models.symbols import Symbol, UnknownSizeError, size_of_symbol, symbol_maximum, symbol_minimum
from ..models.types import Array
from ..models.values import ModelTensor, tensor_of_array
from . import importers as importers  # registers them
from .call import Call
from .errors import node_place
from .exporting import decompose, exported_program, is_exported_program
from .library import torch
from .registry import IMPORTERS
from .signature import Input, Inputs, Output, inputs_of, outputs_of
from .sizes import Sizes
from .tensors import array_of_tensor, dtype_name


def from_torch(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    input_names: Sequence[str] = (),
    keep_parameters: bool = False,
    returns_changes: bool = True,
    fold: bool = True,
    name: str = "main",
) -> Module:
    """A model of PyTorch as a function of the `relay` dialect: its inputs become parameters, its weights constants of
    the module by their names in the model.

    model: a `torch.export.ExportedProgram`, a `torch.nn.Module` in evaluation mode, or a module or function of
    TorchScript.  args, kwargs: example inputs of a module.  dynamic_shapes: the dynamic sizes of a module, as
    `torch.export.export` takes them.  input_names: the names of the inputs in order, by default those of the program.
    keep_parameters: whether weights are parameters of the function, after the inputs; `torch_parameters` returns their
    arrays.  returns_changes: whether new values of buffers and of inputs that the model changes are results, after its
    own.  fold: whether small constant expressions are folded.  name: the name of the function.

    Raises ArgumentError for another model, missing example inputs and wrong names, ModelUnsupportedError for a model
    that uses an unsupported feature; the error lists all unsupported operators, with a place in the source of the
    model. Raises the errors of `torch.export.export`.
    """
    program = decompose(exported_program(model, args, kwargs, dynamic_shapes))
    inputs, outputs = inputs_of(program), outputs_of(program, returns_changes)
    if input_names:
        inputs = inputs.with_names(input_names)
    if keep_parameters:
        inputs = inputs.with_parameters(torch_parameters(model))
    sizes = Sizes()
    graph = GraphImporter(program.graph_module, inputs, sizes, fold, name)
    free_unbacked_symbols: Any = import_module("torch.fx.experimental.symbolic_shapes").free_unbacked_symbols
    for expression, interval in program.range_constraints.items():
        if free_unbacked_symbols(expression):  # of data, which the function checks where they become known
            continue
        graph.limit_size(sizes.of_expression(expression, inputs.environment), interval)
    return graph.finish(outputs)


def torch_parameters(model: Any) -> dict[str, Array]:
    """The weights of a program or module by name: parameters, buffers and constant tensors, as views of the tensors."""
    if is_exported_program(model):
        tensors = {**model.state_dict, **model.constants}
    elif isinstance(model, torch.jit.ScriptFunction):
        tensors = {}
    else:
        tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {name: array_of_tensor(tensor) for name, tensor in tensors.items() if isinstance(tensor, torch.Tensor)}


class GraphImporter:
    """Imports the nodes of a graph into a function whose parameters are the inputs that are no constants."""

    def __init__(self, module: Any, inputs: Inputs, sizes: Sizes, fold: bool = True, name: str = "main"):
        self.module = module
        self.sizes = sizes
        self.items: dict[Any, Any] = {}
        self.live: set[Any] = live_nodes(module.graph)
        _require_supported(module.graph)
        params = [each for each in inputs.items if each.is_parameter]
        self.func = FuncOp(name, [(each.name, self._type(each)) for each in params])
        self.constants: dict[str, Array] = {}
        self.builder = Builder(self.func.body.block, self.constants, fold)
        for each, (_, value) in zip(params, self.func.params, strict=True):
            self.items[each.node] = self.builder.tensor_of_value(value)
        for each in inputs.items:
            if not each.is_parameter:
                with error_location(f"input '{each.name}'"):
                    self.items[each.node] = self._constant(each)
        for node in module.graph.nodes:
            self._import(node)

    def _type(self, given: Input) -> Any:
        with error_location(f"input '{given.name}'"):
            example = given.node.meta["val"]
            shape = [size_of_symbol(self.sizes.convert(extent)) for extent in example.shape]
            return tensor_type(shape, dtype_name(example.dtype))

    def _constant(self, given: Input) -> Any:
        if isinstance(given.value, torch.SymInt):
            return self.sizes.convert(given.value)
        if isinstance(given.value, torch.SymFloat | torch.SymBool):
            raise ModelUnsupportedError("a number that only a run knows, which is not supported")
        if isinstance(given.value, torch.Tensor):
            return tensor_of_array(array_of_tensor(given.value), given.name)
        return given.value

    def limit_size(self, size: Any, interval: Any) -> None:
        """Adds the bounds of a symbolic size to the function. interval: a `ValueRanges` of PyTorch."""
        if not isinstance(size, Symbol):
            return
        if interval.lower.is_Integer and int(interval.lower) > 0:
            self.builder.require_at_least(int(interval.lower), size)
        if interval.upper.is_Integer:
            self.builder.require_at_most(size, int(interval.upper))

    def finish(self, outputs: Sequence[Output]) -> Module:
        """The module of the function, which returns `outputs`."""
        results: dict[str, SSAValue] = {}
        for output in outputs:
            with error_location(f"output '{output.name}'"):
                value = self._as_tensor(self.value(output.value))
                results[fresh_name(output.name, set(results))] = result_value(self.builder, value)
        return finish_module(self.func, self.builder, self.constants, results)

    def _as_tensor(self, value: Any) -> ModelTensor:
        """A result that is a number as a tensor."""
        if isinstance(value, ModelTensor):
            return value
        if isinstance(value, Symbol):
            return self.builder.size_value(value)
        return tensor_of_array(array_of_tensor(torch.as_tensor(value)))

    # Nodes

    def _import(self, node: Any) -> None:
        if node.op == "get_attr":
            self.items[node] = self._attribute(node)
        elif node.op == "call_function" and node in self.live:
            self.builder.set_location(node.name)
            with error_location(node_place(node)):
                self.items[node] = _raising_model_errors(lambda: self._result(node))

    def _attribute(self, node: Any) -> Any:
        value = self.module
        for part in node.target.split("."):
            value = getattr(value, part)
        return tensor_of_array(array_of_tensor(value), node.target) if isinstance(value, torch.Tensor) else value

    def value(self, argument: Any) -> Any:
        """An argument of a node, in which values replace nodes."""
        if isinstance(argument, torch.fx.Node):
            return self.items[argument]
        if isinstance(argument, list | tuple):
            return [self.value(each) for each in argument]
        return argument

    def _result(self, node: Any) -> Any:
        args = self.value(node.args)
        if node.target is operator.getitem:
            return args[0][args[1]]
        if node.target in _ON_SIZES:
            return _ON_SIZES[node.target](*args)
        if node.target is torch.ops.higher_order.cond:
            return self._branch(*args)
        call = Call(self.builder, node, *_bind(node, args, self.value(list(node.kwargs.values()))))
        result = IMPORTERS[str(node.target)](call)
        for own, example in zip(_as_list(result), _as_list(node.meta["val"]), strict=False):
            self._check(own, example)
        return result

    def _branch(self, condition: Any, then: Any, orelse: Any, operands: Sequence[Any] = ()) -> list[ModelTensor]:
        """The results of the one of two graphs that a tensor of one bool selects."""
        if not isinstance(condition, ModelTensor):
            raise ModelUnsupportedError(f"torch.cond of the size {condition}, which the example inputs determine")
        flag = self.builder.value(self.builder.reshape(condition, []))
        regions: list[Region] = []
        types: list[list[Attribute]] = []
        for graph in (then, orelse):
            block = Block()
            results = self.builder.build_in_block(block, lambda graph=graph: self._results_of(graph, operands))
            types.append([result.type for result in results])
            self.builder.build_in_block(block, lambda results=results: self.builder.relay.insert(YieldOp(results)))
            regions.append(Region(block))
        if types[0] != types[1]:
            found, expected = ([str(type) for type in each] for each in reversed(types))
            raise ModelUnsupportedError(f"torch.cond with a branch of results {found}, the other has {expected}")
        op = IfOp(flag, types[0], *regions)
        return [self.builder.tensor_of_value(value) for value in self.builder.relay.branch(op)]

    def _results_of(self, module: Any, operands: Sequence[Any]) -> list[SSAValue]:
        """The results of a graph, whose nodes are emitted at the insertion point. operands: of its placeholders."""
        outer, self.module = self.module, module
        self.live |= live_nodes(module.graph)
        _require_supported(module.graph)
        inputs = iter(operands)
        try:
            for node in module.graph.nodes:
                if node.op == "placeholder":
                    self.items[node] = next(inputs)
                elif node.op == "output":
                    values = self.value(_as_list(node.args[0]))
                    return [self.builder.value(self._as_tensor(each)) for each in values]
                else:
                    self._import(node)
        finally:
            self.module = outer
        return []

    def _check(self, result: Any, example: Any) -> None:
        """Raises ModelError for a result of another type than PyTorch's, which an importer may never return."""
        if not isinstance(result, ModelTensor) or not isinstance(example, torch.Tensor):
            return
        extents = [each if isinstance(each, int) else None for each in example.shape]
        own = [each if isinstance(each, int) else None for each in result.shape]
        fits = len(own) == len(extents) and all(a == b or None in (a, b) for a, b in zip(own, extents, strict=True))
        if result.dtype != dtype_name(example.dtype) or not fits:
            expected = f"{dtype_name(example.dtype)}{list(example.shape)}"
            raise ModelError(f"imported as {result.dtype}{list(result.shape)}, expected {expected}")


_ON_SIZES: dict[Any, Callable[..., Any]] = {
    operator.add: operator.add,
    operator.eq: operator.eq,
    operator.floordiv: operator.floordiv,
    operator.ge: operator.ge,
    operator.gt: operator.gt,
    operator.le: operator.le,
    operator.lt: operator.lt,
    operator.mod: operator.mod,
    operator.mul: operator.mul,
    operator.ne: operator.ne,
    operator.neg: lambda size: 0 - size,
    operator.sub: operator.sub,
    torch.sym_max: symbol_maximum,
    torch.sym_min: symbol_minimum,
}
"""Functions of nodes that compute sizes, on integers and symbols."""


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _bind(node: Any, args: Sequence[Any], kwargs: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a node by the names of the schema, with defaults: as imported values, and as examples."""
    schema = node.target._schema.arguments
    names = [each.name for each in schema]
    defaults = {each.name: each.default_value for each in schema if each.has_default_value()}
    examples = torch.fx.map_arg((node.args, dict(node.kwargs)), lambda each: each.meta["val"])
    given = dict(zip(names, args, strict=False)) | dict(zip(node.kwargs, kwargs, strict=True))
    return defaults | given, defaults | dict(zip(names, examples[0], strict=False)) | examples[1]


def _raising_model_errors(compute: Callable[[], Any]) -> Any:
    """Calls `compute`, whose errors become errors of the model."""
    try:
        return compute()
    except ModelError:
        raise
    except UnknownSizeError as error:
        raise ModelUnsupportedError("the result depends on sizes that are known only when the model runs") from error
    except StepwellError as error:
        raise ModelUnsupportedError(error.what if isinstance(error, TeError) else str(error)) from error


def live_nodes(graph: Any) -> set[Any]:
    """The nodes that the results of a graph need: not those of assertions on sizes."""
    live: set[Any] = set()
    for node in reversed(graph.nodes):
        if node.op == "output" or node in live:
            live |= {node, *node.all_input_nodes}
    return live


def _require_supported(graph: Any) -> None:
    """Raises ModelUnsupportedError that lists the operators without an importer, each at its first place."""
    missing: dict[str, str] = {}
    live = live_nodes(graph)
    for node in graph.nodes:
        if node.op == "call_function" and node in live and not _is_supported(node.target):
            missing.setdefault(str(node.target), node_place(node))
    if missing:
        expected = f"expected one of the {len(IMPORTERS)} operators of docs/torch.md"
        raise ModelUnsupportedError(f"operators that are not supported: {'; '.join(missing.values())}; {expected}")


def _is_supported(target: Any) -> bool:
    known = target is operator.getitem or target in _ON_SIZES or target is torch.ops.higher_order.cond
    return known or str(target) in IMPORTERS
