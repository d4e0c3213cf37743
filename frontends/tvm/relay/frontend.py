"""Models of other frameworks, as `tvm.relay.frontend` imports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

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
    """A model in ONNX's form as a module, and its parameters, which are constants of the module: so there are none.

    model: of the package `onnx`, or a path.  shape: of inputs, by name, where the model leaves sizes open.  dtype and
    opset are what the model says.  Needs the extra `onnx`. OnnxError for a model that is broken, OnnxUnsupportedError
    for one that uses what is not there.
    """
    importer: Any = import_module("...onnx", __package__)
    mod = importer.from_onnx(model, shapes=shape)
    return IRModule(mod.op, mod.constants), {}
