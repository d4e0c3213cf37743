"""The expansion of operators that ONNX defines in terms of other operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    TypeProto,
    ValueInfoProto,
    defs,
    helper,
    numpy_helper,
)

from ..models.types import Array, OptionalType, SequenceType, TensorType, ValueType
from .checking import attribute_kind
from .graph import AttributeValue, OnnxGraph, OnnxNode, OnnxValue
from .inlining import instantiate
from .reading import Source, read_attribute, read_function


def expand_node(
    node: OnnxNode, input_types: Sequence[ValueType | None], opset: Mapping[str, int]
) -> list[OnnxNode] | None:
    """The nodes of ONNX's definition of an operator, with the operands and results of `node`; None without a
    definition.

    input_types: the type of each operand; None for an omitted operand and for an unknown type. Some definitions depend
    on the types, and do not exist without them.  opset: the opset of the graph, for domains whose version the
    definition does not state.
    """
    if not defs.has(node.op_type, node.version, node.domain):
        return None
    schema: Any = defs.get_schema(node.op_type, node.version, node.domain)
    proto = _definition(schema, node, input_types)
    if proto is None:
        return None
    source = Source({**opset, node.domain: node.version})
    defaults = {
        name: read_attribute(attribute.default_value, source)
        for name, attribute in schema.attributes.items()
        if attribute.default_value.type
    }
    function = read_function(proto, source)
    attributes = {**defaults, **node.attributes}
    return instantiate(function, replace(node, attributes=attributes))


def _definition(schema: Any, node: OnnxNode, input_types: Sequence[ValueType | None]) -> FunctionProto | None:
    if schema.has_function:
        version = _nearest(schema.function_opset_versions, node.version)
        return FunctionProto.FromString(schema.get_function_with_opset_version(version))
    if not schema.has_context_dependent_function:
        return None
    version = _nearest(schema.context_dependent_function_opset_versions, node.version)
    types = [type_proto(type).SerializeToString() for type in input_types]
    data = schema.get_context_dependent_function_with_opset_version(
        version, node_proto(node).SerializeToString(), types
    )
    return FunctionProto.FromString(data) if data else None


def _nearest(versions: Sequence[int], wanted: int) -> int:
    """The newest definition not newer than the model. Its nodes are read by its own opset, so any definition is
    valid."""
    return max((version for version in versions if version <= wanted), default=min(versions))


# ONNX's messages


def type_proto(given: ValueType | None) -> TypeProto:
    """The message of a type; an empty message for None."""
    match given:
        case None:
            return TypeProto()
        case TensorType(dtype, shape):
            return helper.make_tensor_type_proto(_element_code(dtype), shape)
        case SequenceType(element):
            return helper.make_sequence_type_proto(type_proto(element))
        case OptionalType(element):
            return helper.make_optional_type_proto(type_proto(element))


def _element_code(dtype: str) -> int:
    codes = {helper.tensor_dtype_to_np_dtype(code).name: code for code in helper.get_all_tensor_dtypes()}
    return codes["object" if dtype == "string" else dtype]


def node_proto(node: OnnxNode) -> NodeProto:
    """The message of a node."""
    proto = helper.make_node(node.op_type, node.inputs, node.outputs, node.name or None, domain=node.domain or None)
    proto.attribute.extend(_attribute_proto(name, value) for name, value in node.attributes.items())
    return proto


def _attribute_proto(name: str, value: AttributeValue) -> AttributeProto:
    def message(item: AttributeValue) -> object:
        if isinstance(item, OnnxGraph):
            return _graph_proto(item)
        if isinstance(item, TensorType | SequenceType | OptionalType):
            return type_proto(item)
        return item if isinstance(item, int | float | str) else numpy_helper.from_array(cast("Array", item))

    kind = AttributeProto.AttributeType.Value(attribute_kind(value))
    data = [message(item) for item in value] if isinstance(value, tuple) else message(value)
    return helper.make_attribute(name, data, attr_type=kind)


def _graph_proto(graph: OnnxGraph) -> GraphProto:
    return helper.make_graph(
        [node_proto(node) for node in graph.nodes],
        graph.name,
        [_value_proto(value) for value in graph.inputs],
        [_value_proto(value) for value in graph.outputs],
        [numpy_helper.from_array(array, name) for name, array in graph.initializers.items()],
    )


def _value_proto(value: OnnxValue) -> ValueInfoProto:
    return ValueInfoProto(name=value.name, type=None if value.type is None else type_proto(value.type))
