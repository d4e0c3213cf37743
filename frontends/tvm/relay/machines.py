"""Programs in place of compiled graphs, for `relay.build`, `relay.vm.compile` and executors: modules with sizes that
only data determines, recursion, functions as values, or data types of users.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType as XdslTensorType

from ....backends.devices.timing import Clock, host_clock
from ....backends.graph.steps import TensorSpec
from ....backends.relax import VirtualMachine, VMExecutable, build_relax
from ....core.diagnostics import did_you_mean
from ....core.dtypes import numpy_dtype
from ....core.errors import ArgumentError, ExecutionError, StepwellError, UnsupportedError
from ....module import Module
from ....operators import relax
from ....operators.relay import dtype_of_tensor, shape_of
from ...relay.expr import Call, Function, const
from ...relay.functor import bind, post_order
from ...relay.graph import program_of
from ...relay.host import HostOperator
from ...relay.inference import infer_types
from ...relay.parameters import bind_parameters
from ...relay.text import print_module
from ...relay.types import TensorType, TupleType, Type
from ..containers import leaves_of, tuple_object
from ..contrib.graph_executor import GraphModule
from ..exporting import overwrite
from ..ir.module import IRModule
from ..nd import Device, NDArray, array, cpu
from ..target.target import target_of
from .interpreter import Interpreter

FunctionOf = Callable[[str], Callable[..., Any]]
"""The functions of a program by name, which Python calls with arrays."""


class ProgramLibrary(ABC):
    """A program that an executor or a virtual machine runs. names: of its functions.  device_kind: of its device."""

    names: Sequence[str]
    device_kind: str

    @abstractmethod
    def parameters(self, name: str) -> list[TensorSpec]:
        """The parameters of a function; those that are no tensors have no shape."""

    @abstractmethod
    def on_device(self, device: Device | None) -> FunctionOf:
        """The functions, on a device."""

    @abstractmethod
    def get_graph_json(self) -> str:
        """The text of the program, which identifies it."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the program. UnsupportedError for a program that is interpreted."""
        raise UnsupportedError(f"{path}: an interpreted program has no compiled form to save")

    def export_library(self, file_name: str | os.PathLike[str], *_: Any, **__: Any) -> None:
        """Saves the program in place of a file, for `tvm.runtime.load_module`. Errors as of `save`."""
        overwrite(file_name)
        self.save(file_name)

    def parameters_of(self, name: str) -> list[TensorSpec]:
        """The parameters of a function. ArgumentError for an unknown name."""
        if name not in self.names:
            raise ArgumentError(f"function {name!r}, expected one of {', '.join(self.names)}")
        return self.parameters(name)


class InterpretedLibrary(ProgramLibrary):
    """A program for the interpreter. target: of the calls of operators."""

    def __init__(self, functions: Mapping[str, Function], target: Any):
        self.functions = functions
        self.target = target
        self.names = list(functions)
        kind = target_of(target).kind.name
        self.device_kind = "cpu" if kind in ("llvm", "c") else kind

    def parameters(self, name: str) -> list[TensorSpec]:
        specs: list[TensorSpec] = []
        for each in self.functions[name].params:
            type = each.type_annotation
            is_known = isinstance(type, TensorType)
            specs.append(TensorSpec(each.name_hint, type.shape if is_known else (), type.dtype if is_known else ""))
        return specs

    def on_device(self, device: Device | None) -> FunctionOf:
        return Interpreter(self.functions, self.target, device).function

    def get_graph_json(self) -> str:
        return print_module(self.functions)


class CompiledLibrary(ProgramLibrary):
    """A program of `relax`, whose operators are compiled. results: the types of the results of functions, by name;
    without one a result has the fields that the program returns."""

    def __init__(self, executable: VMExecutable, results: Mapping[str, Type] | None = None):
        self.executable = executable
        self.names = list(executable.functions)
        self.device_kind = executable.program.device_kind
        self._results = dict(results or {})

    def parameters(self, name: str) -> list[TensorSpec]:
        specs: list[TensorSpec] = []
        for each, value in self.executable.functions[name].params:
            is_known = isinstance(value.type, XdslTensorType)
            shape, dtype = (tuple(shape_of(value)), dtype_of_tensor(value)) if is_known else ((), "")
            specs.append(TensorSpec(each, shape, dtype))
        return specs

    def on_device(self, device: Device | None) -> FunctionOf:
        machine = VirtualMachine(self.executable, device)

        def function_of(name: str) -> Callable[..., Any]:
            specs, type = self.parameters_of(name), self._results.get(name)
            function = machine[name]

            def passed(value: Any, spec: TensorSpec) -> Any:
                if isinstance(value, bool | int | float):
                    value = np.asarray(value, numpy_dtype(spec.dtype))
                return array(value, machine.device) if isinstance(value, np.ndarray) else value

            def call(*values: Any, **named: Any) -> Any:
                args = [*leaves_of(values), *(named[each.name] for each in specs if each.name in named)]
                if len(args) != len(specs):
                    raise ArgumentError(f"{len(args)} arguments, expected {', '.join(each.name for each in specs)}")
                result = function(*map(passed, args, specs))
                fields = list(result) if isinstance(result, tuple) else [result]
                return _structured(type, iter(fields)) if type is not None else _as_adt(result)

            return call

        return function_of

    def get_graph_json(self) -> str:
        return str(self.executable.module)

    def save(self, path: str | os.PathLike[str]) -> None:
        self.executable.save(path)


def _as_adt(value: Any) -> Any:
    return tuple_object(map(_as_adt, value)) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType]


def _structured(type: Type, fields: Iterator[Any]) -> Any:
    """Arrays in the structure of a type."""
    return (
        tuple_object([_structured(each, fields) for each in type.fields])
        if isinstance(type, TupleType)
        else next(fields)
    )


# Libraries of modules


def library_of(mod: Module, params: Mapping[str, Any], target: Any, opt_level: int) -> ProgramLibrary | None:
    """The library of a module that is a program, None of a graph. params: arrays in place of parameters of `main`.

    A program of operators, and of operators of the host, is compiled; any other is interpreted.
    """
    if not isinstance(mod, IRModule) or mod.has_operations:
        if not any(isinstance(func, relax.FuncOp) for func in mod.function_ops.values()):
            return None
        bound = bind_parameters(mod, {key: np.asarray(value) for key, value in params.items()}) if params else mod
        return CompiledLibrary(build_relax(bound, target_of(target).compiled, opt_level=opt_level))
    functions = functions_of(mod, params)
    return _compiled(functions, target, opt_level) or InterpretedLibrary(functions, target)


def functions_of(mod: IRModule, params: Mapping[str, Any]) -> dict[str, Function]:
    """The functions of a program, with arrays in place of parameters of `main`."""
    functions = {name: each for name, each in mod.items() if isinstance(each, Function)}
    if "main" in functions:
        named = {each.name_hint: each for each in functions["main"].params}
        binds = {named[name]: const(value) for name, value in params.items() if name in named}
        functions["main"] = bind(functions["main"], binds)
    return functions


def _compiled(functions: Mapping[str, Function], target: Any, opt_level: int) -> CompiledLibrary | None:
    """The compiled program of functions that call operators of the host; None without any, and where a size that only
    data determines would have to be compared with another one."""
    nodes = (node for func in functions.values() for node in post_order(func.body))
    if not any(isinstance(node, Call) and isinstance(node.op, HostOperator) for node in nodes):
        return None
    try:
        infer_types(functions)
        program = program_of(functions)
    except StepwellError:
        return None
    executable = build_relax(program, target_of(target).compiled, opt_level=opt_level)
    return CompiledLibrary(executable, {name: func.body.checked_type for name, func in functions.items()})


# Executors


def device_among(devices: Sequence[Device], kind: str) -> Device | None:
    """The device of a graph that is compiled for a kind of devices: the only one, or the only one of the kind among
    several; None for none. ArgumentError for others."""
    own = [each for each in devices if each.kind == kind] if len(devices) > 1 else devices
    if len(own) > 1 or (devices and not own):
        raise ArgumentError(f"devices {', '.join(map(str, devices))}, expected one: a graph runs on one device")
    return own[0] if own else None


class ProgramInputs:
    """The inputs of a program, as those of a compiled graph. inputs: the parameters of `main`."""

    def __init__(self, library: ProgramLibrary):
        self.inputs = library.parameters_of("main")
        self.constants: Mapping[str, Any] = {}

    def input(self, key: str | int) -> TensorSpec:
        """The input with a name or index. ArgumentError for an unknown key."""
        names = [each.name for each in self.inputs]
        if isinstance(key, int) and 0 <= key < len(names):
            return self.inputs[key]
        if key not in names:
            raise ArgumentError(f"no input {key!r}{did_you_mean(str(key), names)}, there is {', '.join(names)}")
        return self.inputs[names.index(str(key))]


class ProgramExecutor:
    """Runs the function `main` of a program, with the methods of the executor of a graph."""

    clock: Clock = staticmethod(host_clock)

    def __init__(self, library: ProgramLibrary, device: Device | None = None):
        self.executable = ProgramInputs(library)
        self.device = cpu() if device is None else device
        self._main = library.on_device(device)("main")
        self._inputs: dict[str, Any] = {}
        self._outputs: list[Any] | None = None

    @property
    def num_inputs(self) -> int:
        return len(self.executable.inputs)

    @property
    def num_outputs(self) -> int:
        """The number of outputs of the last run. ExecutionError before the first."""
        return len(self._run_outputs)

    @property
    def _run_outputs(self) -> list[Any]:
        if self._outputs is None:
            raise ExecutionError("nothing has been run")
        return self._outputs

    @property
    def unset_inputs(self) -> list[TensorSpec]:
        """The inputs that have not been set."""
        return [spec for spec in self.executable.inputs if spec.name not in self._inputs]

    def set_input(self, key: str | int | None = None, value: Any = None, /, **more: Any) -> None:
        """Copies arrays to inputs, by name or index. ArgumentError for an unknown name and for another type."""
        arrays: list[tuple[str | int, Any]] = [] if key is None else [(key, value)]
        for name, each in [*arrays, *more.items()]:
            spec = self.executable.input(name)
            held = array(each, self.device)
            spec.bind(held.numpy(), {})
            self._inputs[spec.name] = held

    def get_input(self, key: str | int) -> Any:
        """The array of an input. ArgumentError if the input has not been set."""
        name = self.executable.input(key).name
        if name not in self._inputs:
            raise ArgumentError(f"input {name} has not been set")
        return self._inputs[name]

    def run(self, **inputs: Any) -> None:
        """Runs the program, after setting `inputs`. ArgumentError if an input has not been set."""
        self.set_input(**inputs)
        if self.unset_inputs:
            raise ArgumentError(f"inputs {', '.join(each.name for each in self.unset_inputs)} have not been set")
        result = self._main(*(self._inputs[spec.name] for spec in self.executable.inputs))
        self._outputs = list(leaves_of([result]))

    def get_output(self, key: str | int, out: Any = None) -> Any:
        """An output of the last run, by index. ArgumentError for another key, ExecutionError before the first run."""
        outputs = self._run_outputs
        if not isinstance(key, int) or not 0 <= key < len(outputs):
            raise ArgumentError(f"output {key!r}, there are {len(outputs)}")
        return outputs[key] if out is None else out.copyfrom(outputs[key])


class ProgramFactoryModule:
    """A program that `relay.build` has compiled, with the methods of a compiled graph: `factory["default"](device)`
    creates an executor."""

    def __init__(self, library: ProgramLibrary):
        self.library = library

    def __getitem__(self, name: str) -> Any:
        """The factory of executors under the name "default". ArgumentError for another name."""
        if name != "default":
            raise ArgumentError(f"function {name!r} of a program, expected 'default'")
        return self._executor

    def _executor(self, *devices: Device | Sequence[Device] | None) -> GraphModule:
        flat = [each for some in devices if some is not None for each in ([some] if isinstance(some, Device) else some)]
        device = device_among(flat, self.library.device_kind)
        return GraphModule(lambda: ProgramExecutor(self.library, device))

    def get_graph_json(self) -> str:
        """The text of the program."""
        return self.library.get_graph_json()

    graph_json = property(get_graph_json)

    def get_lib(self) -> ProgramFactoryModule:
        """The program: this module."""
        return self

    lib = property(get_lib)

    def get_params(self) -> dict[str, NDArray]:
        """No arrays: constants are parts of the program."""
        return {}

    params = property(get_params)

    def export_library(self, file_name: str | os.PathLike[str], *_: Any, **__: Any) -> None:
        """Saves the program, for `tvm.runtime.load_module`. UnsupportedError for one that is interpreted."""
        self.library.export_library(file_name)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.get_graph_json(), self, self.get_params()))
