"""The virtual machine: executes functions of `relax`, whose graphs and kernels are native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.diagnostics import did_you_mean
from ...core.errors import ArgumentError, ExecutionError
from ...operators.relay import ConstantOp, constant_array
from ..devices.device import Device
from ..devices.timing import BenchmarkResult, Repetition, device_clock, host_clock
from ..graph.executable import to_device
from .executable import VMExecutable
from .functions import VMFunction
from .memory import Workspaces, argument_of
from .profile import CallProfile
from .values import Value


class VirtualMachine:
    """Executes the functions of a compiled program: `vm["main"](x, w)`.

    Arguments may be arrays of any library on the device; results are `nd` arrays, tuples of them, numbers and shapes.
    Packed functions receive arrays of numpy over the same memory, on a device `nd` arrays, and are looked up by each
    call. Several threads may call functions of one machine.
    """

    def __init__(self, executable: VMExecutable, device: Device | None = None, *, poisons: bool = False):
        """device: by default the first of the program's kind.  poisons: whether memory of intermediate results is
        overwritten by NaN before they are computed and after their last use, to find packed functions that keep their
        operands. Raises ArgumentError for a device of another kind, DeviceError if the device does not exist or has no
        memory left.
        """
        self.executable = executable
        self.device = executable.device(device)
        self.poisons = poisons
        self._constants = executable.constants_on(self.device)
        most = max((g.workspace for g in executable.graphs.values()), default=0)
        self.workspaces = Workspaces(most, self.device, poisons)
        self.functions = {name: VMFunction(self, op) for name, op in executable.functions.items()}
        self.clock = host_clock if self.device.kind == "cpu" else device_clock(self.device)
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Any] = {}

    def constant(self, name: str) -> Value:
        """A constant array, as an argument of native code."""
        return argument_of(self._constants[name])

    def array_of(self, op: ConstantOp) -> Value:
        """The array of a constant, as a value of the machine."""
        if op.array_name is not None:
            return self.constant(op.array_name.data)
        array = constant_array(op, {})
        assert array is not None
        return argument_of(to_device(array, self.device))

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
