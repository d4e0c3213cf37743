"""Import of models from other frameworks: `tvm.relay.frontend`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from ....core.errors import ArgumentError, OptionError
from ...relay import Expr, Function, TensorType, Var, var
from ...relay.analysis import free_vars
from ...relay.inference import infer_types
from ...relay.types import Any_
from ..absent import refuse_options, report_absent
from ..ir.module import IRModule
from ..nd import HostArray, NDArray
from .converters import from_keras as from_keras
from .converters import from_tensorflow as from_tensorflow
from .converters import from_tflite as from_tflite
from .onnx_models import valid_model

__getattr__ = report_absent("tvm.relay.frontend")


def from_onnx(
    model: Any,
    shape: Mapping[str, Sequence[Any]] | None = None,
    dtype: Any = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Any = None,
    export_node_renamed_model_path: Any = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """A module for an ONNX model, and its parameters: always empty, since the parameters are constants of the module.

    model: a model of the package `onnx`, or a path.  shape: shapes of inputs by name, for sizes that the model leaves
    dynamic; those of other names are ignored with a warning.  opset: that of a model that states none, by default 1.
    dtype: ignored in favor of the model's.  convert_config: `use_nt_batch_matmul`, which has no effect.

    Needs the extra `onnx`. OnnxError for an invalid model, OnnxUnsupportedError for a model that uses unsupported
    features. OptionError for another `convert_config`, UnsupportedError for an `export_node_renamed_model_path`.
    """
    refuse_options("from_onnx", export_node_renamed_model_path=export_node_renamed_model_path)
    unknown = [key for key in convert_config or {} if key != "use_nt_batch_matmul"]
    if unknown:
        raise OptionError(f"from_onnx: convert_config {', '.join(unknown)}, expected use_nt_batch_matmul")
    importer: Any = import_module("...onnx", __package__)
    mod = importer.from_onnx(valid_model(model, opset or 1), shapes=shapes_of_inputs(model, shape))
    return IRModule(mod.op, mod.constants), {}


def shapes_of_inputs(model: Any, shapes: Mapping[str, Sequence[Any]] | None) -> dict[str, Sequence[Any]]:
    """The shapes whose names are inputs of an ONNX model, with a warning for others: TVM ignores these."""
    if not shapes:
        return {}
    onnx: Any = import_module("onnx")
    graph = (onnx.load(model, load_external_data=False) if isinstance(model, str | os.PathLike) else model).graph
    names = [each.name for each in graph.input]
    unknown = [name for name in shapes if name not in names]
    if unknown:
        warnings.warn(f"shapes of {', '.join(unknown)} are ignored: the inputs are {', '.join(names)}", stacklevel=3)
    return {name: tuple(map(_size, shape)) for name, shape in shapes.items() if name in names}


def _size(size: Any) -> Any:
    """A size, a name for an unknown one."""
    return size.name if isinstance(size, Any_) else size


def from_pytorch(
    script_module: Any,
    input_infos: Sequence[Any] | Mapping[str, Any],
    custom_convert_map: Any = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
    export_renamed_c_graph_path: Any = None,
    preserve_pytorch_scopes: bool = False,
) -> tuple[IRModule, dict[str, NDArray]]:
    """A module for a model of PyTorch whose weights are parameters, and the values of these parameters, not copied.

    script_module: the result of `torch.jit.trace` or `torch.jit.script`, imported as in evaluation mode; also a
    `torch.nn.Module`, or a `torch.export.ExportedProgram`, of which `input_infos` names the inputs.  input_infos: for
    each input its name with the shape, or with the shape and the data type: `("x", ((1, 3), "int64"))`.  default_dtype:
    of inputs without a data type, in a trace that does not record theirs.  use_parser_friendly_name: whether `_`
    replaces `.` in names of parameters.
    preserve_pytorch_scopes: ignored.

    Requires the extra `torch`. ArgumentError for other `input_infos`, UnsupportedError for the other options,
    ModelUnsupportedError for a model that uses unsupported features.
    """
    refuse_options(
        "from_pytorch",
        custom_convert_map=custom_convert_map,
        keep_quantized_weight=keep_quantized_weight,
        export_renamed_c_graph_path=export_renamed_c_graph_path,
    )
    importer: Any = import_module("...torch", __package__)
    types = _input_types(input_infos, default_dtype, _traced_dtypes(script_module))
    options: dict[str, Any] = {"input_names": list(types), "keep_parameters": True, "returns_changes": False}
    if not importer.is_exported_program(script_module):
        args, dynamic = importer.example_inputs([(type.shape, type.dtype) for type in types.values()])
        options |= {"args": args, "dynamic_shapes": dynamic}
    with _in_evaluation(script_module):
        mod = importer.from_torch(script_module, **options)
    weights = importer.torch_parameters(script_module)
    (func,) = mod.function_ops.values()
    params: dict[str, NDArray] = {name: HostArray(weights[name]) for name, _ in func.params if name not in types}
    return IRModule(mod.op, mod.constants), params


@contextmanager
def _in_evaluation(module: Any) -> Generator[None]:
    """A context in which a module, and each module in it, is in evaluation mode."""
    training = [each for each in module.modules() if each.training] if hasattr(module, "modules") else []
    for each in training:
        each.training = False
    try:
        yield
    finally:
        for each in training:
            each.training = True


def get_graph_input_names(script_module: Any) -> list[str]:
    """The names of the inputs of a model of TorchScript, without the model itself."""
    return [value.debugName() for value in script_module.graph.inputs()][1:]


def get_info(info_proto: Any) -> tuple[str, list[Any], str, list[Any]]:
    """The name of an input of an ONNX model, its shape, its data type, and its shape with `?` for unknown sizes.

    A size with a name is the name in the last result.
    """
    importer: Any = import_module("onnx")
    type = info_proto.type.tensor_type
    sizes = [each.dim_value if each.HasField("dim_value") else each.dim_param or "?" for each in type.shape.dim]
    shape = [size if isinstance(size, int) else Any_() for size in sizes]
    dtype = str(np.dtype(importer.helper.tensor_dtype_to_np_dtype(type.elem_type)))
    return info_proto.name, shape, dtype, sizes


def infer_type(node: Expr, mod: IRModule | None = None) -> Any:
    """An expression, or a function, with the types of its parts. mod: a module with functions that it calls."""
    infer_types({**_functions_of(mod), "main": node if isinstance(node, Function) else Function(free_vars(node), node)})
    return node


def infer_shape(inputs: Expr, mod: IRModule | None = None) -> Any:
    """The shape of an expression, or the type of one that is no tensor."""
    type = infer_type(inputs, mod).checked_type
    return tuple(type.shape) if isinstance(type, TensorType) else type


def _functions_of(mod: IRModule | None) -> dict[str, Function]:
    return {} if mod is None else {name: each for name, each in mod.items() if isinstance(each, Function)}


def new_var(
    name_hint: str, type_annotation: Any = None, shape: Sequence[Any] | None = None, dtype: str = "float32"
) -> Var:
    """A variable of a graph, as `relay.var`."""
    return var(name_hint, type_annotation, shape, dtype)


def _traced_dtypes(script: Any) -> list[str | None]:
    """The data types of the inputs that a trace of TorchScript has recorded, None for others; of other models none."""
    graph = script.graph if hasattr(script, "graph") and hasattr(script, "save") else None
    types = [value.type() for value in ([] if graph is None else graph.inputs())]
    tensors = [each for each in types if each.kind() != "ClassType"]
    dtypes = [each.dtype() if each.kind() == "TensorType" else None for each in tensors]
    return [None if each is None else str(each).removeprefix("torch.") for each in dtypes]


def _input_types(
    infos: Sequence[Any] | Mapping[str, Any], default_dtype: str, traced: Sequence[str | None]
) -> dict[str, TensorType]:
    """The type of each input by name. traced: data types by position, which the user may not state."""
    pairs = list(infos.items() if isinstance(infos, Mapping) else infos)
    types: dict[str, TensorType] = {}
    for pair, known in zip(pairs, [*traced, *[None] * len(pairs)], strict=False):
        dtype = known or default_dtype
        match pair:
            case (str(name), (Sequence() as shape, str(given))):
                types[name] = TensorType(shape, given)
            case (str(name), Sequence() as shape):
                types[name] = TensorType(shape, dtype)
            case _:
                raise ArgumentError(f"input {pair!r}, expected a name with a shape: ('x', (1, 3))")
    if len(types) < len(pairs):
        raise ArgumentError(f"inputs {', '.join(name for name, _ in pairs)}, expected distinct names")
    return types
