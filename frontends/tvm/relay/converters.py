"""Models of TensorFlow, Keras and TFLite, by way of the package `tf2onnx`, which converts them to ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ....core.errors import ArgumentError, OptionError, UnsupportedError
from ..absent import refuse_options
from ..ir.module import IRModule
from ..nd import NDArray

OPSET = 17
"""The opset of ONNX to which models are converted."""

Shapes = Mapping[str, Sequence[Any]]
Imported = tuple[IRModule, dict[str, NDArray]]


def from_keras(model: Any, shape: Shapes | None = None, layout: str = "NCHW") -> Imported:
    """A module for a model of Keras, and its parameters: none, since they are constants of the module.

    shape: shapes of inputs by name, in `layout`; by default those of the model.  layout: that of images at the inputs
    and results of the module, "NCHW" or "NHWC".  UnsupportedError without the packages `tensorflow` and `tf2onnx`,
    OptionError for another layout, ArgumentError for the name of another input.
    """
    if layout not in ("NCHW", "NHWC"):
        raise OptionError(f"from_keras: layout {layout!r}, expected 'NCHW' or 'NHWC'")
    convert, tensorflow = _package("from_keras", "tf2onnx.convert"), _package("from_keras", "tensorflow")
    inputs = {tensor.name.split(":")[0]: tensor for tensor in model.inputs}
    for name in shape or {}:
        if name not in inputs:
            raise ArgumentError(f"from_keras: shape of {name!r}, expected an input of the model: {', '.join(inputs)}")
    is_image = layout == "NCHW"
    signature = []
    for name, tensor in inputs.items():
        given: list[Any] = list((shape or {}).get(name, []))
        if given and is_image and len(given) == 4:
            given = [given[0], *given[2:], given[1]]
        signature.append(tensorflow.TensorSpec(given or tensor.shape, tensor.dtype, name=name))
    one = len(signature) == 1
    function = tensorflow.function((lambda tensor: model(tensor)) if one else (lambda *tensors: model([*tensors])))
    images = [spec.name for spec in signature if is_image and len(spec.shape) == 4]
    outputs = function.get_concrete_function(*signature).outputs
    results = [output.name for output in outputs if is_image and len(output.shape) == 4]
    made, _ = convert.from_function(
        function, signature, opset=OPSET, inputs_as_nchw=images or None, outputs_as_nchw=results or None
    )
    return _imported(_named_by_nodes(made), None)


def from_tensorflow(
    graph: Any,
    layout: str = "NHWC",
    shape: Shapes | None = None,
    outputs: Sequence[str] | None = None,
    convert_config: Any = None,
) -> Imported:
    """A module for a frozen `GraphDef` of TensorFlow, and its parameters: none, since they are constants.

    layout: "NHWC", in which TensorFlow computes.  shape: shapes of inputs by name.  outputs: the names of results, by
    default those of the nodes that no node reads.  UnsupportedError without the packages `tensorflow` and `tf2onnx`,
    for another layout, and for a convert_config.
    """
    refuse_options("from_tensorflow", convert_config=convert_config)
    if layout != "NHWC":
        raise UnsupportedError(f"from_tensorflow: layout {layout!r}, expected 'NHWC'")
    convert = _package("from_tensorflow", "tf2onnx.convert")
    read = {text.split(":")[0].lstrip("^") for node in graph.node for text in node.input}
    inputs = [node.name for node in graph.node if node.op == "Placeholder"]
    ends = list(outputs or (node.name for node in graph.node if node.name not in read))
    made, _ = convert.from_graph_def(
        graph,
        input_names=[_tensor(name) for name in inputs],
        output_names=[_tensor(name) for name in ends],
        opset=OPSET,
    )
    return _imported(_named_by_nodes(made), shape)


def from_tflite(
    model: Any, shape_dict: Shapes | None = None, dtype_dict: Mapping[str, str] | None = None, op_converter: Any = None
) -> Imported:
    """A module for a model of TFLite, and its parameters: none, since they are constants of the module.

    model: the bytes of a file, or a `Model` of the package `tflite`.  shape_dict: shapes of inputs by name.
    dtype_dict: ignored in favor of the model's.  UnsupportedError without the packages `tensorflow` and `tf2onnx`, and
    for an op_converter.
    """
    refuse_options("from_tflite", op_converter=op_converter)
    convert = _package("from_tflite", "tf2onnx.convert")
    data = bytes(model) if isinstance(model, bytes | bytearray) else bytes(model._tab.Bytes)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(data)
        made, _ = convert.from_tflite(str(path), opset=OPSET)
    return _imported(made, shape_dict)


def _imported(model: Any, shapes: Shapes | None) -> Imported:
    importer: Any = import_module("...onnx", __package__)
    mod = importer.from_onnx(model, shapes=shapes)
    return IRModule(mod.op, mod.constants), {}


def _named_by_nodes(model: Any) -> Any:
    """A model of ONNX whose inputs have the names of nodes of TensorFlow, without the number of the result."""
    names = {given.name: given.name.split(":")[0] for given in model.graph.input}
    for given in model.graph.input:
        given.name = names[given.name]
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
    return model


def _package(function: str, name: str) -> Any:
    """A package of the converters. UnsupportedError if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise UnsupportedError(
            f"{function}: {error}; expected the packages tensorflow and tf2onnx (the extra `tensorflow`), or a model "
            "of ONNX for from_onnx"
        ) from None


def _tensor(name: str) -> str:
    """The name of the first result of a node."""
    return name if ":" in name else f"{name}:0"
