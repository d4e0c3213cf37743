"""Import of models from other frameworks: `tvm.relay.frontend`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ....core.errors import UnsupportedError
from ..ir.module import IRModule
from ..nd import NDArray


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
    dynamic.  dtype and opset: ignored in favor of the model's.  Needs the extra `onnx`. OnnxError for an invalid model,
    OnnxUnsupportedError for a model that uses unsupported features. UnsupportedError for a `convert_config` or an
    `export_node_renamed_model_path`.
    """
    options = {"convert_config": convert_config, "export_node_renamed_model_path": export_node_renamed_model_path}
    for name, value in options.items():
        if value:
            raise UnsupportedError(f"from_onnx: {name} is not supported yet")
    importer: Any = import_module("...onnx", __package__)
    mod = importer.from_onnx(model, shapes=shape)
    return IRModule(mod.op, mod.constants), {}
