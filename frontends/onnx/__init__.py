"""The ONNX front end.

`load_model` reads and checks a model and inlines its functions; `from_onnx` imports it as a module of the `relay`
dialect; `expand_node` replaces an operator by its definition in terms of other operators.

Requires the extra `onnx`; no other part of Stepwell imports the package `onnx`.
"""

from ..models.types import Dimension, OptionalType, SequenceType, TensorType, ValueType
from .errors import OnnxError, OnnxUnsupportedError
from .expand import expand_node
from .graph import AttributeReference, AttributeValue, OnnxFunction, OnnxGraph, OnnxNode, OnnxValue
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
