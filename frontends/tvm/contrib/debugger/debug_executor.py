"""Execution of compiled graphs kernel by kernel: `tvm.contrib.debugger.debug_executor`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .....backends.devices.timing import Repetition
from .....backends.graph import KernelRun, Profile
from .....backends.graph.json import graph_json
from .....core.errors import ArgumentError, OptionError
from ...nd import Device, NDArray, array
from ...params import save_param_dict_to_file
from ..graph_executor import GraphModule
from ..graph_executor import create as create_module


class Report:
    """The run times of the kernels of a graph. calls: a dictionary for each call, with TVM's names of columns, times in
    microseconds.  configuration: the executor and the number of threads."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        whole = profile.seconds or 1.0
        self.calls: list[dict[str, Any]] = [
            {
                "Name": each.kernel,
                "Duration (us)": each.seconds * 1e6,
                "Percent": 100 * each.seconds / whole,
                "Count": 1,
                "Shape": "x".join(map(str, each.shape)),
            }
            for each in profile
        ]
        self.configuration: dict[str, Any] = {"Executor": "Graph", "Num threads": profile.threads}

    def table(self) -> str:
        """The kernels with their calls and times."""
        return self._profile.table()

    def csv(self) -> str:
        """The calls as comma-separated values, with a line of names."""
        text = io.StringIO()
        writer = csv.DictWriter(text, ["Name", "Duration (us)", "Percent", "Count", "Shape"])
        writer.writeheader()
        writer.writerows(self.calls)
        return text.getvalue()

    def json(self) -> str:
        """The calls and the configuration as JSON."""
        return json.dumps({"calls": self.calls, "device_metrics": {}, "configuration": self.configuration})

    def __str__(self) -> str:
        return self.table()


class GraphModuleDebug(GraphModule):
    """The executor of a compiled graph, kernel by kernel.

    With a dump_root, files of a folder of the device, `_tvmdbg_device_CPU_0`, have TVM's forms: the graph as JSON, and
    after each `run` the results of all kernel calls as `save_param_dict` writes them, and the times of the calls as
    events for the viewer of traces of a browser.
    """

    def __init__(
        self, module: Any, device: Device | Sequence[Device] | None = None, graph_json_str: str | None = None,
        dump_root: str | None = None,
    ) -> None:  # fmt: skip
        """module: as of `GraphModule`.  device, graph_json_str: ignored; the module has both.  dump_root: the folder of
        the files, by default none are written."""
        super().__init__(module)
        self._folder: Path | None = None
        if dump_root is not None:
            where = self._executor.device
            self._folder = Path(dump_root) / f"_tvmdbg_device_{where.kind.upper()}_{where.index}"
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / "_tvmdbg_graph_dump.json").write_text(graph_json(self._executor.executable))

    def run(self, **input_dict: Any) -> None:
        """Runs the graph, after setting the given inputs; with a dump_root, kernel by kernel, and writes the files."""
        if self._folder is None:
            super().run(**input_dict)
            return
        self.set_input(**input_dict)
        self._complete_inputs()
        arrays: dict[str, NDArray] = {}
        calls: list[tuple[str, float]] = []

        def keep(run: KernelRun) -> None:
            calls.append((run.kernel, run.seconds))
            for number, output in enumerate(run.outputs):
                name = f"{run.kernel}____topo-index:{run.index}____output-num:{number}"
                arrays[name] = array(output, self._executor.device)

        self._executor.run_kernels(keep)
        save_param_dict_to_file(arrays, str(self._folder / "output_tensors.params"))
        (self._folder / "_tvmdbg_execution_trace.json").write_text(json.dumps(_trace(calls)))

    def profile(self, collectors: Sequence[Any] | None = None, **input_dict: Any) -> Report:
        """Runs the graph and measures each kernel: the median of 10 runs. OptionError for collectors of counters."""
        if collectors:
            raise OptionError(f"collectors: {collectors!r}, expected none")
        if input_dict:
            self._executor.set_input(**input_dict)
        self._complete_inputs()
        return Report(self._executor.profile())

    def run_individual(
        self, number: int, repeat: int = 1, min_repeat_ms: float = 0, limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0, repeats_to_cooldown: int = 1, cache_flush_bytes: int = 0,
    ) -> list[list[float]]:  # fmt: skip
        """The seconds of each repetition of each kernel call, in the order of the graph. The numbers are those of
        `Repetition`."""
        repetition = Repetition(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown,
            cache_flush_bytes,
        )  # fmt: skip
        self._complete_inputs()
        return [list(each.results) for each in self._executor.time_kernels(repetition)]

    def debug_get_output(self, node: str | int, out: NDArray | None = None) -> NDArray:
        """A copy of the first result of a kernel call, in `out` if given. node: the name of a kernel, of which the
        first call counts, or the index of the call. ArgumentError for a call that the graph does not execute.
        """
        found: list[NDArray] = []
        names: list[str] = []

        def keep(run: KernelRun) -> None:
            names.append(run.kernel)
            if not found and node in (run.kernel, run.index):
                found.append(array(run.outputs[0], self._executor.device))

        self._complete_inputs()
        self._executor.run_kernels(keep)
        if not found:
            raise ArgumentError(f"no kernel call {node!r}, there is {', '.join(dict.fromkeys(names)) or 'none'}")
        return found[0] if out is None else out.copyfrom(found[0])


def _trace(calls: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """The calls of kernels, each with the seconds, as events that begin and end, in microseconds."""
    events: list[dict[str, Any]] = []
    now = 0.0
    for index, (kernel, seconds) in enumerate(calls):
        event = {"name": kernel, "cat": "kernel", "tid": 1, "pid": 1, "id": index}
        events += [{**event, "ph": "B", "ts": now}, {**event, "ph": "E", "ts": now + seconds * 1e6}]
        now += seconds * 1e6
    return {"displayTimeUnit": "ns", "traceEvents": events}


def create(
    graph_json_str: str, libmod: Any, device: Device | Sequence[Device] | None = None, dump_root: str | None = None
) -> GraphModuleDebug:
    """An executor of a graph, kernel by kernel. libmod: as of `graph_executor.create`, with its errors."""
    return GraphModuleDebug(create_module(graph_json_str, libmod, device), dump_root=dump_root)
