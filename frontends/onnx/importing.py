"""Models as modules of the `relay` dialect."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.ir import SSAValue

from ...core.errors import StepwellError
from ...core.identifiers import fresh_name
from ...expressions.errors import TeError
from ...module import Module
from ...operators import relax
from ...operators.relay import FuncOp, Size, tensor_type
from ..models.building import Builder
from ..models.data_sizes import object_of
from ..models.errors import error_location
from ..models.functions import finish_module, result_value
from ..models.limits import require_rank
from ..models.objects import object_type
from ..models.symbols import UnknownSizeError
from ..models.types import Array, OptionalType, SequenceType, TensorType, ValueType
from ..models.values import Item, ModelObject, ModelTensor, SizeNames, require_dtype, tensor_of_array, type_of_item
from . import importers as importers  # registers them
from .call import Call
from .errors import OnnxError, OnnxUnsupportedError
from .expand import expand_node
from .graph import OnnxGraph, OnnxNode, OnnxValue
from .model import load_model
from .operand_types import check_operand_types
from .registry import Results, importer_of, unsupported_operators

if TYPE_CHECKING:
    from onnx import ModelProto

UNEXPECTED = "operands or attributes that do not fit each other"
"""The error for an invalid node that no check of its importer finds; `make fuzz` searches for such nodes."""

Shapes: TypeAlias = Mapping[str, Sequence[Size]]


def from_onnx(
    model: str | os.PathLike[str] | bytes | ModelProto | OnnxGraph,
    *,
    shapes: Shapes | None = None,
    fold: bool = True,
    name: str = "main",
) -> Module:
    """A model as a function of the `relay` dialect: its inputs become parameters, its weights constants of the module.

    model: an argument or the result of `load_model`.  shapes: shapes of inputs by name, for inputs whose shape or
    extents the model leaves open; each extent an int or a name. Other open extents keep the names of the model.
    fold: whether small constant expressions are folded; shapes always are.  name: the name of the function.

    A model whose sizes, loops or sequences only data determines becomes a program instead: a function of `relax`,
    which `build_relax` compiles. A result that is a sequence is one result of a program, and one for each of its
    elements of a graph.

    Raises OnnxError for an invalid model, OnnxUnsupportedError for a model that uses an unsupported feature; the error
    lists all unsupported operators.
    """
    graph = model if isinstance(model, OnnxGraph) else load_model(model)
    missing = unsupported_operators(graph.nodes)
    if missing:
        raise OnnxUnsupportedError(f"operators that are not supported: {', '.join(missing)}")
    with error_location(graph.name):
        return _import_graph(graph, dict(shapes or {}), fold, name)


def _import_graph(graph: OnnxGraph, shapes: dict[str, Sequence[Size]], fold: bool, name: str) -> Module:
    names = SizeNames()
    params = [(value.name, _parameter_type(value, shapes.pop(value.name, None), names)) for value in graph.inputs]
    if shapes:
        raise OnnxError(f"shapes of {', '.join(shapes)}, expected inputs: {', '.join(name for name, _ in params)}")
    func = FuncOp(name, params)
    constants: dict[str, Array] = {}
    builder = Builder(func.body.block, constants, fold)
    scope = GraphScope(builder, graph.opset)
    for param, (name, value) in zip(graph.inputs, func.params, strict=True):
        scope.items[name] = _parameter(builder, value, param.type)
    scope.import_graph(graph)
    results: dict[str, SSAValue] = {}
    for output in graph.outputs:
        for value in _result_values(builder, scope.find(output.name), output.name):
            results[fresh_name(output.name, set(results))] = value
    return finish_module(func, builder, constants, results)


def _parameter(builder: Builder, value: SSAValue, type: ValueType | None) -> Item:
    if not isinstance(type, SequenceType | OptionalType):
        return builder.tensor_of_value(value)
    builder.is_program = True
    known = object_type(type)
    assert isinstance(known, SequenceType | OptionalType)
    return ModelObject(value, known)


def _result_values(builder: Builder, item: Item, name: str) -> list[SSAValue]:
    """The SSA values of a result: one in a program, in a graph one for each tensor of a sequence."""
    if builder.is_program and not isinstance(item, ModelTensor):
        return [result_value(builder, object_of(builder, item))]
    if isinstance(item, list):
        return [value for each in item for value in _result_values(builder, each, name)]
    if item is None:
        raise OnnxUnsupportedError(f"output '{name}' has no value, which is not supported")
    assert isinstance(item, ModelTensor)
    return [result_value(builder, item)]


# Sizes of inputs


def _parameter_type(value: OnnxValue, shape: Sequence[Size] | None, names: SizeNames) -> Any:
    with error_location(f"input '{value.name}'"):
        if not isinstance(value.type, TensorType):
            if shape is not None:
                raise OnnxError(f"a shape, expected none for an input of type {value.type}")
            return relax.ObjectType()
        declared = value.type.shape
        if shape is not None and declared is not None and len(shape) != len(declared):
            raise OnnxError(f"shape {list(shape)}, expected {len(declared)} extents")
        if declared is None and shape is None:
            raise OnnxUnsupportedError("the model does not say how many dimensions it has (pass shapes=)")
        sizes = [names.identifier(each) if isinstance(each, str) else each for each in declared or ()]
        if shape is not None:
            sizes = list(shape)
            if not all(isinstance(size, int | str) for size in sizes):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise OnnxError(f"shape {sizes}, expected integers and names")
        require_rank(len(sizes))
        dtype = require_dtype(value.type.dtype)
        try:
            return tensor_type(sizes, dtype)
        except ValueError as error:
            raise OnnxError(str(error)) from error


# Nodes


class GraphScope:
    """The values of a graph by name, with the values of the enclosing graphs."""

    def __init__(self, builder: Builder, opset: Mapping[str, int], outer: GraphScope | None = None):
        self.builder = builder
        self.opset = opset
        self.outer = outer
        self.items: dict[str, Item] = {}

    def find(self, name: str) -> Item:
        """The value `name`; None for "", an omitted value."""
        if not name:
            return None
        if name in self.items:
            return self.items[name]
        if self.outer is None:
            raise OnnxError(f"'{name}' is not known here")
        return self.outer.find(name)

    def import_graph(self, graph: OnnxGraph) -> None:
        """Imports the nodes of a graph."""
        for name, array in graph.initializers.items():
            self.items[name] = tensor_of_array(array, name)
        for node in graph.nodes:
            self.import_node(node)

    def subgraph_outputs(self, graph: OnnxGraph, given: Sequence[Item]) -> list[Item]:
        """The outputs of a subgraph. given: its inputs."""
        scope = GraphScope(self.builder, graph.opset, self)
        if len(given) != len(graph.inputs):
            raise OnnxError(f"graph '{graph.name}' has {len(graph.inputs)} inputs, got {len(given)}")
        scope.items |= {value.name: item for value, item in zip(graph.inputs, given, strict=True)}
        with error_location(graph.name):
            scope.import_graph(graph)
            return [scope.find(output.name) for output in graph.outputs]

    def import_node(self, node: OnnxNode) -> None:
        """Imports a node and binds its results to their names."""
        with error_location(node.display_name):
            self.builder.budget.spend()
            operands = [self.find(name) for name in node.inputs]
            check_operand_types(node, operands)
            results = self._results(node, operands)
        for name, item in zip(node.outputs, results, strict=False):
            if name:
                self.items[name] = item
        left = [name for name in node.outputs[len(results) :] if name]
        if left:
            raise OnnxUnsupportedError(f"{node.display_name}: result '{left[0]}' is not supported")

    def apply(self, op_type: str, inputs: Sequence[Item], attributes: Mapping[str, Any], node: OnnxNode) -> Any:
        """The result of an operator on values; a list if it has several results."""
        names = tuple("" if item is None else f"operand{n}" for n, item in enumerate(inputs))
        results = self._results(replace(node, op_type=op_type, domain="", inputs=names, attributes=attributes), inputs)
        return results[0] if len(results) == 1 else results

    def _results(self, node: OnnxNode, inputs: Sequence[Item]) -> Sequence[Item]:
        imported = importer_of(node)
        self.builder.set_location(node.name or next(filter(None, node.outputs), ""))
        if imported is None:
            return self._expand(node, inputs)
        try:
            results = imported(Call(self.builder, node, inputs, self))
        except OnnxError:
            raise
        except UnknownSizeError as error:
            raise OnnxUnsupportedError(
                f"what {node.op_type} does hangs on sizes that are known when the model runs"
            ) from error
        except StepwellError as error:
            raise OnnxUnsupportedError(error.what if isinstance(error, TeError) else str(error)) from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise OnnxError(f"{UNEXPECTED} ({type(error).__name__}: {error})") from error
        return results if isinstance(results, Results) else [results]

    def _expand(self, node: OnnxNode, inputs: Sequence[Item]) -> Sequence[Item]:
        """The results of a node, by ONNX's definition of its operator in terms of other operators."""
        nodes = expand_node(node, [type_of_item(item) for item in inputs], self.opset)
        if nodes is None:
            raise OnnxUnsupportedError(f"operator {node.op_type} is not supported for operands of these types")
        missing = unsupported_operators(nodes)
        if missing:
            raise OnnxUnsupportedError(f"operators that are not supported: {', '.join(missing)}")
        scope = GraphScope(self.builder, self.opset, self)
        scope.items |= {name: item for name, item in zip(node.inputs, inputs, strict=True) if name}
        for each in nodes:
            scope.import_node(each)
        return [scope.items.get(name) for name in node.outputs]


def tensors_of(items: Sequence[Item]) -> list[ModelTensor]:
    """The tensors among values, those in sequences included."""
    flat = [each for item in items for each in (tensors_of(item) if isinstance(item, list) else [item])]
    return [each for each in flat if isinstance(each, ModelTensor)]
