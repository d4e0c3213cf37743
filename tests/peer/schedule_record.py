"""A pytest plugin, for a Python with TVM, that records the schedules of TVM's own tests as JSON lines.

In the folder tests/python/s_tir/schedule of TVM's sources:

    STEPWELL_RECORDS=records.jsonl PYTHONPATH=<this folder> python -m pytest -q -p schedule_record .

A record holds the test, the program before the schedule, the trace as Python lines, and the program after it.
"""

import importlib
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

_schedules: list[tuple[Any, str]] = []


def pytest_configure() -> None:
    """Makes each new schedule known to the hook of the running test."""
    schedule = importlib.import_module("tvm.s_tir.schedule.schedule").Schedule
    create = schedule.__init__

    def record(self: Any, mod: Any, *arguments: Any, **keywords: Any) -> None:
        create(self, mod, *arguments, **keywords)
        _schedules.append((self, self.mod.script()))

    schedule.__init__ = record
    testing: Any = importlib.import_module("tvm.s_tir.schedule.testing")
    verify = testing.verify_trace_roundtrip

    def verify_python(sch: Any, mod: Any, **keywords: Any) -> Any:
        return verify(sch, mod, **{**keywords, "text_format": "python"})  # TVM 0.27 crashes as it writes JSON

    testing.verify_trace_roundtrip = verify_python


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Writes the schedules of a test."""
    _schedules.clear()
    yield
    with open(os.environ["STEPWELL_RECORDS"], "a") as file:
        for schedule, before in _schedules:
            if schedule.trace is not None:
                row = {"test": item.nodeid, "before": before, "trace": _lines(schedule), "after": schedule.mod.script()}
                file.write(f"{json.dumps(row)}\n")


def _lines(schedule: Any) -> list[str]:
    """The trace as Python lines. TVM prints a string between triple quotes without escapes: such a value is replaced by
    its literal."""
    lines = [str(line) for line in schedule.trace.as_python()]
    if len(lines) != len(schedule.trace.insts):
        return lines
    return [_quoted(line, each) for line, each in zip(lines, schedule.trace.insts)]


def _quoted(line: str, instruction: Any) -> str:
    if str(instruction.kind.name) != "Annotate" or not isinstance(value := instruction.inputs[1], str):
        return line
    head = line[: line.index("ann_val=")]
    return f"{head}ann_val={json.dumps(value)})"
