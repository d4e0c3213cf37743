"""The execution of a compiled graph: inputs are set, outputs are read, kernels are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.arrays import plain_array
from ...core.errors import ArgumentError, ExecutionError
from ...expressions.sizes import evaluate_size
from ..devices.device import Device
from ..devices.nd import HostArray, NDArray, import_array
from ..devices.timing import Clock, device_clock, host_clock
from .executable import Executable, allocate_array
from .steps import Branch, Steps, TensorSpec
from .workspace import Workspace

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class KernelTime:
    """The run time of one kernel of a graph. seconds: the median of all runs."""

    kernel: str
    seconds: float
    shape: tuple[int, ...]


class GraphExecutor:
    """Runs a graph on a device. Each executor has its own inputs and outputs there, and a workspace, which executors
    may share; constants are copied to a device once, for all executors of a graph.

    Inputs may be any arrays: of numpy, of a device, of another library. Outputs are numpy arrays if the graph runs on
    this machine's processor, else arrays on the device. On a device, `run` returns when the kernels are launched on the
    current stream, where inputs are copied as well; reading an output waits. A graph with branches waits for the
    condition of each branch it reaches. `set_input` replaces constants too, by name.
    """

    def __init__(self, executable: Executable, device: Device | None = None, workspace: Workspace | None = None):
        """device: by default the first device of the graph's kind.  workspace: by default one of its own. Raises
        ArgumentError for a device of another kind and for a workspace on another device, DeviceError if the device does
        not exist or has no memory left.
        """
        self.executable = executable
        self.device = executable.device(device)
        self.workspace = Workspace(self.device) if workspace is None else workspace
        if self.workspace.device != self.device:
            raise ArgumentError(f"workspace: one on {self.workspace.device}, expected one on {self.device}")
        self._inputs: dict[str, NDArray] = {}
        self._constants = dict(executable.constants_on(self.device))
        self._outputs: list[NDArray] = []
        self._sizes: dict[str, int] = {}
        self._run: Callable[[], Any] | None = None
        self.workspace.join(self, executable.workspace)

    def forget_workspace(self) -> None:
        """Makes the next run use the present memory of the workspace."""
        self._run = None

    @property
    def num_inputs(self) -> int:
        return len(self.executable.inputs)

    @property
    def num_outputs(self) -> int:
        return len(self.executable.outputs)

    @property
    def clock(self) -> Clock:
        """The clock for `run`: the host's, or the device's."""
        return host_clock if self.device.kind == "cpu" else device_clock(self.device)

    def set_input(self, key: str | int | None = None, value: Any = None, /, **more: Any) -> None:
        """Copies arrays to inputs, by name or index. Raises ArgumentError for an unknown name and for a mismatched
        array.
        """
        arrays = dict(more) if key is None else {key: value, **more}
        for name, each in arrays.items():
            if isinstance(name, str) and name in self._constants:
                self._replace(name, as_ndarray(each))
            else:
                self._set(self.executable.input(name), as_ndarray(each))

    def _set(self, spec: TensorSpec, array: NDArray) -> None:
        spec.bind(array.layout, {})
        held = self._inputs.get(spec.name)
        if held is None or held.shape != array.shape:
            held = self._inputs[spec.name] = allocate_array(array.shape, spec.dtype, self.device, spec.name)
            self._run = None
        held.copyfrom(array)

    def _replace(self, name: str, array: NDArray) -> None:
        held = self._constants[name]
        if array.dtype != held.dtype or array.shape != held.shape:
            raise ArgumentError(
                f"{name}: {array.dtype} of shape {array.shape}, expected {held.dtype} of shape {held.shape}"
            )
        self._constants[name] = allocate_array(array.shape, array.dtype, self.device, name).copyfrom(array)
        self._run = None

    def get_input(self, key: str | int) -> Any:
        """The array of an input or constant. Raises ArgumentError if the input has not been set."""
        if isinstance(key, str) and key in self._constants:
            return self._as_passed(self._constants[key])
        name = self.executable.input(key).name
        if name not in self._inputs:
            raise ArgumentError(f"input {name} has not been set")
        return self._as_passed(self._inputs[name])

    def _as_passed(self, array: NDArray) -> Array | NDArray:
        """The array as passed to native code and to callers: a numpy array on the CPU."""
        return array.layout if self.device.kind == "cpu" else array

    def run(self, **inputs: Any) -> None:
        """Runs the graph, after setting `inputs`. Raises ArgumentError if an input has never been set."""
        if inputs:
            self.set_input(**inputs)
        with self.workspace.lock:
            if self._run is None:
                self._prepare()
            assert self._run is not None
            self._run()

    def get_output(self, key: str | int, out: Any = None) -> Any:
        """An output of the last run, by name or index, which the next run overwrites; with `out`, copies the output
        there.

        Raises ArgumentError for an unknown name or index and for an array of another type, ExecutionError before the
        first run.
        """
        index = self.executable.output_index(key)
        if not self._outputs:
            raise ExecutionError("nothing has been run")
        output = self._outputs[index]
        if out is None:
            return self._as_passed(output)
        target = as_ndarray(out)
        if target.shape != output.shape or target.dtype != output.dtype:
            actual = f"{target.dtype} of shape {target.shape}"
            raise ArgumentError(f"output {key}: {actual}, expected {output.dtype} of shape {output.shape}")
        target.copyfrom(output)
        return out

    def _prepare(self) -> None:
        """Allocates outputs, and checks all arrays once for the following runs."""
        executable = self.executable
        missing = [spec.name for spec in executable.inputs if spec.name not in self._inputs]
        if missing:
            raise ArgumentError(f"inputs {', '.join(missing)} have not been set")
        self._sizes = {}
        for spec in executable.inputs:
            spec.bind(self._inputs[spec.name].layout, self._sizes)
        for limit in executable.size_limits:
            number = evaluate_size(limit.size, self._sizes)
            if not limit.admits(number):
                raise ArgumentError(f"size {limit.size} is {number}, expected {limit.requirement}")
        self._outputs = [
            allocate_array(spec.concrete(self._sizes), spec.dtype, self.device, spec.name)
            for spec in executable.outputs
        ]
        arrays = [self._inputs[spec.name] for spec in executable.inputs]
        arrays += [*self._constants.values(), *self._outputs]
        if executable.workspace:
            arrays.append(self.workspace.part(0, (executable.workspace,), "uint8"))
        self._run = executable.program[executable.entry].bind(*map(self._as_passed, arrays))

    # Kernel by kernel

    def profile(self, number: int = 10) -> list[KernelTime]:
        """The run time of each kernel, in the order of the graph; of branches only the taken ones. number: of runs.

        Raises the errors of `run`.
        """
        times: list[list[float]] = []
        kernels: list[tuple[str, tuple[int, ...]]] = []
        with self.workspace.lock:
            for n in range(number):
                for k, (kernel, call, shape) in enumerate(self._kernels()):
                    if n == 0:
                        kernels.append((kernel, shape))
                        times.append([])
                    times[k].append(self.clock(call, 1))
        return [KernelTime(k, float(np.median(t)), shape) for (k, shape), t in zip(kernels, times, strict=True)]

    def _kernels(self) -> Iterator[tuple[str, Callable[[], Any], tuple[int, ...]]]:
        """Yields each kernel's name, a call of it, and the shape of its first result.

        A kernel may compute the condition of a branch, so the caller runs each call before the next is determined.
        """
        self.run()
        yield from self._calls(self.executable.steps, self._memory())

    def _calls(
        self, steps: Steps, arrays: Mapping[int, NDArray]
    ) -> Iterator[tuple[str, Callable[[], Any], tuple[int, ...]]]:
        for step in steps:
            if isinstance(step, Branch):
                yield from self._calls(step.then if arrays[step.condition].numpy() else step.orelse, arrays)
                continue
            numbers = [self._sizes[name] for name in step.sizes]
            arguments = [self._as_passed(arrays[n]) for n in (*step.inputs, *step.outputs)]
            call = self.executable.program[step.kernel].bind(*numbers, *arguments)
            yield step.kernel, call, arrays[step.outputs[0]].shape if step.outputs else ()

    def _memory(self) -> dict[int, NDArray]:
        """An array for each tensor of the graph."""
        named: Mapping[str, NDArray] = {**self._inputs, **self._constants}
        arrays: dict[int, NDArray] = {}
        for n, (spec, offset) in enumerate(self.executable.tensors):
            shape = spec.concrete(self._sizes)
            if spec.name in named:
                arrays[n] = named[spec.name]
            elif offset is None:
                arrays[n] = allocate_array(shape, spec.dtype, self.device, spec.name)
            else:
                arrays[n] = self.workspace.part(offset, shape, spec.dtype)
        return arrays


def as_ndarray(value: Any) -> NDArray:
    """An array of a device, of another library (without a copy), or of a number or nested lists of numbers."""
    imported = import_array(value)
    return HostArray(plain_array(value)) if imported is None else imported
