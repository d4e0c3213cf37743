"""Records in a context: `tvm.auto_scheduler.dispatcher`."""

from __future__ import annotations

import os
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Self

from ..absent import report_absent
from ..target.target import Target
from .compute_dag import State
from .measure_record import RecordReader

__getattr__ = report_absent("tvm.auto_scheduler.dispatcher")


class DispatchContext:
    """A source of schedules; `with context:` makes it the first. current: the innermost context."""

    current: ClassVar[DispatchContext | None] = None
    verbose = 1

    def query(self, target: Target, workload_key: str, *_details: Any) -> State | None:
        """The schedule of a workload for a target, None without one."""
        return None

    def __enter__(self) -> Self:
        self._outer, DispatchContext.current = DispatchContext.current, self
        return self

    def __exit__(self, *exception: object) -> None:
        DispatchContext.current = self._outer


class ApplyHistoryBest(DispatchContext):
    """The fastest records of files. `relay.build` has default schedules with and without them.

    records: a file, several, or pairs of inputs and results; a missing file has no record, as in TVM.  n_lines: of a
    file. LoadError for a line that is no record.
    """

    def __init__(self, records: Any, n_lines: int | None = None, include_compatible: bool = False):
        self._best: dict[tuple[str, str], tuple[float, State]] = {}
        self.load(records, n_lines)

    def load(self, records: Any, n_lines: int | None = None) -> None:
        """Adds records."""
        if records is None:
            return
        if isinstance(records, str | os.PathLike):
            found = zip(*RecordReader(records).read_lines(n_lines), strict=True) if Path(records).exists() else ()  # pyright: ignore[reportUnknownArgumentType]
            self.load(list(found))
            return
        for each in records:
            if isinstance(each, str | os.PathLike):
                self.load(each, n_lines)
                continue
            inp, result = each
            key = inp.task.target.kind.name, inp.task.workload_key
            cost = fmean(result.costs)
            if result.error_no == 0 and cost < self._best.get(key, (float("inf"),))[0]:
                self._best[key] = cost, inp.state

    def query(self, target: Target, workload_key: str, *_details: Any) -> State | None:
        found = self._best.get((target.kind.name, workload_key))
        return None if found is None else found[1]


__all__ = ["ApplyHistoryBest", "DispatchContext"]
