"""Records of measurements as lines of text, in TVM's format: `tvm.autotvm.record`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, TextIO

from ....core.errors import LoadError, OptionError
from ..absent import report_absent
from ..target.target import Target
from ..version import __version__
from .measure import MeasureInput, MeasureResult
from .task.dispatcher import ApplyHistoryBest
from .task.space import ConfigEntity
from .task.task import Task, tuples_of_lists

__getattr__ = report_absent("tvm.autotvm.record")

AUTOTVM_LOG_VERSION = 0.2
_FAILED = [1e9]
"""The costs in the record of an error, as TVM writes them."""


def measure_str_key(inp: MeasureInput, include_config: bool = True) -> str:
    """A text that is equal for equal inputs. include_config: whether the configuration is a part of it."""
    config = str(inp.config) if include_config else ""
    return f"{inp.target}{inp.task.name}{inp.task.args}{inp.task.kwargs}{config}"


def encode(inp: MeasureInput, result: MeasureResult, protocol: str = "json") -> str:
    """A record as a line of JSON, which TVM reads, too. OptionError for another protocol: pickled code is not read."""
    _check_protocol(protocol)
    costs = list(result.costs) if result.error_no == 0 else _FAILED
    fields = {
        "input": [str(inp.target), inp.task.name, inp.task.args, inp.task.kwargs],
        "config": inp.config.to_json_dict(),
        "result": [costs, int(result.error_no), result.all_cost, result.timestamp],
        "version": AUTOTVM_LOG_VERSION,
        "tvm_version": __version__,
    }
    return json.dumps(fields, default=_plain)


def _plain(value: Any) -> Any:
    """A value of numpy, or a variable, as JSON."""
    return value.item() if hasattr(value, "item") else str(value)


def _check_protocol(protocol: str) -> None:
    if protocol != "json":
        raise OptionError(f"record: protocol {protocol!r}, expected 'json'")


def decode(row: str, protocol: str = "json") -> tuple[MeasureInput, MeasureResult]:
    """The record of a line of `encode`, here or in TVM since v0.5. LoadError for another line."""
    _check_protocol(protocol)
    try:
        fields = json.loads(row)
        (target, name, args), config, result = _parts(fields)
        config_entity = ConfigEntity.from_json_dict(config)
        costs, error_no, all_cost, timestamp = result
        measured = MeasureResult(tuple(costs), int(error_no), all_cost, timestamp)
    except (ValueError, KeyError, TypeError) as error:
        raise LoadError(f"{row[:60]!r}, expected a record of autotvm: {error}") from None
    config_entity.cost = fmean(measured.costs)
    task = Task(name, tuples_of_lists(args))
    return MeasureInput(Target(str(target).replace("-target", "-mtriple")), task, config_entity), measured


def _parts(fields: Mapping[str, Any]) -> tuple[list[Any], Mapping[str, Any], list[Any]]:
    """The target with the task and its arguments, the configuration, and the result, of version 0.2 or 0.1."""
    if "v" in fields:
        target, name, args, _, _, config = fields["i"]
        return [target, name, args], config, fields["r"]
    return fields["input"][:3], fields["config"], fields["result"]


def load_from_buffer(file: Iterable[str]) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """The records of an open file. Lines that begin with `#` are comments. LoadError for a line that is no record."""
    for row in file:
        if row.strip() and not row.startswith("#"):
            yield decode(row)


def load_from_file(filepath: str | bytes | os.PathLike[str]) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """The records of a file. OSError, LoadError."""
    with open(filepath) as file:
        yield from load_from_buffer(file)


def pick_best(in_file: str | os.PathLike[str], out_file: str | os.PathLike[str] | TextIO) -> None:
    """Writes the fastest record of each workload in a file to another, with those of a file that exists. OSError,
    LoadError."""
    records = list(load_from_file(in_file))
    path = Path(out_file) if isinstance(out_file, str | os.PathLike) else None
    if path is not None and path.is_file():
        records += load_from_file(path)
    best = ApplyHistoryBest(records)
    fastest = {id(inp) for inp, _ in (*best.best_by_model.values(), *best.best_by_targetkey.values())}
    lines = {encode(inp, result): None for inp, result in records if id(inp) in fastest}
    text = "".join(f"{line}\n" for line in lines)
    if path is None:
        out_file.write(text)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    else:
        path.write_text(text)


def split_workload(in_file: str | os.PathLike[str], clean: bool = True) -> None:
    """Writes the records of each workload of a file to a file of their own: `FILE.000.wkl`, ... clean: whether equal
    inputs are written once. OSError, LoadError."""
    found: dict[str, dict[str, str]] = {}
    for n, (inp, result) in enumerate(load_from_file(in_file)):
        key = measure_str_key(inp) if clean else str(n)
        found.setdefault(measure_str_key(inp, False), {}).setdefault(key, encode(inp, result))
    for n, lines in enumerate(found.values()):
        Path(f"{os.fspath(in_file)}.{n:03d}.wkl").write_text("".join(f"{line}\n" for line in lines.values()))


__all__ = [
    "ApplyHistoryBest", "decode", "encode", "load_from_buffer", "load_from_file", "measure_str_key", "pick_best",
    "split_workload",
]  # fmt: skip
