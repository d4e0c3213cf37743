"""Conversion of ONNX's messages: types, attributes, nodes, graphs, functions. `checking.py` checks the names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, TypeProto, ValueInfoProto

from ..models.errors import error_location
from ..models.types import Array, Dimension, OptionalType, SequenceType, TensorType, ValueType, dtype_name
from .errors import OnnxError, OnnxUnsupportedError, require_utf8
from .graph import AttributeReference, AttributeValue, OnnxFunction, OnnxGraph, OnnxNode, OnnxValue
from .tensors import element_type, read_tensor

OLDEST_OPSET = 7
"""The opset from which on all operators are supported; of older ones that changed up to it, most are."""

_NEWEST = 2**31 - 1  # for domains other than ONNX's: the greatest version that the package `onnx` accepts


@dataclass(frozen=True)
class Source:
    """The context for reading the parts of a model. opset: the version of each domain.  folder: the folder of the
    file."""

    opset: Mapping[str, int]
    folder: Path | None = None


def _domain(name: str) -> str:
    """The normal form of a domain name; ONNX's own domain has two names."""
    return "" if name == "ai.onnx" else require_utf8(name)


def read_opset(entries: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """The version of each domain. The oldest valid version of ONNX's domain depends on the operators."""
    opset: dict[str, int] = {}
    for entry in entries:
        domain = _domain(entry.domain)
        newest = _NEWEST if domain else onnx.defs.onnx_opset_version()
        if not 1 <= entry.version <= newest:
            raise OnnxError(f"expected opset 1 to {newest} of domain '{domain}', got {entry.version}")
        if opset.setdefault(domain, entry.version) != entry.version:
            raise OnnxError(f"domain '{domain}' is imported as opset {opset[domain]} and as opset {entry.version}")
    return opset


# Graphs


def read_graph(proto: GraphProto, source: Source) -> OnnxGraph:
    """A graph and its subgraphs, with nodes in the order of the message."""
    if proto.sparse_initializer:
        raise OnnxUnsupportedError("sparse initializers are not supported")
    initializers: dict[str, Array] = {}
    for tensor in proto.initializer:
        if tensor.name in initializers:
            raise OnnxError(f"there are two initializers '{tensor.name}'")
        with error_location("initializers"):
            initializers[tensor.name] = read_tensor(tensor, source.folder)
    for value in (*proto.input, *proto.value_info):
        if value.name in initializers:
            _check_declaration(_value(value), initializers[value.name])
    return OnnxGraph(
        name=require_utf8(proto.name),
        inputs=tuple(_value(value) for value in proto.input if value.name not in initializers),
        outputs=tuple(_value(value) for value in proto.output),
        nodes=tuple(read_node(node, source) for node in proto.node),
        initializers=initializers,
        opset=source.opset,
    )


def _check_declaration(value: OnnxValue, array: Array) -> None:
    """Raises OnnxError unless an initializer has the type declared by the graph."""
    got = TensorType(dtype_name(array.dtype), array.shape)
    if value.type is not None and not _fits(got, value.type):
        raise OnnxError(f"initializer '{value.name}': declared as {value.type}, got data of {got}")


def _fits(got: TensorType, declared: ValueType) -> bool:
    if not isinstance(declared, TensorType) or got.dtype != declared.dtype:
        return False
    if got.shape is None or declared.shape is None:
        return True
    pairs = zip(got.shape, declared.shape, strict=False)
    return len(got.shape) == len(declared.shape) and all(isinstance(want, str) or want == have for have, want in pairs)


def _value(proto: ValueInfoProto) -> OnnxValue:
    with error_location(f"value '{require_utf8(proto.name)}'"):
        return OnnxValue(proto.name, read_type(proto.type, proto.name))


def read_type(proto: TypeProto, name: str) -> ValueType | None:
    """A type; None for an empty message. Anonymous unknown extents are named after `name`."""
    match proto.WhichOneof("value"):
        case None:
            return None
        case "tensor_type":
            return _tensor_type(proto.tensor_type, name)
        case "sequence_type":
            return SequenceType(_element(read_type(proto.sequence_type.elem_type, name)))
        case "optional_type":
            return OptionalType(_element(read_type(proto.optional_type.elem_type, name)))
        case kind:
            raise OnnxUnsupportedError(f"values of {kind.replace('_', ' ')} are not supported")


def _element(element: ValueType | None) -> ValueType:
    if element is None:
        raise OnnxError("expected the type of the elements, got none")
    return element


def _tensor_type(proto: TypeProto.Tensor, name: str) -> TensorType:
    dtype = dtype_name(element_type(proto.elem_type))
    if not proto.HasField("shape"):
        return TensorType(dtype, None)
    return TensorType(dtype, tuple(_dimension(dim, f"{name}_{axis}") for axis, dim in enumerate(proto.shape.dim)))


def _dimension(dim: Any, name: str) -> Dimension:
    if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0:  # some exporters write -1 for an unknown extent
        return int(dim.dim_value)
    return require_utf8(dim.dim_param) or name


# Nodes


def read_node(proto: NodeProto, source: Source) -> OnnxNode:
    """A node. Raises OnnxError if the model imports no opset of its domain."""
    domain = _domain(proto.domain)
    node = OnnxNode(
        op_type=require_utf8(proto.op_type),
        inputs=tuple(map(require_utf8, proto.input)),
        outputs=tuple(map(require_utf8, proto.output)),
        name=require_utf8(proto.name),
        domain=domain,
        overload=require_utf8(proto.overload),
        version=source.opset.get(domain, 0),
    )
    with error_location(node.display_name):
        if domain not in source.opset:
            raise OnnxError(f"the model imports no opset of domain '{domain}' (imports: {_quote_names(source.opset)})")
        return replace(node, attributes=_read_attributes(proto.attribute, source))


def _read_attributes(protos: Iterable[AttributeProto], source: Source) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {}
    for proto in protos:
        if require_utf8(proto.name) in attributes:
            raise OnnxError(f"there are two attributes '{proto.name}'")
        with error_location(f"attribute '{proto.name}'"):
            attributes[proto.name] = read_attribute(proto, source)
    return attributes


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def read_attribute(proto: AttributeProto, source: Source) -> AttributeValue:
    """The value of an attribute."""
    if proto.ref_attr_name:
        return AttributeReference(require_utf8(proto.ref_attr_name))
    kind = AttributeProto.AttributeType.Name(proto.type)
    if kind in _ATTRIBUTES:
        return _ATTRIBUTES[kind](proto, source)
    if kind.removesuffix("S") == "SPARSE_TENSOR":
        raise OnnxUnsupportedError("sparse tensors are not supported")
    raise OnnxError(f"unknown type of attribute {kind} (expected one of {', '.join(_ATTRIBUTES)})")


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise OnnxError(f"expected text in UTF-8, got {data!r}") from error


def _attribute_type(proto: TypeProto, name: str) -> ValueType:
    return _element(read_type(proto, name))


_ATTRIBUTES: dict[str, Callable[[AttributeProto, Source], AttributeValue]] = {
    "FLOAT": lambda proto, _: proto.f,
    "INT": lambda proto, _: proto.i,
    "STRING": lambda proto, _: _decode(proto.s),
    "TENSOR": lambda proto, source: read_tensor(proto.t, source.folder),
    "GRAPH": lambda proto, source: read_graph(proto.g, source),
    "TYPE_PROTO": lambda proto, _: _attribute_type(proto.tp, proto.name),
    "FLOATS": lambda proto, _: tuple(proto.floats),
    "INTS": lambda proto, _: tuple(proto.ints),
    "STRINGS": lambda proto, _: tuple(_decode(item) for item in proto.strings),
    "TENSORS": lambda proto, source: tuple(read_tensor(item, source.folder) for item in proto.tensors),
    "GRAPHS": lambda proto, source: tuple(read_graph(item, source) for item in proto.graphs),
    "TYPE_PROTOS": lambda proto, _: tuple(_attribute_type(item, proto.name) for item in proto.type_protos),
}


# Functions


def read_function(proto: FunctionProto, source: Source) -> OnnxFunction:
    """An operator defined by nodes, whose versions are those of the function's opset and, for other domains, of the
    source's."""
    inner = Source({**source.opset, **read_opset(proto.opset_import)}, source.folder)
    with error_location(f"function '{require_utf8(proto.name)}'"):
        return OnnxFunction(
            name=proto.name,
            domain=_domain(proto.domain),
            inputs=tuple(map(require_utf8, proto.input)),
            outputs=tuple(map(require_utf8, proto.output)),
            nodes=tuple(read_node(node, inner) for node in proto.node),
            defaults=_read_attributes(proto.attribute_proto, inner),
            overload=require_utf8(proto.overload),
        )
