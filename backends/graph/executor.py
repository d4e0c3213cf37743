"""Running a compiled graph: inputs are set, outputs are read, kernels are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError, ExecutionError
from ...expressions.sizes import evaluate_size
from ..devices.device import Device
from ..devices.nd import DeviceArray, HostArray, NDArray, from_dlpack
from ..devices.timing import Clock, device_clock, host_clock
from .executable import Branch, Executable, Steps, TensorSpec, room

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class KernelTime:
    """How long one kernel of a graph takes. seconds: the median of all runs."""

    kernel: str
    seconds: float
    shape: tuple[int, ...]


class GraphExecutor:
    """Runs a graph on a device. Each executor has its own inputs, outputs and workspace there; constants are copied to
    a device once, for all executors of a graph.

    What is set may be any array: of numpy's, of a device, of another library. What is read is one of numpy's if the
    graph runs on this machine's processor, else an array on the device. There `run` returns when kernels are launched,
    on the current stream, as are copies of inputs; what reads an output waits. A graph with branches waits for the
    condition of each that it comes to.
    A constant may be replaced: `set_input` takes its name too.
    """

    def __init__(self, executable: Executable, device: Device | None = None):
        """device: by default the first one that the graph is compiled for. ArgumentError for one of another kind,
        DeviceError if there is no such device, or no memory left."""
        self.executable = executable
        self.device = executable.device(device)
        self._inputs: dict[str, NDArray] = {}
        self._constants = dict(executable.constants_on(self.device))
        self._outputs: list[NDArray] = []
        self._workspace = room([executable.workspace], "uint8", self.device, "workspace")
        self._sizes: dict[str, int] = {}
        self._run: Callable[[], Any] | None = None

    @property
    def num_inputs(self) -> int:
        return len(self.executable.inputs)

    @property
    def num_outputs(self) -> int:
        return len(self.executable.outputs)

    @property
    def clock(self) -> Clock:
        """What times `run`: this machine's clock, or that of the device."""
        return host_clock if self.device.kind == "cpu" else device_clock(self.device)

    def set_input(self, key: str | int | None = None, value: Any = None, /, **more: Any) -> None:
        """Copy arrays to inputs, by name or number. ArgumentError for a name that is none, and for a wrong array."""
        given = dict(more) if key is None else {key: value, **more}
        for name, each in given.items():
            if isinstance(name, str) and name in self._constants:
                self._replace(name, as_nd(each))
            else:
                self._set(self.executable.input(name), as_nd(each))

    def _set(self, spec: TensorSpec, array: NDArray) -> None:
        spec.bind(array.layout, {})
        held = self._inputs.get(spec.name)
        if held is None or held.shape != array.shape:
            held = self._inputs[spec.name] = room(array.shape, spec.dtype, self.device, spec.name)
            self._run = None
        held.copyfrom(array)

    def _replace(self, name: str, array: NDArray) -> None:
        held = self._constants[name]
        if array.dtype != held.dtype or array.shape != held.shape:
            raise ArgumentError(
                f"{name}: {array.dtype} of shape {array.shape}, expected {held.dtype} of shape {held.shape}"
            )
        self._constants[name] = room(array.shape, array.dtype, self.device, name).copyfrom(array)
        self._run = None

    def get_input(self, key: str | int) -> Any:
        """The array of an input or constant. ArgumentError if it has not been set."""
        if isinstance(key, str) and key in self._constants:
            return self._given(self._constants[key])
        name = self.executable.input(key).name
        if name not in self._inputs:
            raise ArgumentError(f"input {name} has not been set")
        return self._given(self._inputs[name])

    def _given(self, array: NDArray) -> Array | NDArray:
        """An array as native code and callers take it."""
        return array.layout if self.device.kind == "cpu" else array

    def run(self, **inputs: Any) -> None:
        """Run the graph, with inputs set before if some are given. ArgumentError if one has never been set."""
        if inputs:
            self.set_input(**inputs)
        if self._run is None:
            self._prepare()
        assert self._run is not None
        self._run()

    def get_output(self, key: str | int, out: Any = None) -> Any:
        """An output of the last run, by name or number, which the next one writes over; or `out`, a copy.

        ArgumentError for a name or number that is none and for an array of another type, ExecutionError if nothing has
        run.
        """
        index = self.executable.output_index(key)
        if not self._outputs:
            raise ExecutionError("nothing has been run")
        found = self._outputs[index]
        if out is None:
            return self._given(found)
        target = as_nd(out)
        if target.shape != found.shape or target.dtype != found.dtype:
            given = f"{target.dtype} of shape {target.shape}"
            raise ArgumentError(f"output {key}: {given}, expected {found.dtype} of shape {found.shape}")
        target.copyfrom(found)
        return out

    def _prepare(self) -> None:
        """Allocate outputs, and check all arrays once for the runs to come."""
        executable = self.executable
        missing = [spec.name for spec in executable.inputs if spec.name not in self._inputs]
        if missing:
            raise ArgumentError(f"inputs {', '.join(missing)} have not been set")
        self._sizes = {}
        for spec in executable.inputs:
            spec.bind(self._inputs[spec.name].layout, self._sizes)
        for limit in executable.size_limits:
            number = evaluate_size(limit.size, self._sizes)
            if not limit.holds(number):
                raise ArgumentError(f"size {limit.size} is {number}, expected {limit.words}")
        self._outputs = [
            room(spec.concrete(self._sizes), spec.dtype, self.device, spec.name) for spec in executable.outputs
        ]
        arrays = [self._inputs[spec.name] for spec in executable.inputs]
        arrays += [*self._constants.values(), *self._outputs]
        if executable.workspace:
            arrays.append(self._workspace)
        self._run = executable.library[executable.entry].bind(*map(self._given, arrays))

    # Kernel by kernel

    def profile(self, number: int = 10) -> list[KernelTime]:
        """How long each kernel takes, in the order of the graph; of branches those that are taken. number: of runs.

        Errors as of `run`.
        """
        times: list[list[float]] = []
        kernels: list[tuple[str, tuple[int, ...]]] = []
        for n in range(number):
            for k, (kernel, call, shape) in enumerate(self._kernels()):
                if n == 0:
                    kernels.append((kernel, shape))
                    times.append([])
                times[k].append(self.clock(call, 1))
        return [KernelTime(k, float(np.median(t)), shape) for (k, shape), t in zip(kernels, times, strict=True)]

    def _kernels(self) -> Iterator[tuple[str, Callable[[], Any], tuple[int, ...]]]:
        """Each kernel with its name, a call of it, and the shape of its first result.

        Behind a call, the next ones are found: it may compute the condition of a branch."""
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
            given = [self._given(arrays[n]) for n in (*step.inputs, *step.outputs)]
            call = self.executable.library[step.kernel].bind(*numbers, *given)
            yield step.kernel, call, arrays[step.outputs[0]].shape if step.outputs else ()

    def _memory(self) -> dict[int, NDArray]:
        """An array for each tensor of the graph."""
        named: Mapping[str, NDArray] = {**self._inputs, **self._constants}
        found: dict[int, NDArray] = {}
        for n, (spec, offset) in enumerate(self.executable.tensors):
            shape = spec.concrete(self._sizes)
            if spec.name in named:
                found[n] = named[spec.name]
            elif offset is None:
                found[n] = room(shape, spec.dtype, self.device, spec.name)
            else:
                found[n] = self._part_of_workspace(offset, shape, numpy_dtype(spec.dtype))
        return found

    def _part_of_workspace(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray:
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        layout = self._workspace.layout[offset : offset + size].view(dtype).reshape(shape)
        return HostArray(layout) if self.device.kind == "cpu" else DeviceArray(self.device, layout, self._workspace)


def as_nd(value: Any) -> NDArray:
    """An array on any device, of another library without a copy, or of a number or a list of such."""
    if isinstance(value, NDArray):
        return value
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__dlpack_device__"):
        return HostArray(np.asarray(value))
    return from_dlpack(value)
