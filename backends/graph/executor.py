"""The execution of a compiled graph: inputs are set, outputs are read, kernels are timed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any, TypeAlias

import numpy.typing as npt

from ...core.arrays import plain_array
from ...core.errors import ArgumentError, ExecutionError
from ...core.processors import get_num_threads, threads
from ...expressions.sizes import evaluate_size
from ..devices.device import Device
from ..devices.nd import HostArray, NDArray, import_array
from ..devices.timing import Clock, DeviceClock, Repetition, host_clock
from .executable import Executable, allocate_array
from .profile import KernelRun, KernelTime, Profile
from .steps import Branch, Step, Steps, TensorSpec
from .workspace import Workspace, part_of

Array: TypeAlias = npt.NDArray[Any]


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
    def sizes(self) -> Mapping[str, int]:
        """The values of the symbolic sizes in the last run."""
        return self._sizes

    @property
    def clock(self) -> Clock:
        """The clock for `run`: the host's, or the device's."""
        return host_clock if self.device.kind == "cpu" else DeviceClock(self.device)

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
        """Runs the graph, after setting `inputs`. Raises ArgumentError if an input has never been set, ExecutionError
        inside of another run with the same workspace (in a hook, a packed function or the handler of a signal).
        """
        workspace = self.workspace
        with workspace.lock:
            if inputs:
                self.set_input(**inputs)
            if self._run is None:
                self._prepare()
            run = self._run
            assert run is not None
            if workspace.is_running:
                raise workspace.error()
            workspace.is_running = True
            try:
                run()
            finally:
                workspace.is_running = False

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

    @property
    def unset_inputs(self) -> list[TensorSpec]:
        """The inputs that have not been set."""
        return [spec for spec in self.executable.inputs if spec.name not in self._inputs]

    def _prepare(self) -> None:
        """Allocates outputs, and checks all arrays once for the following runs."""
        executable = self.executable
        missing = [spec.name for spec in self.unset_inputs]
        if missing:
            raise ArgumentError(f"inputs {', '.join(missing)} have not been set")
        self._sizes = executable.bind_sizes([self._inputs[spec.name].layout for spec in executable.inputs])
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

    def profile(self, number: int = 10, threads: int | None = None) -> Profile:
        """The run time of each kernel, in the order of the graph; of branches only the taken ones. number: of runs,
        after one that is not measured.  threads: the number of threads of parallel loops, by default the present one.

        Other runs with the same workspace wait meanwhile. Parallel loops that other threads of Python execute at the
        same time have the workers in turns, so the times are those of a busy machine then. Raises the errors of `run`,
        and OptionError for a number that is not positive.
        """
        return self.time_kernels(Repetition(number=1, repeat=number), threads)

    def time_kernels(self, repetition: Repetition, threads: int | None = None) -> Profile:
        """The run time of each kernel as of `profile`; `repetition` has the numbers of calls. With one call in a
        repetition the kernels run in turns, in the order of the graph, else each kernel several times."""
        with _threads(threads):
            self.run()
            with self.workspace.running():
                if repetition.is_plain:
                    return self._time_in_turns(repetition.repeat)
                return Profile(
                    (
                        self._kernel_time(step, arrays, repetition.measure(call, self.clock).results)
                        for step, call, arrays in self._calls()
                    ),
                    get_num_threads(),
                )

    def _time_in_turns(self, number: int) -> Profile:
        clock = self.clock
        calls = []
        for step, call, arrays in self._calls():  # a kernel may compute the condition of a branch
            call()
            calls.append((step, call, arrays))
        results: list[list[float]] = [[] for _ in calls]
        for _ in range(number):
            for (_, call, _), seconds in zip(calls, results, strict=True):
                seconds.append(clock(call, 1))
        times = (
            self._kernel_time(step, arrays, seconds) for (step, _, arrays), seconds in zip(calls, results, strict=True)
        )
        return Profile(times, get_num_threads())

    def _kernel_time(self, step: Step, arrays: Mapping[int, NDArray], results: Sequence[float]) -> KernelTime:
        shape = arrays[step.outputs[0]].shape if step.outputs else ()
        return KernelTime(step.kernel, statistics.median(results), shape, tuple(results))

    def run_kernels(self, hook: Callable[[KernelRun], object], /, **inputs: Any) -> None:
        """Runs the graph kernel by kernel, after setting `inputs`; calls `hook` after each kernel, in this thread,
        when all threads have ended their part of the kernel. The outputs are those of `run`.

        An exception of the hook ends the run; outputs are written in part then. The hook may not run a graph with the
        same workspace. Raises the errors of `run`.
        """
        with self.workspace.lock:
            if inputs:
                self.set_input(**inputs)
            if self._run is None:
                self._prepare()
            clock, outputs = self.clock, self._outputs
            with self.workspace.running():
                arrays = self._memory()
                for output, index in zip(outputs, self.executable.returned, strict=True):
                    if self.executable.tensors[index][1] is None:
                        arrays[index] = output
                for index, (step, call, _) in enumerate(self._calls(arrays)):
                    seconds = clock(call, 1)
                    reads, writes = (
                        tuple(self._as_passed(arrays[n]) for n in numbers) for numbers in (step.inputs, step.outputs)
                    )
                    hook(KernelRun(step.kernel, index, reads, writes, seconds))
                for output, index in zip(outputs, self.executable.returned, strict=True):
                    if arrays[index] is not output:
                        output.copyfrom(arrays[index])

    def _calls(
        self, arrays: dict[int, NDArray] | None = None
    ) -> Iterator[tuple[Step, Callable[[], Any], Mapping[int, NDArray]]]:
        """Yields each kernel, a call of it, and the arrays of all tensors, by default new ones for results.

        A kernel may compute the condition of a branch, so the caller runs each call before the next is determined.
        """
        arrays = self._memory() if arrays is None else arrays
        return self._calls_of(self.executable.steps, arrays)

    def _calls_of(
        self, steps: Steps, arrays: Mapping[int, NDArray]
    ) -> Iterator[tuple[Step, Callable[[], Any], Mapping[int, NDArray]]]:
        for step in steps:
            if isinstance(step, Branch):
                taken = step.then if arrays[step.condition].numpy() else step.orelse
                yield from self._calls_of(taken, arrays)
                continue
            numbers = [evaluate_size(size, self._sizes) for size in step.sizes]
            arguments = [self._as_passed(arrays[n]) for n in (*step.inputs, *step.outputs)]
            yield step, self.executable.program[step.kernel].bind(*arguments, *numbers), arrays

    def _memory(self) -> dict[int, NDArray]:
        """An array for each tensor of the graph."""
        executable = self.executable
        named: Mapping[str, NDArray] = {**self._inputs, **self._constants}
        units = [
            prod(evaluate_size(size, self._sizes) for size in each.sizes) for each in executable.dynamic_workspaces
        ]
        memories = [
            allocate_array([each.number * unit], "uint8", self.device, "dynamic workspace")
            for each, unit in zip(executable.dynamic_workspaces, units, strict=True)
        ]
        arrays: dict[int, NDArray] = {}
        for n, ((spec, offset), place) in enumerate(zip(executable.tensors, executable.places, strict=True)):
            shape = spec.concrete(self._sizes)
            if spec.name in named:
                arrays[n] = named[spec.name]
            elif offset is not None:
                arrays[n] = self.workspace.part(offset, shape, spec.dtype)
            elif place is not None:
                start = place.offset * units[place.workspace]
                arrays[n] = part_of(memories[place.workspace], start, shape, spec.dtype)
            else:
                arrays[n] = allocate_array(shape, spec.dtype, self.device, spec.name)
        return arrays


def _threads(count: int | None) -> AbstractContextManager[None]:
    return nullcontext() if count is None else threads(count)


def as_ndarray(value: Any) -> NDArray:
    """An array of a device, of another library (without a copy), or of a number or nested lists of numbers."""
    imported = import_array(value)
    return HostArray(plain_array(value)) if imported is None else imported
