"""Records of schedules as lines of text, in TVM's format: `tvm.auto_scheduler.measure_record`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ....core.errors import LoadError
from ..absent import report_absent
from ..target.target import Target, TargetLike
from .compute_dag import State
from .measure import MeasureCallback, MeasureInput, MeasureResult

__getattr__ = report_absent("tvm.auto_scheduler.measure_record")

_VERSION = "v0.6"
"""The version of the format, of TVM since v0.8."""


@dataclass(frozen=True)
class RecordedTask:
    """The task of a record: the key of a workload, and a target. layout_rewrite_option, task_input_names: as of
    `SearchTask`."""

    workload_key: str
    target: Target
    layout_rewrite_option: int = 0
    task_input_names: Sequence[str] = ()

    @staticmethod
    def of_fields(fields: Sequence[Any]) -> RecordedTask:
        """The task of `task_fields`. ValueError, TypeError for other fields."""
        defaults: list[Any] = [None, "", 0, []]
        key, target, _, host, layout, names, *_ = [*fields, *defaults[len(fields) - 2 :]]
        return RecordedTask(str(key), Target(target, host or None), int(layout), list(names))


def task_fields(task: Any) -> list[Any]:
    """A task as lists for JSON: the key, the target, numbers of the machine, which are 0, the host, the layout and the
    names of inputs."""
    host = "" if task.target.host is None else str(task.target.host)
    names = list(getattr(task, "task_input_names", ()))
    return [task.workload_key, str(task.target), [0] * 8, host, getattr(task, "layout_rewrite_option", 0), names]


def dump_record_to_string(inp: MeasureInput, res: MeasureResult) -> str:
    """A record as a line of JSON, which TVM reads, too."""
    costs = list(res.costs) if res.error_no == 0 else [1e10]
    fields = {
        "i": [task_fields(inp.task), [[], list(inp.state.transform_steps)]],
        "r": [costs, int(res.error_no), res.all_cost, res.timestamp],
        "v": _VERSION,
    }
    return f"{json.dumps(fields)}\n"


def load_record_from_string(record: str) -> tuple[MeasureInput, MeasureResult]:
    """The record of a line, here or in TVM. LoadError for another line."""
    try:
        fields = json.loads(record)
        task, (_, steps, *_) = fields["i"]
        costs, error_no, all_cost, timestamp = fields["r"]
        result = MeasureResult(tuple(map(float, costs)), int(error_no), "", all_cost, int(timestamp))
        recorded = RecordedTask.of_fields(task)
    except (ValueError, KeyError, TypeError) as error:
        raise LoadError(f"{record[:60]!r}, expected a record of auto_scheduler: {error}") from None
    return MeasureInput(recorded, State(steps)), result


class RecordToFile(MeasureCallback):
    """A callback that adds records to a file. filename: by default `auto_scheduler_tuning.json`."""

    def __init__(self, filename: str | os.PathLike[str] | None = None):
        self.path = Path(filename or "auto_scheduler_tuning.json")
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def callback(self, policy: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        save_records(self.path, inputs, results)


class RecordReader:
    """The records of a file. OSError for a missing file, LoadError for a line that is no record."""

    def __init__(self, filename: str | os.PathLike[str]):
        self.path = Path(filename)

    def __iter__(self) -> Iterator[tuple[MeasureInput, MeasureResult]]:
        for line in self.path.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                yield load_record_from_string(line)

    def read_lines(self, max_lines: int | None = None, skip_lines: int = 0) -> tuple[list[Any], list[Any]]:
        """The inputs and the results of `max_lines` records after the first `skip_lines`."""
        end = None if max_lines is None else skip_lines + max_lines
        records = list(self)[skip_lines:end]
        return [inp for inp, _ in records], [result for _, result in records]


def load_records(filename: str | os.PathLike[str]) -> list[tuple[MeasureInput, MeasureResult]]:
    """The records of a file. OSError, LoadError."""
    return list(RecordReader(filename))


def save_records(
    filename: str | os.PathLike[str], inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]
) -> None:
    """Adds records to a file. OSError."""
    with Path(filename).open("a") as file:
        file.writelines(dump_record_to_string(*pair) for pair in zip(inputs, results, strict=True))


def load_best_record(
    filename: str | os.PathLike[str],
    workload_key: str | None = None,
    target: TargetLike | None = None,
    include_compatible: bool = False,
) -> tuple[MeasureInput | None, MeasureResult | None]:
    """The fastest record of a file, (None, None) without one. workload_key, target: of the record, by default any; the
    kinds of targets are compared.  include_compatible: ignored, workloads are equal.  OSError, LoadError."""
    kind = None if target is None else Target(target).kind
    found = [
        (inp, result)
        for inp, result in load_records(filename)
        if result.error_no == 0
        and workload_key in (None, inp.task.workload_key)
        and kind in (None, inp.task.target.kind)
    ]
    return min(found, key=lambda record: fmean(record[1].costs), default=(None, None))


load_best = load_best_record
"""The name of v0.7."""


def distill_record_file(in_file: str | os.PathLike[str], out_file: str | os.PathLike[str]) -> None:
    """Writes the fastest record of each workload and target in a file to another. OSError, LoadError."""
    best: dict[tuple[str, str], tuple[MeasureInput, MeasureResult]] = {}
    for inp, result in load_records(in_file):
        key = inp.task.workload_key, str(inp.task.target)
        if result.error_no == 0 and (key not in best or fmean(result.costs) < fmean(best[key][1].costs)):
            best[key] = inp, result
    Path(out_file).write_text("".join(dump_record_to_string(*record) for record in best.values()))


__all__ = [
    "RecordReader", "RecordToFile", "distill_record_file", "dump_record_to_string", "load_best", "load_best_record",
    "load_record_from_string", "load_records", "save_records",
]  # fmt: skip
