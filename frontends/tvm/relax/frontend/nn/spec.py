"""The types of the arguments of exported methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ......core.errors import ArgumentError, OptionError


@dataclass(frozen=True)
class Tensor:
    """A tensor argument. shape: numbers, and names of dynamic sizes."""

    shape: Sequence[Any]
    dtype: str = "float32"


@dataclass(frozen=True)
class Int:
    """An integer argument, which the caller passes as a shape of one size."""


@dataclass(frozen=True)
class Object:
    """An argument of any other type. object_type: the class of `nn` that the method receives."""

    object_type: type


class Tuple:
    """A tuple of arguments. elements: their types, each on its own or in a list; a text before them is the name."""

    def __init__(self, *elements: Any, name: str = ""):
        if elements and isinstance(elements[0], str):
            name, *elements = elements  # pyright: ignore[reportAssignmentType]
        single = len(elements) == 1 and isinstance(elements[0], list | tuple)
        self.elements: list[Any] = list(elements[0] if single else elements)
        self.name = name

    def __repr__(self) -> str:
        return repr(self.elements)


OPTIONS = "$"
"""The entry of the types of a method's arguments that holds the options of its function."""
_MODES = ("plain", "packed", "none")


@dataclass(frozen=True, repr=False)
class MethodSpec:
    """The types of the arguments of a method. param_mode, effect_mode: how its function takes parameters and states:
    each on its own ("plain"), as a tuple ("packed"), or not at all ("none"). OptionError for other modes."""

    method: Callable[..., Any]
    arg_names: Sequence[str]
    arg_specs: Sequence[Any]
    param_mode: str = "plain"
    effect_mode: str = "plain"

    def __post_init__(self) -> None:
        for name, mode in (("param_mode", self.param_mode), ("effect_mode", self.effect_mode)):
            if mode not in _MODES:
                raise OptionError(f"{name} {mode!r}, expected one of {', '.join(_MODES)}")

    @staticmethod
    def from_raw(spec: Mapping[str, Any] | MethodSpec, method: Callable[..., Any]) -> MethodSpec:
        """The types of a dictionary, of the arguments that it has in the order of the method's parameters."""
        if isinstance(spec, MethodSpec):
            return spec
        options: Mapping[str, str] = spec.get(OPTIONS, {})
        names = [name for name in inspect.signature(method).parameters if name in spec]
        return MethodSpec(method, names, [spec[name] for name in names], **options)

    @staticmethod
    def from_torch(args: Sequence[Any], method: Callable[..., Any]) -> MethodSpec:
        """The types of tensors of PyTorch and of integers. ArgumentError for other arguments and another number."""
        names = list(inspect.signature(method).parameters)
        if len(names) != len(args):
            raise ArgumentError(f"from_torch: {len(args)} arguments, expected {len(names)}: {', '.join(names)}")
        return MethodSpec(method, names, [_spec_of(each) for each in args])

    def named(self, name: str) -> str:
        """The text of the types under a name."""
        return f"{name}({', '.join(f'{a}: {s}' for a, s in zip(self.arg_names, self.arg_specs, strict=True))})"

    def __repr__(self) -> str:
        return self.named("MethodSpec")


def _spec_of(value: Any) -> Any:
    if isinstance(value, int):
        return Int()
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise ArgumentError(f"from_torch: an argument of type {type(value).__name__}, expected a tensor or an integer")
    return Tensor(list(value.shape), str(value.dtype).rpartition(".")[2])


@dataclass(frozen=True, repr=False)
class ModuleSpec:
    """The types of the arguments of several methods of a module."""

    module: Any
    method_names: Sequence[str]
    method_specs: Sequence[MethodSpec]

    @staticmethod
    def from_raw(spec: Mapping[str, Any] | ModuleSpec, module: Any) -> ModuleSpec:
        """The types of a dictionary by the name of the method. ArgumentError for a method that the module has not."""
        if isinstance(spec, ModuleSpec):
            return spec
        methods: list[MethodSpec] = []
        for name, types in spec.items():
            function = getattr(module, name, None)
            if not callable(function):
                raise ArgumentError(f"export_tvm: {type(module).__name__} has no method {name!r}")
            methods.append(MethodSpec.from_raw(types, function))
        return ModuleSpec(module, list(spec), methods)

    def __repr__(self) -> str:
        pairs = zip(self.method_names, self.method_specs, strict=True)
        return "\n".join(["ModuleSpec:", *(f"  {method.named(name)}" for name, method in pairs)])


__all__ = ["Int", "MethodSpec", "ModuleSpec", "Object", "Tensor", "Tuple"]
