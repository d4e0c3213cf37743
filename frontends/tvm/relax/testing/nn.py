"""Layers that emit operations of the function under construction: `tvm.relax.testing.nn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....core.dtypes import numpy_dtype
from .....core.errors import ArgumentError
from ... import topi
from ...absent import report_absent
from ...nd import NDArray, array
from ..block_builder import BlockBuilder
from ..expr import Expr, Var
from ..struct_info import TensorStructInfo

__getattr__ = report_absent("tvm.relax.testing.nn")


def _builder() -> BlockBuilder:
    builder = BlockBuilder.current()
    if builder is None:
        raise ArgumentError("relax.testing.nn: no function is built, expected a call within BlockBuilder.function")
    return builder


def emit(expr: Expr, name_hint: str = "") -> Var:
    """The variable of an expression in the function under construction."""
    return _builder().emit(expr, name_hint)


def emit_te(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
    """The variable of the result of a function of tensor expressions, as a kernel."""
    return _builder().emit_te(func, *args, **kwargs)


class Placeholder(Var):
    """An input of a model."""

    def __init__(self, shape: Sequence[Any], dtype: str = "float32", name: str = "data"):
        super().__init__(_unique(name), TensorStructInfo(shape, dtype))


class Parameter(Var):
    """A weight of a model."""

    def __init__(self, shape: Sequence[Any], dtype: str = "float32", name: str = "param"):
        super().__init__(_unique(name), TensorStructInfo(shape, dtype))


def _unique(name: str) -> str:
    builder = BlockBuilder.current()
    return name if builder is None else builder.get_unique_name(name)


class Module:
    """A layer or a model: attributes are parameters and other modules, `forward` emits operations."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The results of the layer."""
        raise NotImplementedError(f"{type(self).__name__} has no method forward")

    def parameters(self) -> list[Parameter]:
        """The parameters of this module and of the modules in it."""
        return _parameters(self.__dict__)


def _parameters(value: Any) -> list[Parameter]:
    match value:
        case Parameter():
            return [value]
        case Module():
            return value.parameters()
        case dict():
            return [found for each in value.values() for found in _parameters(each)]  # pyright: ignore[reportUnknownVariableType]
        case list() | tuple():
            return [found for each in value for found in _parameters(each)]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return []


class Sequential(Module):
    """Modules, each of which takes the result of the one before."""

    def __init__(self, *modules: Module):
        self.modules = modules

    def forward(self, input: Expr) -> Any:
        result: Any = input
        for module in self.modules:
            result = module(result)
        return result


class ReLU(Module):
    """`max(x, 0)`."""

    def forward(self, input: Expr) -> Var:
        return emit_te(topi.nn.relu, input)


class LogSoftmax(Module):
    """The logarithms of the softmax along the last dimension."""

    def forward(self, input: Expr) -> Var:
        return emit_te(topi.nn.log_softmax, input)


class Linear(Module):
    """`x @ weight + bias`. weight: `[in_features, out_features]`."""

    def __init__(self, in_features: Any, out_features: Any, bias: bool = True):
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter((in_features, out_features), name="linear_weight")
        self.bias = Parameter((out_features,), name="linear_bias") if bias else None

    def forward(self, input: Expr) -> Var:
        product = emit_te(topi.matmul, input, self.weight)
        return product if self.bias is None else emit_te(topi.add, product, self.bias)


def init_params(mod: Any) -> list[NDArray]:
    """Zeros for each parameter of `main` whose name does not begin with `data`. ArgumentError for a parameter of
    unknown size."""
    arrays: list[NDArray] = []
    for param in mod["main"].params:
        if param.name_hint.startswith("data"):
            continue
        info = param.struct_info
        sizes = getattr(info, "shape", None)
        if sizes is None or not all(isinstance(size, int) for size in sizes):
            raise ArgumentError(f"init_params: parameter {param.name_hint} of unknown size")
        arrays.append(array(np.zeros(list(sizes), numpy_dtype(info.dtype))))
    return arrays


__all__ = [
    "Linear", "LogSoftmax", "Module", "Parameter", "Placeholder", "ReLU", "Sequential", "emit", "emit_te",
    "init_params",
]  # fmt: skip
