"""Running compiled graphs, as `tvm.contrib.graph_executor` does it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from ....backends.graph import GraphExecutor
from ....core.errors import OptionError
from ..nd import Device, NDArray, cpu


@dataclass(frozen=True)
class BenchmarkResult:
    """Times of runs, in seconds. results: the mean of each repetition."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        return min(self.results)

    @property
    def max(self) -> float:
        return max(self.results)

    @property
    def std(self) -> float:
        return statistics.pstdev(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        head = " ".join(f"{f'{name} (ms)':>12}" for name in names)
        return f"{head}\n{' '.join(f'{getattr(self, name) * 1e3:12.4f}' for name in names)}"


class GraphModule:
    """Runs a compiled graph. Arrays that it gives are copies."""

    def __init__(self, executor: GraphExecutor | Callable[..., Any]):
        made = executor if isinstance(executor, GraphExecutor | GraphModule) else executor()
        self._executor: GraphExecutor = made._executor if isinstance(made, GraphModule) else made

    @property
    def module(self) -> GraphModule:
        """What `time_evaluator` is asked of."""
        return self

    def set_input(self, key: str | int | None = None, value: Any = None, **params: Any) -> None:
        """Set inputs, or constants, by name or number. ArgumentError for a name that is none and for a wrong array."""
        self._executor.set_input(key, value, **params)

    def run(self, **input_dict: Any) -> None:
        """Run the graph, with inputs set before if some are given."""
        self._executor.run(**input_dict)

    def get_num_outputs(self) -> int:
        return self._executor.num_outputs

    def get_num_inputs(self) -> int:
        return self._executor.num_inputs

    def get_output(self, index: str | int, out: NDArray | None = None) -> NDArray:
        """A copy of an output, in `out` if that is given."""
        found = self._executor.get_output(index)
        return NDArray(found.copy(), cpu()) if out is None else out.copyfrom(found)

    def get_input(self, index: str | int, out: NDArray | None = None) -> NDArray:
        """A copy of an input or constant, in `out` if that is given."""
        found = self._executor.get_input(index)
        return NDArray(found.copy(), cpu()) if out is None else out.copyfrom(found)

    def time_evaluator(
        self, func_name: str, dev: Device | None = None, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0
    ) -> Callable[..., BenchmarkResult]:
        """What measures `run`: the mean of `number` runs, `repeat` times; more runs until they take min_repeat_ms."""
        if func_name != "run":
            raise OptionError(f"time_evaluator of {func_name!r}, expected 'run'")

        def evaluate(*args: Any) -> BenchmarkResult:
            return BenchmarkResult(tuple(self._measured(number, min_repeat_ms) for _ in range(repeat)))

        return evaluate

    def benchmark(
        self, device: Device | None = None, func_name: str = "run", repeat: int = 5, number: int = 5,
        min_repeat_ms: int = 0, **inputs: Any,
    ) -> BenchmarkResult:  # fmt: skip
        """How long the graph takes."""
        if inputs:
            self._executor.set_input(**inputs)
        return self.time_evaluator(func_name, device, number, repeat, min_repeat_ms)()

    def _measured(self, number: int, min_repeat_ms: int) -> float:
        while True:
            start = perf_counter()
            for _ in range(number):
                self._executor.run()
            taken = perf_counter() - start
            if taken * 1e3 >= min_repeat_ms:
                return taken / number
            number *= 2


def create(graph_json_str: str, libmod: Any, device: Device | Sequence[Device] | None = None) -> GraphModule:
    """What runs a graph. libmod: what `relay.build` gave as the library of this graph. OptionError for another one."""
    if graph_json_str != libmod.get_graph_json():
        raise OptionError("the library belongs to another graph")
    return libmod["default"](device)
