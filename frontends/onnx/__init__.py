"""Models in ONNX's form: read and checked, their functions inlined (`load_model`), imported as graphs of the `relay`
dialect (`from_onnx`); operators that ONNX defines by others replaced by these (`expand_node`).

Needs the extra `onnx`; no other part of Stepwell imports ONNX's package.
"""

from .errors import OnnxError, OnnxUnsupportedError
from .expand import expand_node
from .graph import (
    AttributeReference,
    AttributeValue,
    Dimension,
    OnnxFunction,
    OnnxGraph,
    OnnxNode,
    OnnxValue,
    OptionalType,
    SequenceType,
    TensorType,
    ValueType,
)
from .importing import from_onnx
from .model import load_model

__all__ = [
    "AttributeReference",
    "AttributeValue",
    "Dimension",
    "OnnxError",
    "OnnxFunction",
    "OnnxGraph",
    "OnnxNode",
    "OnnxUnsupportedError",
    "OnnxValue",
    "OptionalType",
    "SequenceType",
    "TensorType",
    "ValueType",
    "expand_node",
    "from_onnx",
    "load_model",
]
