"""Programs of PyTorch, decomposed to the operators that have importers."""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from importlib import import_module
from io import StringIO
from typing import Any

from ...core.errors import ArgumentError
from ..models.errors import ModelUnsupportedError
from .library import torch
from .quantized import QuantizedScript, is_quantized_script

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

    model: a module in evaluation mode, TorchScript's included, a function of TorchScript, or a program, which is
    returned. Raises ArgumentError
    for another model, for a module in training mode, for missing inputs and for inputs beside a program; the errors of
    `torch.export.export`.
    """
    if is_exported_program(model):
        if args or kwargs or dynamic_shapes is not None:
            raise ArgumentError("an ExportedProgram has its inputs and shapes, expected no example inputs")
        return model
    if isinstance(model, torch.jit.ScriptFunction):
        model = _module_of_function(model, args)
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"a {type(model).__name__}, expected an ExportedProgram or a torch.nn.Module")
    if not args and not kwargs and _has_parameters(model):
        raise ArgumentError("a module without example inputs, expected from_torch(module, (input, ...))")
    if model.training:
        raise ArgumentError("a module in training mode, expected one in evaluation mode: module.eval()")
    module, named = model, dict(kwargs or {})
    if isinstance(model, torch.jit.ScriptModule) and is_quantized_script(model):
        module = QuantizedScript(model)
    elif isinstance(model, torch.jit.ScriptModule):
        try:
            module = _module_of_script(model, args, kwargs)
        except Exception:  # the converter raises any, for loops, branches and lists that it does not know
            if _has_dynamic_sizes(dynamic_shapes) or named:
                raise
            module, dynamic_shapes = _trace_of_script(model, args), None
    with torch.no_grad():
        return torch.export.export(module, tuple(args), named, dynamic_shapes=dynamic_shapes)


def _has_parameters(module: Any) -> bool:
    """Whether the module has inputs."""
    if isinstance(module, torch.jit.ScriptModule):
        return len(list(module.graph.inputs())) > 1
    return bool(inspect.signature(module.forward).parameters)


def _module_of_function(function: Any, args: Sequence[Any]) -> Any:
    """A function of TorchScript as a module of TorchScript, in evaluation mode."""

    class Caller(torch.nn.Module):
        """Calls the function."""

        def forward(self, *inputs: Any) -> Any:
            return function(*inputs)

    return torch.jit.trace(Caller().eval(), tuple(args), check_trace=False)


def _has_dynamic_sizes(dynamic_shapes: Any) -> bool:
    return any(each is not None for each in torch.utils._pytree.tree_leaves(dynamic_shapes))  # pyright: ignore[reportPrivateUsage]


def _trace_of_script(script: Any, args: Sequence[Any]) -> Any:
    """A TorchScript module as another module with the same weights by name, for the sizes of the example inputs: its
    loops and branches are those that the sizes determine. Raises the error of PyTorch for those that data determine."""
    make_fx = import_module("torch.fx.experimental.proxy_tensor").make_fx
    library, is_enabled = torch._C, torch._C._get_mkldnn_enabled()  # pyright: ignore[reportPrivateUsage]
    library._set_mkldnn_enabled(False)  # its recurrent layers have no decomposition
    try:
        with torch.no_grad():
            trace = make_fx(lambda *inputs: script(*inputs), tracing_mode="fake", _allow_non_fake_inputs=True)(*args)
    finally:
        library._set_mkldnn_enabled(is_enabled)
    names = {tensor.data_ptr(): name for name, tensor in (*script.named_parameters(), *script.named_buffers())}
    weights: dict[str, Any] = {}
    for node in trace.graph.find_nodes(op="get_attr"):
        tensor = getattr(trace, node.target)
        if not isinstance(tensor, torch.Tensor):
            raise ModelUnsupportedError(
                f"a constant of type {tensor._type().name()}, such as packed weights of integers"
            )
        node.target = names.get(tensor.data_ptr(), node.target)
        weights[node.target] = tensor
    return torch.fx.GraphModule(weights, trace.graph)


def _module_of_script(script: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """A TorchScript module, which `torch.export` does not accept, as another module with the same weights by name, in
    evaluation mode. Its sizes do not depend on the example inputs."""
    converter: Any = import_module("torch._export.converter").TS2EPConverter  # the one that the error of export names
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # the reports of each size that stays constant
    try:
        with warnings.catch_warnings(), redirect_stderr(StringIO()):  # which graphs that are given up are written to
            warnings.simplefilter("ignore", UserWarning)  # branches on sizes, buffers without uses
            module = converter(script, tuple(args), dict(kwargs or {})).convert().module()
    finally:
        logging.disable(level)
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
