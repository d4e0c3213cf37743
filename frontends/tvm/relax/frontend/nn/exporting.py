"""Programs of modules of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ......core.errors import ArgumentError, OptionError
from ......expressions.expr import SizeVar
from ....ir.module import IRModule
from ...block_builder import BlockBuilder
from ...calls import call_pure_packed
from ...expr import TupleGetItem, Var
from ...struct_info import ObjectStructInfo, ShapeStructInfo, TensorStructInfo, TupleStructInfo
from . import spec as specs
from .core import Module, Parameter, Tensor, as_expr

_MODES: Mapping[str, tuple[str, ...]] = {"param_mode": ("plain", "packed", "none"), "effect_mode": ("plain", "none")}


_INITIALIZE = "_initialize_effect"
"""The function of a program with effects that returns their first states."""


def export(module: Module, spec: Any, has_effect: bool) -> tuple[IRModule, list[tuple[str, Parameter]]]:
    """The program of methods of a module, and its parameters with their names.

    has_effect: functions take the state of input and output after their own arguments, and return it after the result.
    """
    parameters = list(module.named_parameters())
    builder = BlockBuilder()
    if has_effect:
        _export_initialization(builder)
    for name, method in _methods(module, spec).items():
        function, types, options = method
        state = (
            [Var("_io", ObjectStructInfo())] if has_effect and options.get("effect_mode", "plain") == "plain" else []
        )
        _export_method(builder, name, function, types, parameters, options, state)
    return builder.get(), parameters


def _export_initialization(builder: BlockBuilder) -> None:
    """The function that returns the first states of effects: that of input and output, an object without contents."""
    with builder.function(_INITIALIZE):
        with builder.dataflow():
            state = builder.emit(call_pure_packed("vm.builtin.null_value", sinfo_args=ObjectStructInfo()), "_io")
            result = builder.emit_output([state])
        builder.emit_func_output(result)


def _methods(module: Module, spec: Any) -> dict[str, tuple[Callable[..., Any], dict[str, Any], Mapping[str, str]]]:
    """The methods with the types of their arguments and their options."""
    if isinstance(spec, specs.ModuleSpec):
        spec = dict(zip(spec.method_names, spec.method_specs, strict=True))
    raw: Mapping[str, Any] = {name: _types_of(types) for name, types in spec.items()}
    found: dict[str, tuple[Callable[..., Any], dict[str, Any], Mapping[str, str]]] = {}
    for name, types in raw.items():
        function = getattr(module, name, None)
        if not callable(function):
            raise ArgumentError(f"export_tvm: {type(module).__name__} has no method {name!r}")
        options: Mapping[str, str] = types.get(specs.OPTIONS, {})
        for option, value in options.items():
            if value not in _MODES.get(option, ()):
                expected = _MODES.get(option) or f"an option of {', '.join(_MODES)}"
                raise OptionError(f"export_tvm: {name}: {option} {value!r}, expected {expected}")
        found[name] = function, {key: each for key, each in types.items() if key != specs.OPTIONS}, options
    return found


def _types_of(types: Mapping[str, Any] | specs.MethodSpec) -> Mapping[str, Any]:
    """The types of arguments, and the options, by name."""
    if not isinstance(types, specs.MethodSpec):
        return types
    options = {"param_mode": types.param_mode, "effect_mode": types.effect_mode}
    return {**dict(zip(types.arg_names, types.arg_specs, strict=True)), specs.OPTIONS: options}


def _export_method(
    builder: BlockBuilder,
    name: str,
    function: Callable[..., Any],
    types: Mapping[str, Any],
    parameters: Sequence[tuple[str, Parameter]],
    options: Mapping[str, str],
    state: Sequence[Var],
) -> None:
    inputs = {key: _variable(key, each) for key, each in types.items()}
    variables = [parameter.named(key) for key, parameter in parameters]
    mode = options.get("param_mode", "plain")
    packed = Var("packed_params", TupleStructInfo([each.struct_info for each in variables]))
    own = {"plain": variables, "packed": [packed], "none": list[Var]()}[mode]
    attrs = {"num_input": len(inputs) + len(state)}
    with builder.function(name, [*inputs.values(), *state, *own], attrs):
        with builder.dataflow():
            if mode == "packed":
                for n, (key, parameter) in enumerate(parameters):
                    parameter.expr = builder.emit(TupleGetItem(packed, n), key)
            try:
                value = function(**{key: _argument(inputs[key], each) for key, each in types.items()})
            finally:
                for variable, (_, parameter) in zip(variables, parameters, strict=True):
                    parameter.expr = variable
            result = builder.emit_output([_result(value), list(state)] if state else _result(value))
        builder.emit_func_output(result)


def _variable(name: str, spec: Any) -> Var:
    """The parameter of a function for an argument of a method."""
    match spec:
        case specs.Tensor():
            return Var(name, TensorStructInfo(spec.shape, spec.dtype))
        case specs.Tuple():
            return Var(name, TupleStructInfo([_variable(name, each).struct_info for each in spec.elements]))
        case specs.Object():
            return Var(name, ObjectStructInfo())
        case specs.Int():
            return Var(name, ShapeStructInfo([name]))
        case _ if spec is int:
            return Var(name, ShapeStructInfo([name]))
        case _:
            raise ArgumentError(f"export_tvm: argument {name} of type {spec!r}, expected nn.spec.Tensor, or int")


def _argument(var: Any, spec: Any) -> Any:
    """The argument of a method for a parameter of its function."""
    match spec:
        case specs.Tensor():
            return Tensor(var)
        case specs.Tuple():
            return tuple(_argument(TupleGetItem(var, n), each) for n, each in enumerate(spec.elements))
        case specs.Object():
            return spec.object_type(_expr=var, _name=var.name_hint)
        case _:
            return SizeVar(var.name_hint, "int64")


def _result(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_result(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return getattr(value, "expr", None) or as_expr(value)
