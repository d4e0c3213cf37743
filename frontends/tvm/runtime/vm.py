"""The module `tvm.runtime.vm`: execution of graphs that `tvm.relay.vm.compile` has compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....backends.devices.timing import BenchmarkResult
from ....backends.graph import GraphExecutor
from ....core.errors import ArgumentError, OptionError
from ..absent import report_absent
from ..containers import ADT
from ..contrib.graph_executor import GraphModule
from ..nd import Device, NDArray
from ..relay.building import GraphExecutorFactoryModule

__getattr__ = report_absent("tvm.runtime.vm")


class Executable:
    """A compiled graph with the function `main`, for a `VirtualMachine`.

    lib, mod: the graph with its native code, which `export_library` saves. TVM executes byte code; here the graph calls
    its kernels as `relay.build` plans them.
    """

    def __init__(self, lib: GraphExecutorFactoryModule):
        self.lib = lib

    @property
    def mod(self) -> GraphExecutorFactoryModule:
        return self.lib

    def save(self) -> tuple[bytearray, GraphExecutorFactoryModule]:
        """The graph as bytes of JSON, and the library, for `load_exec`."""
        return bytearray(self.lib.get_graph_json(), "utf-8"), self.lib

    @staticmethod
    def load_exec(bytecode: bytes | bytearray, lib: GraphExecutorFactoryModule) -> Executable:
        """The executable of what `save` returned. OptionError if the library belongs to another graph."""
        if bytes(bytecode).decode("utf-8", "replace") != lib.get_graph_json():
            raise OptionError("the library belongs to another graph")
        return Executable(lib)

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of the parameters of `main`."""
        _check_main(func_name)
        return [spec.name for spec in self.lib.executable.inputs]


class VirtualMachine:
    """Executes the function `main` of an executable: `vm.run(x)`, `vm.invoke("main", x)`.

    device: of execution, by default the first one of the target; a list of one device is accepted. A result is an
    array, or a list of several. memory_cfg: ignored.
    """

    def __init__(
        self,
        exe: Executable | GraphExecutorFactoryModule,
        device: Device | Sequence[Device] | None = None,
        memory_cfg: object = None,
    ):
        lib = exe.lib if isinstance(exe, Executable) else exe
        devices = [device] if isinstance(device, Device) else list(device or [])
        if len(devices) > 1:
            raise ArgumentError(f"devices {', '.join(map(str, devices))}, expected one: a graph runs on one device")
        self._module = GraphModule(GraphExecutor(lib.executable, devices[0] if devices else None))
        self._parameters = [spec.name for spec in lib.executable.inputs]

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Sets the parameters of `main`, by position or by name. ArgumentError for another number of arguments, an
        unknown name, and an array of another type.
        """
        _check_main(func_name)
        self._module.set_input(None, None, **self._by_name(args, kwargs))

    def _by_name(self, args: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        free = [name for name in self._parameters if name not in named]
        if len(args) > len(free):
            expected = f"expected {len(self._parameters)}: {', '.join(self._parameters)}"
            raise ArgumentError(f"{len(args) + len(named)} arguments, {expected}")
        return {**dict(zip(free, args, strict=False)), **named}

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """The result of a function for these arguments, or for those of `set_input`."""
        _check_main(func_name)
        self._module.run(**self._by_name(args, kwargs))
        outputs = self.get_outputs()
        return outputs[0] if len(outputs) == 1 else ADT(outputs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The result of `main`."""
        return self.invoke("main", *args, **kwargs)

    def invoke_stateful(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Runs a function; `get_outputs` returns its results."""
        self.invoke(func_name, *args, **kwargs)

    def get_outputs(self) -> list[NDArray]:
        """The results of the last run."""
        return [self._module.get_output(index) for index in range(self._module.get_num_outputs())]

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """The position of a parameter, -1 if no parameter has the name."""
        _check_main(func_name)
        return self._parameters.index(input_name) if input_name in self._parameters else -1

    def benchmark(
        self, device: Device, *args: Any, func_name: str = "main", repeat: int = 5, number: int = 5,
        min_repeat_ms: float | None = None, limit_zero_time_iterations: int = 100, end_to_end: bool = False,
        cooldown_interval_ms: float = 0, repeats_to_cooldown: int = 1, **kwargs: Any,
    ) -> BenchmarkResult:  # fmt: skip
        """The run time of a function for these arguments, as `GraphModule.benchmark` measures it. device: ignored."""
        _check_main(func_name)
        return self._module.benchmark(
            device, "run", repeat, number, min_repeat_ms, limit_zero_time_iterations, end_to_end, cooldown_interval_ms,
            repeats_to_cooldown, **self._by_name(args, kwargs),
        )  # fmt: skip


def _check_main(func_name: str) -> None:
    if func_name != "main":
        raise ArgumentError(f"function {func_name!r}, expected 'main'")
