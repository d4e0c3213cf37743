"""Loading of models, from files and from ONNX's messages, as checked graphs."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto

from ..models.errors import error_location
from .checking import check_graph
from .errors import OnnxError, require_utf8
from .graph import OnnxFunction, OnnxGraph
from .inlining import Key, function_key, inline_functions
from .reading import Source, read_function, read_graph, read_opset


def load_model(
    model: str | os.PathLike[str] | bytes | ModelProto, folder: str | os.PathLike[str] | None = None
) -> OnnxGraph:
    """The graph of a model: checked, its nodes in topological order, its functions inlined.

    model: a path, the bytes of a file, or a `ModelProto`, which is not modified.  folder: the folder of external data;
    by default the folder of the file.  Raises OnnxError for an invalid model, OnnxUnsupportedError for a model with an
    unsupported feature.
    """
    if isinstance(model, ModelProto):
        with error_location(require_utf8(model.graph.name)):
            return _graph(model, None if folder is None else Path(folder))
    if isinstance(model, bytes):
        return load_model(_parse(model), folder)
    path = Path(model)
    with error_location(str(path)):
        return _graph(_parse(_read(path)), path.parent if folder is None else Path(folder))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OnnxError(f"cannot be read: {error.strerror}") from error


def _parse(data: bytes) -> ModelProto:
    if not data:
        raise OnnxError("is empty")
    try:
        return ModelProto.FromString(data)
    except DecodeError as error:
        raise OnnxError("is no ONNX model, or only a part of one: not in protobuf's format") from error


def _graph(model: ModelProto, folder: Path | None) -> OnnxGraph:
    _check_version(model)
    source = Source(read_opset(model.opset_import), folder)
    graph = inline_functions(read_graph(model.graph, source), _functions(model, source))
    _check_input_types(graph)
    return check_graph(graph)


def _check_version(model: ModelProto) -> None:
    newest = int(onnx.IR_VERSION)
    if not 3 <= model.ir_version <= newest:
        raise OnnxError(f"expected ONNX's IR version 3 to {newest}, got {model.ir_version}")
    if not model.HasField("graph"):
        raise OnnxError("has no graph")


def _functions(model: ModelProto, source: Source) -> dict[Key, OnnxFunction]:
    functions: dict[Key, OnnxFunction] = {}
    for proto in model.functions:
        function = read_function(proto, source)
        key = function_key(function)
        if key in functions:
            raise OnnxError(f"there are two functions '{function.name}' of domain '{function.domain}'")
        functions[key] = function
    return functions


def _check_input_types(graph: OnnxGraph) -> None:
    for value in graph.inputs:
        if value.type is None:
            raise OnnxError(f"input '{value.name}' has no type")
