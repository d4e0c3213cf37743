"""Programs of PyTorch, decomposed to the operators that have importers."""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ...core.errors import ArgumentError
from .library import torch

_KEPT = (
    "_upsample_nearest_exact1d.vec",
    "_upsample_nearest_exact2d.vec",
    "_upsample_nearest_exact3d.vec",
    "adaptive_avg_pool1d.default",
    "adaptive_avg_pool2d.default",
    "adaptive_avg_pool3d.default",
    "hardsigmoid.default",
    "hardswish.default",
    "linear.default",
    "matmul.default",
    "mish.default",
    "scaled_dot_product_attention.default",
    "silu.default",
    "tril.default",
    "triu.default",
    "upsample_bicubic2d.vec",
    "upsample_linear1d.vec",
    "upsample_nearest1d.vec",
    "upsample_nearest3d.vec",
    "upsample_trilinear3d.vec",
)
"""The operators beyond the core of ATen that are imported as they are."""


def exported_program(
    model: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, dynamic_shapes: Any = None
) -> Any:
    """The `ExportedProgram` of a module for example inputs, by `torch.export.export`.

    model: a module in evaluation mode, TorchScript's included, or a program, which is returned. Raises ArgumentError
    for another model, for a module in training mode, for missing inputs and for inputs beside a program; the errors of
    `torch.export.export`.
    """
    if is_exported_program(model):
        if args or kwargs or dynamic_shapes is not None:
            raise ArgumentError("an ExportedProgram has its inputs and shapes, expected no example inputs")
        return model
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"a {type(model).__name__}, expected an ExportedProgram or a torch.nn.Module")
    if not args and not kwargs and inspect.signature(model.forward).parameters:
        raise ArgumentError("a module without example inputs, expected from_torch(module, (input, ...))")
    if model.training:
        raise ArgumentError("a module in training mode, expected one in evaluation mode: module.eval()")
    module = _module_of_script(model, args, kwargs) if isinstance(model, torch.jit.ScriptModule) else model
    with torch.no_grad():
        return torch.export.export(module, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes)


def _module_of_script(script: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """A TorchScript module, which `torch.export` does not accept, as another module with the same weights by name, in
    evaluation mode. Its sizes do not depend on the example inputs."""
    converter: Any = import_module("torch._export.converter").TS2EPConverter  # the one that the error of export names
    logger = logging.getLogger("torch._export.non_strict_utils")  # reports each size that the converter keeps constant
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # branches on sizes, buffers without uses
            module = converter(script, tuple(args), dict(kwargs or {})).convert().module()
    finally:
        logger.setLevel(level)
    _stop_training(module)
    return module


_TRAINING = {"batch_norm.default": 5, "dropout.default": 2, "dropout_.default": 2, "feature_dropout.default": 2}
"""The operators that compute something else in training, each with the position of the argument that says so."""


def _stop_training(module: Any) -> None:
    """Makes the operators of a module those of evaluation: a trace in training mode has recorded those of training, and
    the counts of their batches."""
    positions = {operator_of_name(name): position for name, position in _TRAINING.items()}
    count = operator_of_name("add_.Tensor")
    for node in list(module.graph.nodes):
        if node.target in positions:
            node.update_arg(positions[node.target], False)
        elif node.target is count and not node.users and str(node.args[0].target).endswith("num_batches_tracked"):
            module.graph.erase_node(node)
    module.recompile()


def is_exported_program(model: Any) -> bool:
    """Whether a model is a program of `torch.export`, not a module."""
    return isinstance(model, torch.export.ExportedProgram)


def decompose(program: Any) -> Any:
    """A program whose operators are in the core of ATen, or in `_KEPT`."""
    table = torch.export.default_decompositions()
    for name in _KEPT:
        table.pop(operator_of_name(name), None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of PyTorch about itself
        return program.run_decompositions(table)


def decompositions() -> dict[Any, Any]:
    """The decompositions of `decompose`, for a trace."""
    table = torch._decomp.core_aten_decompositions()  # pyright: ignore[reportPrivateUsage]
    return {operator: function for operator, function in table.items() if operator not in _kept_operators()}


def _kept_operators() -> set[Any]:
    return {operator_of_name(name) for name in _KEPT}


def operator_of_name(name: str) -> Any:
    """The operator of ATen with a name and an overload: `add.Tensor`."""
    operator, overload = name.split(".")
    return getattr(getattr(torch.ops.aten, operator), overload)
