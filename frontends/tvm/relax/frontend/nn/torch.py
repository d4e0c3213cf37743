"""Compiled modules of layers as functions on tensors of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ......core.errors import ArgumentError
from ....nd import NDArray, array, from_dlpack
from . import spec as specs


class TorchModule:
    """Calls the functions of a program with tensors of PyTorch: `module["forward"](x)`.

    spec: the types of arguments.  vm: the machine of the program.  params: the values of all parameters, which the
    functions take after their own arguments.
    """

    def __init__(self, spec: specs.ModuleSpec, vm: Any, params: Sequence[Any]):
        self.spec = spec
        self.vm = vm
        self.params = list(params)
        self.effects: Any = vm["_initialize_effect"]() if "_initialize_effect" in vm else None

    def __getitem__(self, method_name: str) -> Callable[..., Any]:
        """The function of a method. ArgumentError for a method without types, and for a call with other arguments."""
        methods = dict(zip(self.spec.method_names, self.spec.method_specs, strict=True))
        if method_name not in methods:
            raise ArgumentError(f"no method {method_name!r}, expected one of {', '.join(methods)}")
        method, function = methods[method_name], self.vm[method_name]

        def call(*args: Any) -> Any:
            if len(args) != len(method.arg_specs):
                raise ArgumentError(f"{len(args)} arguments, expected those of {method.named(method_name)}")
            named = zip(method.arg_names, method.arg_specs, args, strict=True)
            given = [_to_own(name, spec, each) for name, spec, each in named]
            if self.effects is None:
                return _to_torch(function(*given, *self.params))
            outputs, self.effects = function(*given, *self.effects, *self.params)
            return _to_torch(outputs)

        return call


def _to_own(name: str, spec: Any, value: Any) -> Any:
    """An argument for a function of a program."""
    match spec:
        case specs.Tensor():
            if not hasattr(value, "__dlpack__"):
                raise ArgumentError(f"argument {name} of type {type(value).__name__}, expected a tensor")
            return from_dlpack(value)
        case specs.Tuple():
            return [_to_own(f"{name}[{n}]", each, value[n]) for n, each in enumerate(spec.elements)]
        case _:
            if not isinstance(value, int):
                raise ArgumentError(f"argument {name} of type {type(value).__name__}, expected an integer")
            return (value,)


def _to_torch(value: Any) -> Any:
    """A result as a tensor of PyTorch; a tuple as a list of them."""
    # lazy: an optional dependency
    import torch

    if isinstance(value, NDArray):
        return torch.from_dlpack(value)
    return [_to_torch(each) for each in value] if isinstance(value, list | tuple) else value  # pyright: ignore[reportUnknownVariableType]


def values_of(parameters: Sequence[tuple[str, Any]], device: Any) -> list[NDArray]:
    """The arrays of parameters on a device. ArgumentError for a parameter without values."""
    for name, each in parameters:
        if each.data is None:
            raise ArgumentError(f"parameter {name} has no values, expected them in its `data`")
    return [array(each.data, device) for _, each in parameters]


__all__ = ["TorchModule"]
