"""The choice of a record for each kernel of a graph: `tvm.autotvm.graph_tuner`, v0.5 to v0.19.

The kernels of graphs have one layout, so that there are no transformations between them whose time counts: the fastest
record of each kernel is that of the graph.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from .....core.errors import OptionError
from .....module import Module
from ....relay import Function
from ...absent import report_absent
from ...meta_schedule.database import Workload, normalized
from ...meta_schedule.graphs import kernels_of_graph
from ...target.target import TargetLike, target_of
from ..measure import MeasureInput, MeasureResult
from ..record import encode
from ..task.dispatcher import records_of

__getattr__ = report_absent("tvm.autotvm.graph_tuner")


class BaseGraphTuner:
    """The fastest record of each kernel of a graph that has one, in the order of the kernels.

    A record belongs to a kernel of the tasks of `autotvm.task.extract_from_program`.
    """

    def __init__(
        self,
        graph: Module | Function,
        input_shapes: Mapping[str, Sequence[int]],
        records: Any,
        target_ops: Sequence[Any],
        target: TargetLike,
        **_options: Any,
    ):
        """graph: whose variables have types.  records: a file, or pairs of an input and a result.  target_ops: the
        operators whose kernels count.  Ignored are input_shapes and the options of TVM's search. Errors as of
        `relay.build`."""
        self.target = target_of(target)
        names = [str(getattr(each, "name", each)) for each in target_ops]
        kernels = kernels_of_graph(graph, None, names)
        self._keys = [Workload(normalized(each.func)).key for each in kernels for _ in range(each.weight)]
        self._records = [each for each in records_of(records) if each[1].error_no == 0]
        self._chosen: list[tuple[MeasureInput, MeasureResult]] | None = None

    def benchmark_layout_transform(self, *_args: Any, **_options: Any) -> None:
        """Measures nothing: there are no transformations between kernels."""

    def run(self, **_options: Any) -> None:
        """Chooses the records. The options of TVM's search are ignored."""
        best: dict[Any, tuple[MeasureInput, MeasureResult]] = {}
        for inp, result in self._records:
            for key in inp.task.args:
                if key not in best or fmean(result.costs) < fmean(best[key][1].costs):
                    best[key] = inp, result
        self._chosen = [best[key] for key in self._keys if key in best]

    def get_optimal_records(self) -> list[tuple[MeasureInput, MeasureResult]]:
        """The chosen records. OptionError before `run`."""
        if self._chosen is None:
            raise OptionError(f"{type(self).__name__}: no records are chosen, expected run() before")
        return self._chosen

    def write_opt_sch2record_file(self, record_file: str | os.PathLike[str] = "graph_opt_schedule.log") -> None:
        """Writes the chosen records to a file, for `autotvm.apply_graph_best`. OptionError before `run`, OSError."""
        lines = [encode(inp, result) for inp, result in self.get_optimal_records()]
        Path(record_file).write_text("".join(f"{line}\n" for line in lines))


class DPTuner(BaseGraphTuner):
    """The choice of records, as of `BaseGraphTuner`."""


class PBQPTuner(BaseGraphTuner):
    """The choice of records, as of `BaseGraphTuner`."""


__all__ = ["BaseGraphTuner", "DPTuner", "PBQPTuner"]
