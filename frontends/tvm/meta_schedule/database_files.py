"""The files of databases: records of `JSONDatabase`, and those of TVM."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from ....core.errors import LoadError, OptionError, StepwellError
from ....dialects.schedule import TraceOp
from ....schedule.trace import Trace
from ...mlir import parse_mlir
from ..ir.module import IRModule
from ..ir.node_graph import decode_base64
from ..ir.node_json import load_json
from ..target.target import Target
from ..tir.traces import Trace as InstructionTrace
from .arg_info import TensorInfo
from .records import TuningRecord, Workload, normalized

T = TypeVar("T")


class StoredRecord(TuningRecord):
    """A record of TVM, whose trace is read on first use: LoadError for an instruction that is absent here."""

    def __init__(
        self,
        instructions: Sequence[Any],
        place: str,
        workload: Workload,
        run_secs: Sequence[float],
        target: Target | None,
        args_info: Sequence[TensorInfo] | None,
    ):
        """instructions: the trace as of `Trace.as_json`.  place: the file and line, for errors."""
        for name, value in {
            "workload": workload, "run_secs": run_secs, "target": target, "args_info": args_info, "is_default": False,
            "_instructions": instructions, "_place": place,
        }.items():  # fmt: skip
            object.__setattr__(self, name, value)
        self.__post_init__()

    @cached_property
    def trace(self) -> Trace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The schedule."""
        fields = cast(Any, self)
        return _checked(fields._place, lambda: InstructionTrace.from_json(fields._instructions))


def is_of_tvm(path: Path) -> bool:
    """Whether a file has records that TVM wrote."""
    return any(line.lstrip().startswith("[") for _, line in _lines(path))


def read_records(path: Path, workloads: Sequence[Workload]) -> Iterator[TuningRecord]:
    """The records of a file. workloads: the kernels of TVM's records. LoadError for another file."""
    for place, line in _lines(path):
        fields = _checked(place, lambda line=line: json.loads(line))
        match fields:
            case {"program": str()}:
                yield _checked(place, lambda fields=fields: _own_record(fields))
            case [int() as number, [[[*_], [*_]] as trace, seconds, target, args_info]] if type(number) is int:
                if not 0 <= number < len(workloads):
                    raise LoadError(f"{place}: kernel {number}, expected one of {len(workloads)}")
                parts = _checked(place, lambda p=(seconds, target, args_info): _parts(*p))
                yield StoredRecord(trace, place, workloads[number], *parts)
            case _:
                raise LoadError(f"{place}: {line[:40]!r}, expected a record of a schedule")


def record_of(fields: Any, workload: Workload) -> TuningRecord:
    """The record of a kernel of the values of a record, here or in TVM. LoadError for other values."""
    place = "record"
    match fields:
        case {"program": str()}:
            return _checked(place, lambda: replace(_own_record(fields), workload=workload))
        case [[[*_], [*_]] as trace, seconds, target, args_info]:
            return StoredRecord(trace, place, workload, *_checked(place, lambda: _parts(seconds, target, args_info)))
        case _:
            raise LoadError(f"{place}: {str(fields)[:40]!r}, expected the values of a record of a schedule")


def read_workloads(path: Path) -> list[Workload]:
    """The kernels that TVM wrote to a file. Their hashes are those of TVM, and computed anew. LoadError for another
    file."""
    return [_checked(place, lambda line=line: _workload(json.loads(line), line)) for place, line in _lines(path)]


def _workload(fields: Any, line: str) -> Workload:
    match fields:
        case [str(), str() as text]:
            mod = load_json(decode_base64(text).decode())
        case _:
            raise LoadError(f"{line[:40]!r}, expected a hash and a module")
    if not isinstance(mod, IRModule):
        raise LoadError(f"{type(mod).__name__}, expected a module")
    return Workload(normalized(mod))


def _own_record(fields: Any) -> TuningRecord:
    program = parse_mlir(fields["program"])
    (trace,) = (op for op in program.op.body.block.ops if isinstance(op, TraceOp))
    seconds = [float(each) for each in fields["run_secs"]]
    target = None if fields["target"] is None else Target(fields["target"])
    trace.detach()
    workload = Workload(IRModule(program.op))
    given = fields.get("args_info")
    args_info = None if given is None else [TensorInfo.from_json(each) for each in given]
    return TuningRecord(
        InstructionTrace(trace), workload, seconds, target, args_info, is_default=bool(fields.get("is_default"))
    )


def _parts(
    seconds: Any, target: Any, args_info: Any
) -> tuple[Sequence[float], Target | None, Sequence[TensorInfo] | None]:
    """The seconds, the target and the parameters of a record of TVM."""
    run_secs = [float(each) for each in seconds or ()]
    arguments = None if args_info is None else [TensorInfo.from_json(each) for each in args_info]
    return run_secs, None if target is None else _target(target), arguments


def _target(config: Any) -> Target:
    """The target of a record; of an option that is absent here its kind alone, by which records are looked up."""
    try:
        return Target(config)
    except OptionError:
        return Target(config["kind"])


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file that are not empty, each with its place."""
    try:
        text = path.read_text()
    except UnicodeDecodeError as error:
        raise LoadError(f"{path}: {error}, expected text") from None
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"{path}:{n}", line


def _checked(place: str, read: Callable[[], T]) -> T:
    """A result. LoadError with a place in a file for the errors of text that is no record."""
    try:
        return read()
    except (StepwellError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise LoadError(f"{place}: expected a record of a schedule: {error}") from None


__all__ = ["StoredRecord", "is_of_tvm", "read_records", "read_workloads", "record_of"]
