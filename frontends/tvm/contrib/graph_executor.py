"""Execution of compiled graphs: `tvm.contrib.graph_executor`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....backends.devices.timing import BenchmarkResult, Clock, Repetition, host_clock
from ....backends.graph import GraphExecutor
from ....core.dtypes import numpy_dtype
from ....core.errors import ArgumentError, OptionError
from ..nd import Device, NDArray, array
from ..params import load_param_dict

FUNCTIONS = (
    "get_input", "get_input_index", "get_num_inputs", "get_num_outputs", "get_output", "load_params", "run",
    "set_input", "set_input_zero_copy",
)  # fmt: skip
"""The names of TVM's functions of a graph executor, which are methods of `GraphModule`."""


class GraphModule:
    """The executor of a compiled graph. Returned arrays are copies, on the device of the graph.

    Inputs that have not been set are zeros, with a warning; TVM's are uninitialized. An input of a dynamic shape is to
    be set before a run, else it is an ArgumentError.
    """

    def __init__(self, executor: GraphExecutor | Callable[..., Any]):
        source: Any = executor() if callable(executor) else executor
        self._executor: GraphExecutor = source._executor if isinstance(source, GraphModule) else source
        self._linked: dict[str, NDArray] = {}

    def __getitem__(self, key: int | str) -> Any:
        """A function of TVM's module by its name, `module["run"]`, one of `FUNCTIONS`; an output by its index.
        ArgumentError for another name."""
        if isinstance(key, int):
            return self.get_output(key)
        if key not in FUNCTIONS:
            raise ArgumentError(f"function {key!r} of a graph executor, expected one of {', '.join(FUNCTIONS)}")
        return getattr(self, key)

    def set_input_zero_copy(self, key: str | int, value: NDArray) -> None:
        """Makes an array the input of all runs from now on: each run copies its elements, where TVM reads them in
        place. ArgumentError as of `set_input`."""
        self.set_input(key, value)
        self._linked[self._executor.executable.input(key).name] = value

    @property
    def module(self) -> GraphModule:
        """This module, as TVM's name for the owner of `time_evaluator`."""
        return self

    @property
    def clock(self) -> Clock:
        """The clock for `run`: the host's, or the device's."""
        return self._executor.clock

    def set_input(self, key: str | int | None = None, value: Any = None, **params: Any) -> None:
        """Sets inputs, or constants, by name or index. An array of numpy and a number are converted to the data type
        of the input. ArgumentError for an unknown name, and for another shape or a TVM array of another type.
        """
        values = dict(params) if key is None else {key: value, **params}
        for name, each in values.items():
            self._executor.set_input(name, self._converted(name, each))

    def _converted(self, key: str | int, value: Any) -> Any:
        """A value in the data type of an input, as TVM's `NDArray.copyfrom` converts it; an array of TVM with as many
        elements has the shape of the input, as TVM copies bytes."""
        executable = self._executor.executable
        if isinstance(value, NDArray) and key not in executable.constants:
            shape = executable.input(key).shape
            static = tuple(size for size in shape if isinstance(size, int))
            if len(static) == len(shape) and value.shape != static and math.prod(value.shape) == math.prod(static):
                return value.numpy().reshape(static)
            return value
        if not isinstance(value, np.ndarray | np.generic | bool | int | float | list) or key in executable.constants:
            return value
        return np.asarray(value, numpy_dtype(executable.input(key).dtype))

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Sets the inputs and constants of the bytes of `save_param_dict`; arrays of other names have no effect."""
        executable = self._executor.executable
        known = {*executable.constants, *(spec.name for spec in executable.inputs)}
        arrays = load_param_dict(params_bytes)
        self._executor.set_input(**{name: array for name, array in arrays.items() if name in known})

    def run(self, **input_dict: Any) -> None:
        """Runs the graph, after setting the given inputs."""
        for name, value in {**self._linked, **input_dict}.items():
            self.set_input(name, value)
        self._complete_inputs()
        self._executor.run()

    def _complete_inputs(self) -> None:
        """Sets the inputs that have not been set to zeros."""
        static = [spec for spec in self._executor.unset_inputs if all(isinstance(size, int) for size in spec.shape)]
        for spec in static:
            self._executor.set_input(spec.name, np.zeros(spec.concrete({}), numpy_dtype(spec.dtype)))
        if static:
            names = ", ".join(spec.name for spec in static)
            warnings.warn(f"inputs {names} have not been set: they are zeros", UserWarning, stacklevel=3)

    def get_num_outputs(self) -> int:
        return self._executor.num_outputs

    def get_num_inputs(self) -> int:
        return self._executor.num_inputs

    def get_input_index(self, name: str) -> int:
        """The position of an input, -1 if no input has the name."""
        names = [spec.name for spec in self._executor.executable.inputs]
        return names.index(name) if name in names else -1

    def get_input_info(self) -> tuple[dict[str, tuple[Any, ...]], dict[str, str]]:
        """The shapes and the data types of the inputs by name."""
        inputs = self._executor.executable.inputs
        return {spec.name: tuple(spec.shape) for spec in inputs}, {spec.name: spec.dtype for spec in inputs}

    def get_output(self, index: str | int, out: NDArray | None = None) -> NDArray:
        """A copy of an output, in `out` if given."""
        return self._copy(self._executor.get_output(index), out)

    def get_input(self, index: str | int, out: NDArray | None = None) -> NDArray:
        """A copy of an input or constant, in `out` if given."""
        self._complete_inputs()
        return self._copy(self._executor.get_input(index), out)

    def _copy(self, values: Any, out: NDArray | None) -> NDArray:
        return array(values, self._executor.device) if out is None else out.copyfrom(values)

    def time_evaluator(
        self, func_name: str, dev: Device | None = None, number: int = 10, repeat: int = 1,
        min_repeat_ms: float | None = None, limit_zero_time_iterations: int = 100, cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1, cache_flush_bytes: int = 0,
    ) -> Callable[..., BenchmarkResult]:  # fmt: skip
        """A function that measures `run`: the mean of `number` runs, `repeat` times; more runs until they take
        min_repeat_ms. The other numbers are those of `Repetition`. dev: ignored. OptionError for another func_name.
        """
        if func_name != "run":
            raise OptionError(f"time_evaluator of {func_name!r}, expected 'run'")
        repetition = Repetition(
            number, repeat, min_repeat_ms or 0, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown,
            cache_flush_bytes,
        )  # fmt: skip

        def evaluate(*args: Any) -> BenchmarkResult:
            self._complete_inputs()
            return repetition.measure(self._executor.run, self._executor.clock)

        return evaluate

    def benchmark(
        self, device: Device | None = None, func_name: str = "run", repeat: int = 5, number: int = 5,
        min_repeat_ms: float | None = None, limit_zero_time_iterations: int = 100, end_to_end: bool = False,
        cooldown_interval_ms: float = 0, repeats_to_cooldown: int = 1, **inputs: Any,
    ) -> BenchmarkResult:  # fmt: skip
        """The run time of the graph. end_to_end: with the copies of `inputs` to the device and of all outputs to the
        memory of the host, in seconds of the host.
        """
        numbers = (limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown)
        if end_to_end and func_name == "run":
            repetition = Repetition(number, repeat, min_repeat_ms or 0, *numbers)
            return repetition.measure(lambda: self._run_from_host(inputs), host_clock)
        if inputs:
            self._executor.set_input(**inputs)
        return self.time_evaluator(func_name, device, number, repeat, min_repeat_ms, *numbers)()

    def _run_from_host(self, inputs: dict[str, Any]) -> None:
        self.run(**inputs)
        for index in range(self._executor.num_outputs):
            self.get_output(index).numpy()


def create(graph_json_str: str, libmod: Any, device: Device | Sequence[Device] | None = None) -> GraphModule:
    """An executor of a graph. libmod: the library that `relay.build` returned for this graph. OptionError for another
    library.
    """
    if graph_json_str != libmod.get_graph_json():
        raise OptionError("the library belongs to another graph")
    return libmod["default"](device)
