"""The virtual machine: executes functions of `relax`, whose graphs and kernels are native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.diagnostics import did_you_mean
from ...core.errors import ArgumentError, ExecutionError
from ...operators.relay import ConstantOp, constant_array
from ..devices.device import Device
from ..devices.nd import DeviceArray, HostArray, NDArray
from ..devices.timing import BenchmarkResult, Repetition, device_clock, host_clock
from ..graph.executable import allocate_array, to_device
from .executable import VMExecutable
from .functions import VMFunction
from .profile import CallProfile
from .values import Value


class Memory:
    """Memory of intermediate results of graphs. array: its bytes."""

    def __init__(self, size: int, device: Device):
        self.array = allocate_array([size], "uint8", device, "workspace")
        self._parts: dict[int, Value] = {}

    def part(self, size: int) -> Value:
        """The first bytes, as an argument of native code."""
        if size not in self._parts:
            layout = self.array.layout
            self._parts[size] = layout[:size] if isinstance(self.array, HostArray) else self._device_part(size)
        return self._parts[size]

    def _device_part(self, size: int) -> Value:
        assert isinstance(self.array, DeviceArray)
        return DeviceArray(self.array.device, self.array.layout[:size], self.array, self.array.context)


class Workspaces:
    """The memory of the calls of graphs at a time: a call in a call, or in another thread, has memory of its own."""

    def __init__(self, size: int, device: Device):
        """size: the bytes that the largest graph needs."""
        self.size = size
        self.device = device
        self._free: list[Memory] = []

    def acquire(self) -> Memory:
        """Memory that no other call uses. Raises DeviceError if there is not enough."""
        try:
            return self._free.pop()
        except IndexError:
            return Memory(self.size, self.device)

    def release(self, memory: Memory) -> None:
        """Hands back the memory of a call."""
        self._free.append(memory)


class VirtualMachine:
    """Executes the functions of a compiled program: `vm["main"](x, w)`.

    Arguments may be arrays of any library on the device; results are `nd` arrays, tuples of them, numbers and shapes.
    Packed functions receive arrays of numpy over the same memory, on a device `nd` arrays, and are looked up by each
    call. Several threads may call functions of one machine.
    """

    def __init__(self, executable: VMExecutable, device: Device | None = None):
        """device: by default the first of the program's kind. Raises ArgumentError for a device of another kind,
        DeviceError if the device does not exist or has no memory left.
        """
        self.executable = executable
        self.device = executable.device(device)
        self._constants = executable.constants_on(self.device)
        self.workspaces = Workspaces(max((g.workspace for g in executable.graphs.values()), default=0), self.device)
        self.functions = {name: VMFunction(self, op) for name, op in executable.functions.items()}
        self.clock = host_clock if self.device.kind == "cpu" else device_clock(self.device)
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Any] = {}

    def constant(self, name: str) -> Value:
        """A constant array, as an argument of native code."""
        return self._argument(self._constants[name])

    def array_of(self, op: ConstantOp) -> Value:
        """The array of a constant, as a value of the machine."""
        if op.array_name is not None:
            return self.constant(op.array_name.data)
        array = constant_array(op, {})
        assert array is not None
        return self._argument(to_device(array, self.device))

    @staticmethod
    def _argument(array: NDArray) -> Value:
        return array.layout if isinstance(array, HostArray) else array

    def __getitem__(self, name: str) -> VMFunction:
        """The function with a name. Raises ArgumentError for an unknown name."""
        if name not in self.functions:
            known = ", ".join(self.functions)
            raise ArgumentError(f"no function {name!r}{did_you_mean(name, self.functions)}, there is {known}")
        return self.functions[name]

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    # Inputs and outputs that the machine keeps

    def set_input(self, name: str, *args: Any) -> None:
        """Sets the arguments of `invoke_stateful`. Raises ArgumentError for an unknown function."""
        self._inputs[self[name].name] = args

    def invoke_stateful(self, name: str) -> None:
        """Calls a function with the arguments of `set_input`. Raises the errors of a call, and ExecutionError if no
        arguments are set.
        """
        if self[name].name not in self._inputs:
            raise ExecutionError(f"no arguments of {name} have been set")
        self._outputs[name] = self[name](*self._inputs[name])

    def get_outputs(self, name: str) -> Any:
        """The result of `invoke_stateful`. Raises ExecutionError before the first call."""
        if self[name].name not in self._outputs:
            raise ExecutionError(f"{name} has not been invoked")
        return self._outputs[name]

    def time_evaluator(
        self, name: str, number: int = 10, repeat: int = 1, min_repeat_ms: float = 0.0
    ) -> Callable[..., BenchmarkResult]:
        """A function that takes the arguments of a function of the program and measures its run time, as
        `time_evaluator` of a compiled function."""
        function, repetition = self[name], Repetition(number, repeat, min_repeat_ms)
        return lambda *args: repetition.measure(lambda: function.run(args), self.clock)

    def profile(self, name: str, *args: Any) -> CallProfile:
        """The times of the steps of one call of a function. Raises ArgumentError for an unknown function, and the
        errors of the call."""
        return self[name].profile(*args)
