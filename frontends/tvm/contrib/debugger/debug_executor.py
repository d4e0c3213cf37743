"""Execution of compiled graphs kernel by kernel: `tvm.contrib.debugger.debug_executor`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from .....backends.devices.timing import Repetition
from .....backends.graph import KernelRun, Profile
from .....core.errors import ArgumentError, OptionError
from ...nd import Device, NDArray, array
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
        return json.dumps({"calls": self.calls, "configuration": self.configuration})

    def __str__(self) -> str:
        return self.table()


class GraphModuleDebug(GraphModule):
    """The executor of a compiled graph, kernel by kernel. dump_root is unsupported: no files are written."""

    def __init__(
        self, module: Any, device: Device | Sequence[Device] | None = None, graph_json_str: str | None = None,
        dump_root: str | None = None,
    ) -> None:  # fmt: skip
        """module: as of `GraphModule`.  device, graph_json_str: ignored; the module has both."""
        if dump_root is not None:
            raise OptionError(f"dump_root: {dump_root!r}, expected None: no files are written")
        super().__init__(module)

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


def create(
    graph_json_str: str, libmod: Any, device: Device | Sequence[Device] | None = None, dump_root: str | None = None
) -> GraphModuleDebug:
    """An executor of a graph, kernel by kernel. libmod: as of `graph_executor.create`, with its errors."""
    return GraphModuleDebug(create_module(graph_json_str, libmod, device), dump_root=dump_root)
