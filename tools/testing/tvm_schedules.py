"""The schedules of TVM's own tests, replayed and compared with TVM's results.

`python -m stepwell.tools.testing.tvm_schedules RECORDS` prints a table of the records that a peer test
(`tests/peer/schedule_record.py`) wrote, and each record whose result is not TVM's.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...backends.build import build
from ...core.errors import StepwellError, UnsupportedError
from ...dialects.tir import FuncOp
from ...dialects.tir.functions import integer_sizes
from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from ...schedule import Schedule
from .equivalence import program_difference
from .schedules import apply_trace
from .scheduling import check_near, random_arguments

EQUAL, SAME, OTHER = "the same program", "another program, the same numbers", "other numbers"
UNCOMPARED, REFUSED = "another program, not executed", "refused"
MISSING, UNPARSED = "a primitive that is not supported", "not parsed"
OUTCOMES = (EQUAL, SAME, UNCOMPARED, OTHER, REFUSED, MISSING, UNPARSED)

_SIZES = (16, 33)
"""The values of symbolic sizes in a comparison of numbers."""

_TARGETS = ("llvm", "cuda-emulated", "python")
"""The targets of a comparison of numbers: the oracle is slow, and the emulation runs loops bound to threads alone."""


@dataclass(frozen=True)
class ScheduleRecord:
    """A schedule of a test of TVM: the program before, Python lines on `sch`, and the program after, as TVMScript."""

    test: str
    before: str
    trace: tuple[str, ...]
    after: str


@dataclass(frozen=True)
class Replay:
    """The outcome of a replayed record, one of `OUTCOMES`, and its first difference or the reason for the refusal."""

    record: ScheduleRecord
    outcome: str
    detail: str = ""


_ONE_STRIDE = re.compile(r", strides=[(\[]1,?[)\]]")


def load_records(path: Path) -> list[ScheduleRecord]:
    """The distinct records with a trace in a file of JSON lines. TVM's `cache_index` declares buffers of any rank with
    one stride, which is left out."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    records = {(row["before"], *row["trace"]): row for row in reversed(rows) if row["trace"]}
    return [
        ScheduleRecord(r["test"], r["before"], tuple(r["trace"]), _ONE_STRIDE.sub("", r["after"]))
        for r in reversed(records.values())
    ]


def replay(record: ScheduleRecord) -> Replay:
    """Replays a record and compares the result with TVM's."""
    try:
        schedule = Schedule(parse_tvmscript(record.before), seed=0)
    except StepwellError as error:
        return Replay(record, UNPARSED, _first_line(error))
    try:
        apply_trace(schedule, [*_size_queries(schedule, record.trace), *record.trace])
    except UnsupportedError as error:
        return Replay(record, MISSING, _first_line(error))
    except (StepwellError, SyntaxError, NameError, TypeError, ValueError) as error:
        return Replay(record, REFUSED, _first_line(error))
    try:
        after = parse_tvmscript(record.after)
    except StepwellError as error:
        return Replay(record, UNPARSED, _first_line(error))
    difference = program_difference(schedule.mod, after, block_names=True)
    if difference is None:
        return Replay(record, EQUAL)
    if program_difference(schedule.mod, after, regions=False) is None:  # the same statements, so the same numbers
        return Replay(record, SAME, difference)
    return Replay(record, *_compare_numbers(schedule.mod, after, difference))


def _size_queries(schedule: Schedule, trace: Iterable[str]) -> list[str]:
    """Lines that define the sizes of the program which a trace of TVM names without a definition."""
    nodes = [node for line in trace for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)]
    stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    loaded = {node.id for node in nodes if isinstance(node.ctx, ast.Load)} - stored
    funcs = (func for func in schedule.mod.function_ops.values() if isinstance(func, FuncOp))
    sizes = dict.fromkeys(name for func in funcs for name, _ in integer_sizes(func))
    return [f'{name} = sch.get_size("{name}")' for name in sizes if name in loaded]


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _compare_numbers(ours: Module, theirs: Module, difference: str) -> tuple[str, str]:
    """The outcome of the comparison of two programs with each other on random inputs, and its detail."""
    try:
        for size in _SIZES:
            _check_same_numbers(ours, theirs, size)
    except AssertionError as error:
        return OTHER, str(error)
    except StepwellError as error:
        return UNCOMPARED, f"{_first_line(error)}; {difference}"
    return SAME, difference


def _check_same_numbers(ours: Module, theirs: Module, size: int) -> None:
    """Raises AssertionError unless the functions of two modules leave the same values in the same arguments."""
    for name, func in theirs.functions.items():
        other = ours.functions[name]
        assert isinstance(func, FuncOp)
        assert isinstance(other, FuncOp)
        expected, got = (_run(m, name, random_arguments(f, 0, size)) for m, f in ((theirs, func), (ours, other)))
        for key, a, b in zip(expected, expected.values(), got.values(), strict=True):
            if isinstance(a, np.ndarray):
                assert a.shape == b.shape, f"{name}: {key} has shape {b.shape}, in TVM's program {a.shape}"
                check_near(b, a, f"{name}: {key}")


def _run(module: Module, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments after a call of the program for the first of `_TARGETS` that supports it."""
    for target in _TARGETS:
        try:
            program = build(module, target)
        except UnsupportedError:
            if target == _TARGETS[-1]:
                raise
        else:
            program[name](*arguments.values())
            break
    return arguments


def table(replays: Iterable[Replay]) -> dict[str, int]:
    """The number of records with each outcome, in the order of `OUTCOMES`."""
    counts = Counter(each.outcome for each in replays)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def main(arguments: list[str]) -> None:
    replays = [replay(record) for record in load_records(Path(arguments[0]))]
    for each in replays:
        if each.outcome not in (EQUAL, MISSING):
            sys.stdout.write(f"{each.outcome}: {each.record.test}\n    {each.detail}\n")
    for outcome, count in table(replays).items():
        sys.stdout.write(f"{count:5} {outcome}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
