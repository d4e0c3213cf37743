"""The execution of a compiled graph on arrays of the caller, without copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...core.errors import ArgumentError
from ..devices.device import Device
from .executable import Executable
from .executor import Array, GraphExecutor
from .steps import TensorSpec


class GraphFunction:
    """A graph for this machine's processor as a function that reads inputs and writes outputs in memory of the caller.

    Calls of several threads run in turns, in one workspace. Raises ArgumentError for a graph of another device.
    """

    def __init__(self, executable: Executable):
        device = executable.device()
        if device.kind != "cpu":
            raise ArgumentError(f"a graph for {device}, expected one for the processor")
        self.executable = executable
        self._executor = GraphExecutor(executable, Device("cpu"))
        self._function = executable.program[executable.entry]

    def __call__(
        self, inputs: Sequence[Array], allocate: Callable[[TensorSpec, tuple[int, ...]], Array]
    ) -> Mapping[str, int]:
        """Runs the graph; returns the values of its symbolic sizes.

        inputs: C-contiguous arrays.  allocate: returns the C-contiguous array for an output of a given shape, in the
        order of the outputs; no two arrays overlap. Raises ArgumentError for another number of inputs, and for arrays
        of another type, shape or layout.
        """
        executable = self.executable
        sizes = executable.bind_sizes(inputs)
        arrays = [*inputs, *executable.constants.values()]
        arrays += [allocate(spec, spec.concrete(sizes)) for spec in executable.outputs]
        with self._executor.workspace.running():
            if executable.workspace:
                arrays.append(self._executor.workspace.part(0, (executable.workspace,), "uint8").layout)
            self._function(*arrays)
        return sizes
