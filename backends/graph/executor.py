"""Running a compiled graph: inputs are set, outputs are read, kernels are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError, ExecutionError, UnsupportedError
from ...expressions.sizes import evaluate_size
from ..runtime.dlpack import from_dlpack
from .executable import Executable, TensorSpec, aligned

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class KernelTime:
    """How long one kernel of a graph takes. seconds: the median of all runs."""

    kernel: str
    seconds: float
    shape: tuple[int, ...]


class GraphExecutor:
    """Runs a graph. What is set and read are arrays of this machine's memory; each executor has its own workspace.

    A constant may be replaced: `set_input` takes its name too.
    """

    def __init__(self, executable: Executable):
        self.executable = executable
        self._inputs: dict[str, Array] = {}
        self._constants: dict[str, Array] = dict(executable.constants)
        self._outputs: list[Array] = []
        self._workspace = aligned([executable.workspace], "uint8")
        self._sizes: dict[str, int] = {}
        self._run: Callable[[], Any] | None = None

    @property
    def num_inputs(self) -> int:
        return len(self.executable.inputs)

    @property
    def num_outputs(self) -> int:
        return len(self.executable.outputs)

    def set_input(self, key: str | int | None = None, value: Any = None, /, **more: Any) -> None:
        """Copy arrays to inputs, by name or number. ArgumentError for a name that is none, and for a wrong array."""
        given = dict(more) if key is None else {key: value, **more}
        for name, each in given.items():
            if isinstance(name, str) and name in self._constants:
                self._replace(name, as_array(each))
            else:
                self._set(self.executable.input(name), as_array(each))

    def _set(self, spec: TensorSpec, array: Array) -> None:
        spec.bind(array, {})
        held = self._inputs.get(spec.name)
        if held is not None and held.shape == array.shape:
            held[...] = array
            return
        self._inputs[spec.name] = copy = aligned(array.shape, spec.dtype)
        copy[...] = array
        self._run = None

    def _replace(self, name: str, array: Array) -> None:
        held = self._constants[name]
        if array.dtype != held.dtype or array.shape != held.shape:
            raise ArgumentError(
                f"{name}: {array.dtype} of shape {array.shape}, expected {held.dtype} of shape {held.shape}"
            )
        self._constants[name] = copy = aligned(array.shape, str(array.dtype))
        copy[...] = array
        self._run = None

    def get_input(self, key: str | int) -> Array:
        """The array of an input or constant. ArgumentError if it has not been set."""
        if isinstance(key, str) and key in self._constants:
            return self._constants[key]
        name = self.executable.input(key).name
        if name not in self._inputs:
            raise ArgumentError(f"input {name} has not been set")
        return self._inputs[name]

    def run(self, **inputs: Any) -> None:
        """Run the graph, with inputs set before if some are given. ArgumentError if one has never been set."""
        if inputs:
            self.set_input(**inputs)
        if self._run is None:
            self._prepare()
        assert self._run is not None
        self._run()

    def get_output(self, key: str | int, out: Any = None) -> Array:
        """An output of the last run, by name or number, which the next one writes over; or `out`, a copy.

        ArgumentError for a name or number that is none and for an array of another type, ExecutionError if nothing has
        run.
        """
        index = self.executable.output_index(key)
        if not self._outputs:
            raise ExecutionError("nothing has been run")
        if out is None:
            return self._outputs[index]
        found, target = self._outputs[index], as_array(out)
        if target.shape != found.shape or target.dtype != found.dtype:
            given = f"{target.dtype} of shape {target.shape}"
            raise ArgumentError(f"output {key}: {given}, expected {found.dtype} of shape {found.shape}")
        target[...] = found
        return out

    def _prepare(self) -> None:
        """Allocate outputs, and check all arrays once for the runs to come."""
        executable = self.executable
        missing = [spec.name for spec in executable.inputs if spec.name not in self._inputs]
        if missing:
            raise ArgumentError(f"inputs {', '.join(missing)} have not been set")
        self._sizes = {}
        for spec in executable.inputs:
            spec.bind(self._inputs[spec.name], self._sizes)
        for limit in executable.size_limits:
            number = evaluate_size(limit.size, self._sizes)
            if not limit.holds(number):
                raise ArgumentError(f"size {limit.size} is {number}, expected {limit.words}")
        self._outputs = [aligned(spec.concrete(self._sizes), spec.dtype) for spec in executable.outputs]
        given = [self._inputs[spec.name] for spec in executable.inputs]
        workspace = [self._workspace] if executable.workspace else []
        entry = executable.library[executable.entry]
        self._run = entry.bind(*given, *self._constants.values(), *self._outputs, *workspace)

    # Kernel by kernel

    def profile(self, number: int = 10) -> list[KernelTime]:
        """How long each kernel takes, in the order of the graph. number: of runs.

        UnsupportedError for a graph with branches; others as of `run`.
        """
        times: list[list[float]] = []
        kernels: list[tuple[str, tuple[int, ...]]] = []
        for n in range(number):
            for k, (kernel, call, shape) in enumerate(self._kernels()):
                if n == 0:
                    kernels.append((kernel, shape))
                    times.append([])
                start = perf_counter()
                call()
                times[k].append(perf_counter() - start)
        return [KernelTime(k, float(np.median(t)), shape) for (k, shape), t in zip(kernels, times, strict=True)]

    def _kernels(self) -> Iterator[tuple[str, Callable[[], Any], tuple[int, ...]]]:
        """Each kernel with its name, a call of it, and the shape of its first result."""
        self.run()
        executable = self.executable
        if executable.steps is None:
            raise UnsupportedError("a graph with branches has no fixed order of kernels")
        arrays: dict[int, Array] = self._memory()
        for step in executable.steps:
            numbers = [self._sizes[name] for name in step.sizes]
            given = [arrays[n] for n in (*step.inputs, *step.outputs)]
            call = executable.library[step.kernel].bind(*numbers, *given)
            yield step.kernel, call, arrays[step.outputs[0]].shape if step.outputs else ()

    def _memory(self) -> dict[int, Array]:
        """An array for each tensor of the graph."""
        named: Mapping[str, Array] = {**self._inputs, **self._constants}
        found: dict[int, Array] = {}
        for n, (spec, offset) in enumerate(self.executable.tensors):
            shape = spec.concrete(self._sizes)
            if spec.name in named:
                found[n] = named[spec.name]
            elif offset is None:
                found[n] = aligned(shape, spec.dtype)
            else:
                kind = numpy_dtype(spec.dtype)
                size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
                found[n] = self._workspace[offset : offset + size].view(kind).reshape(shape)
        return found


def as_array(value: Any) -> Array:
    """An array of numpy, of another library without a copy, or of a number or a list of such."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    return from_dlpack(value)
