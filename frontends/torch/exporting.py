"""Programs of PyTorch, decomposed to the operators that have importers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
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

    model: a module in evaluation mode, or a program, which is returned. Raises ArgumentError for another model, for a
    module in training mode, for missing inputs and for inputs beside a program; the errors of `torch.export.export`.
    """
    if isinstance(model, torch.export.ExportedProgram):
        if args or kwargs or dynamic_shapes is not None:
            raise ArgumentError("an ExportedProgram has its inputs and shapes, expected no example inputs")
        return model
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"a {type(model).__name__}, expected an ExportedProgram or a torch.nn.Module")
    if not args and not kwargs:
        raise ArgumentError("a module without example inputs, expected from_torch(module, (input, ...))")
    if model.training:
        raise ArgumentError("a module in training mode, expected one in evaluation mode: module.eval()")
    with torch.no_grad():
        return torch.export.export(model, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes)


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
