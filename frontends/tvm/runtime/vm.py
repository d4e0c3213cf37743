"""The module `tvm.runtime.vm`: execution of graphs that `tvm.relay.vm.compile` has compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....backends.devices.timing import BenchmarkResult, Repetition, host_clock
from ....backends.graph import GraphExecutor
from ....backends.relax import VMExecutable
from ....core.errors import ArgumentError, OptionError, UnsupportedError
from ..absent import report_absent
from ..containers import leaves_of, tuple_object
from ..contrib.graph_executor import GraphModule
from ..nd import Device, NDArray
from ..relay.building import GraphExecutorFactoryModule
from ..relay.machines import CompiledLibrary, ProgramLibrary, device_among

__getattr__ = report_absent("tvm.runtime.vm")


class Executable:
    """A compiled graph with the function `main`, or a program, for a `VirtualMachine`.

    lib, mod: the graph with its native code, which `export_library` saves. TVM executes byte code; here the graph calls
    its kernels as `relay.build` plans them.
    """

    def __init__(self, lib: GraphExecutorFactoryModule | ProgramLibrary):
        self.lib = lib

    @property
    def mod(self) -> GraphExecutorFactoryModule | ProgramLibrary:
        return self.lib

    @property
    def bytecode(self) -> str:
        """The calls in their order, one a line, in place of TVM's instructions: `relu(x) -> y`."""
        if isinstance(self.lib, CompiledLibrary):
            return self.lib.get_graph_json()
        if isinstance(self.lib, ProgramLibrary):
            return "\n".join(f"{name}: interpreted" for name in self.lib.names)
        return "\n".join(str(call) for call in self.lib.executable.calls)

    @property
    def stats(self) -> str:
        """The number of functions and of constants, and the calls."""
        if isinstance(self.lib, ProgramLibrary):
            return f"{len(self.lib.names)} functions of a program"
        constants = len(self.lib.executable.constants)
        return f"function main, {constants} constants, calls:\n{self.bytecode}"

    def save(self) -> tuple[bytearray, GraphExecutorFactoryModule | ProgramLibrary]:
        """The graph as bytes of JSON, and the library, for `load_exec`."""
        return bytearray(self.lib.get_graph_json(), "utf-8"), self.lib

    @staticmethod
    def load_exec(bytecode: bytes | bytearray, lib: Any) -> Executable:
        """The executable of what `save` returned. lib: the library, or what `tvm.runtime.load_module` loads of it.
        OptionError if the library belongs to another graph."""
        if isinstance(getattr(lib, "executable", None), VMExecutable):
            lib = CompiledLibrary(lib.executable)
        if bytes(bytecode).decode("utf-8", "replace") != lib.get_graph_json():
            raise OptionError("the library belongs to another graph")
        return Executable(lib)

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of the parameters of a function: `main`, or any of a program."""
        if isinstance(self.lib, ProgramLibrary):
            return [each.name for each in self.lib.parameters_of(func_name)]
        if func_name != "main":
            raise ArgumentError(f"function {func_name!r}, expected 'main'")
        return [spec.name for spec in self.lib.executable.inputs]


class VirtualMachine:
    """Executes the functions of an executable: `vm.run(x)`, `vm.invoke("main", x)`.

    device: of execution, by default the first one of the target; a list of one device is accepted. A result is an
    array, or a list of several. memory_cfg: ignored.
    """

    def __init__(
        self,
        exe: Executable | GraphExecutorFactoryModule,
        device: Device | Sequence[Device] | None = None,
        memory_cfg: object = None,
    ):
        self._executable = exe if isinstance(exe, Executable) else Executable(exe)
        lib = self._executable.lib
        devices = [device] if isinstance(device, Device) else list(device or [])
        kind = lib.device_kind if isinstance(lib, ProgramLibrary) else lib.executable.program.device_kind
        chosen = device_among(devices, kind)
        self._functions = None
        self._arguments: dict[str, dict[str, Any]] = {}
        self._outputs: list[NDArray] = []
        if isinstance(lib, ProgramLibrary):
            self._functions = lib.on_device(chosen)
        else:
            self._module = GraphModule(GraphExecutor(lib.executable, chosen))

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Sets the parameters of a function, by position or by name. ArgumentError for another number of arguments, an
        unknown name, and an array of another type.
        """
        values = self._by_name(func_name, args, kwargs)
        if self._functions is None:
            self._module.set_input(None, None, **values)
        else:
            self._arguments.setdefault(func_name, {}).update(values)

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Sets one parameter of a function: by its name or position and its value, or `name=value`. ArgumentError as of
        `set_input`."""
        parameters = self._executable.get_function_params(func_name)
        if len(args) == 2:
            tag, value = args
            name = tag if isinstance(tag, str) else parameters[int(tag)]
            kwargs = {**kwargs, name: value}
        if len(kwargs) != 1:
            raise ArgumentError(f"{len(kwargs)} inputs, expected one")
        self.set_input(func_name, **kwargs)

    def _by_name(self, func_name: str, args: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        parameters = self._executable.get_function_params(func_name)
        args = args if self._functions is not None else list(leaves_of(args))
        free = [name for name in parameters if name not in named]
        if len(args) > len(free):
            raise ArgumentError(
                f"{len(args) + len(named)} arguments, expected {len(parameters)}: {', '.join(parameters)}"
            )
        return {**dict(zip(free, args, strict=False)), **named}

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """The result of a function for these arguments, or for those of `set_input`."""
        values = self._by_name(func_name, args, kwargs)
        if self._functions is not None:
            values = {**self._arguments.get(func_name, {}), **values}
            parameters = self._executable.get_function_params(func_name)
            result = self._functions(func_name)(*(values[name] for name in parameters if name in values))
            self._outputs = list(leaves_of([result]))
            return result
        self._module.run(**values)
        self._outputs = [self._module.get_output(index) for index in range(self._module.get_num_outputs())]
        return self._outputs[0] if len(self._outputs) == 1 else tuple_object(self._outputs)

    def invoke_with_outputs(
        self, func_name: str, input_args: Mapping[str, Any], output_args: Sequence[NDArray]
    ) -> None:
        """Runs a function, and copies its results to arrays. ArgumentError for another number of arrays."""
        self.invoke(func_name, **input_args)
        if len(output_args) != len(self._outputs):
            raise ArgumentError(f"{len(output_args)} arrays for results, expected {len(self._outputs)}")
        for output, target in zip(self._outputs, output_args, strict=True):
            output.copyto(target)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The result of `main`."""
        return self.invoke("main", *args, **kwargs)

    def invoke_stateful(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Runs a function; `get_outputs` returns its results."""
        self.invoke(func_name, *args, **kwargs)

    def get_outputs(self) -> list[NDArray]:
        """The results of the last run."""
        return list(self._outputs)

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """The position of a parameter, -1 if no parameter has the name."""
        parameters = self._executable.get_function_params(func_name)
        return parameters.index(input_name) if input_name in parameters else -1

    @property
    def module(self) -> VirtualMachine:
        """This machine, as TVM's name for the owner of `time_evaluator`."""
        return self

    def time_evaluator(
        self, func_name: str, dev: Device | None = None, number: int = 10, repeat: int = 1,
        min_repeat_ms: float = 0, limit_zero_time_iterations: int = 100, cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1, cache_flush_bytes: int = 0,
    ) -> Callable[..., BenchmarkResult]:  # fmt: skip
        """A function of the name of a function and its arguments, by default those of `set_input`, that measures the
        function. func_name: `invoke`, `invoke_stateful`, or the name of the function itself.  dev: ignored. Numbers
        are those of `GraphModule.time_evaluator`."""
        numbers = (limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown, cache_flush_bytes)
        repetition = Repetition(number, repeat, min_repeat_ms, *numbers)
        names = [func_name] if func_name not in ("invoke", "invoke_stateful") else []

        def evaluate(*args: Any) -> BenchmarkResult:
            name, *values = [*names, *args]
            clock = host_clock if self._functions is not None else self._module.clock
            return repetition.measure(lambda: self.invoke(name, *values), clock)

        return evaluate

    def benchmark(
        self, device: Device, *args: Any, func_name: str = "main", repeat: int = 5, number: int = 5,
        min_repeat_ms: float | None = None, limit_zero_time_iterations: int = 100, end_to_end: bool = False,
        cooldown_interval_ms: float = 0, repeats_to_cooldown: int = 1, **kwargs: Any,
    ) -> BenchmarkResult:  # fmt: skip
        """The run time of a function for these arguments, as `GraphModule.benchmark` measures it. device: ignored."""
        if self._functions is not None:
            raise UnsupportedError("benchmark of a program is not supported yet")
        return self._module.benchmark(
            device, "run", repeat, number, min_repeat_ms, limit_zero_time_iterations, end_to_end, cooldown_interval_ms,
            repeats_to_cooldown, **self._by_name(func_name, args, kwargs),
        )  # fmt: skip
