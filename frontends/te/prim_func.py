"""Functions of tensor expressions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp

from ...dialects.tir.annotations import annotation_value
from ...module import Module
from ...transforms.convert_te_to_tir import ConvertTeToTirPass
from ...transforms.pipelines import run_pipeline
from .errors import TeError
from .tensor import Tensor
from .write import FunctionWriter


def create_te_func(args: Iterable[Tensor], name: str = "main") -> Module:
    """Tensors as a module with one `te.func`. args: its parameters, placeholders and results, in order.

    TeError if a result is computed from a tensor that is not given, or an argument is given twice.
    """
    tensors = _tensors(args)
    func = FunctionWriter(name, tensors, {"tir.noalias": annotation_value(True)}).write()
    return Module(ModuleOp([func]))


def create_prim_func(args: Iterable[Tensor], name: str = "main") -> Module:
    """Tensors as a module with one function on the `tir` landing: a block for each `te.compute`.

    args: its parameters, placeholders and results, in order. Errors as of `create_te_func`.
    """
    return run_pipeline(create_te_func(args, name), [ConvertTeToTirPass()])


def _tensors(args: Iterable[Tensor]) -> Sequence[Tensor]:
    tensors = list(args)
    for n, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TeError(f"argument {n}: {tensor!r}, expected a tensor")
        if tensor in tensors[:n]:
            raise TeError(f"argument {n}: tensor {tensor.name} is given twice")
    return tensors
