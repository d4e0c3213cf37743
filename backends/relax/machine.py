"""The virtual machine: executes functions of `relax`, whose graphs and kernels are native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.diagnostics import did_you_mean
from ...core.errors import ArgumentError, ExecutionError
from ...operators.relay import ConstantOp, constant_array
from ..devices.device import Device
from ..devices.timing import BenchmarkResult, DeviceClock, Repetition, host_clock
from ..graph.executable import to_device
from .executable import VMExecutable
from .functions import VMFunction
from .memory import Workspaces, argument_of
from .profile import CallProfile
from .values import Value, exported


class VirtualMachine:
    """Executes the functions of a compiled program: `vm["main"](x, w)`.

    Arguments may be arrays of any library on the device; results are `nd` arrays, tuples of them, numbers and shapes.
    Packed functions receive arrays of numpy over the same memory, on a device `nd` arrays, and are looked up by each
    call. Several threads may call functions of one machine.
    """

    def __init__(
        self, executable: VMExecutable, device: Device | Sequence[Device] | None = None, *, poisons: bool = False
    ):
        """device: by default the first of the program's kind; for a program of several devices all of them, in the
        order of its module.  poisons: whether memory of intermediate results is
        overwritten by NaN before they are computed and after their last use, to find packed functions that keep their
        operands. Raises ArgumentError for a device of another kind, DeviceError if the device does not exist or has no
        memory left.
        """
        self.executable = executable
        self.devices = executable.devices(device)
        self.device = self.devices[0]
        self.host = next((each for each in self.devices if each.kind == "cpu"), self.device)
        self.poisons = poisons
        most = max((g.workspace for g in executable.graphs.values()), default=0)
        self.workspaces = {each: Workspaces(most, each, poisons) for each in self.devices}
        self.functions = {name: VMFunction(self, op) for name, op in executable.functions.items()}
        is_host = self.device.kind == "cpu" or len(self.devices) > 1
        self.clock = host_clock if is_host else DeviceClock(self.device)
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Any] = {}

    def named(self, name: str | None) -> Device:
        """The device that a module calls by a name; the only one for None."""
        names = self.executable.device_names
        return self.devices[names.index(name)] if names and name is not None else self.device

    def constant(self, name: str, device: Device) -> Value:
        """A constant array on a device, as an argument of native code."""
        return argument_of(self.executable.constants_on(device)[name])

    def array_of(self, op: ConstantOp, device: Device) -> Value:
        """The array of a constant on a device, as a value of the machine."""
        if op.array_name is not None:
            return self.constant(op.array_name.data, device)
        array = constant_array(op, {})
        assert array is not None
        return argument_of(to_device(array, device))

    def __getitem__(self, name: str) -> VMFunction:
        """The function with a name. Raises ArgumentError for an unknown name."""
        if name not in self.functions:
            known = ", ".join(self.functions)
            raise ArgumentError(f"no function {name!r}{did_you_mean(name, self.functions)}, there is {known}")
        return self.functions[name]

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def imported_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """An argument that is a function, as the functions of the program call it: on arrays of the machine."""
        return function

    def exported(self, value: Value) -> Any:
        """A value of the machine as the caller of a function receives it."""
        return exported(value, self.host)

    # Inputs and outputs that the machine keeps

    def set_input(self, name: str, *args: Any, **named: Any) -> None:
        """Sets the arguments of `invoke_stateful`, by position or by the names of parameters. Raises ArgumentError for
        an unknown function, and for names that are not those of the remaining parameters."""
        self._inputs[self[name].name] = self[name].arguments(args, named)

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
