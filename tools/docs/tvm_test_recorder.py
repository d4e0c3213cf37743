"""A plugin of pytest that gives tests this package as `tvm`, ends tests that run too long, and appends the outcome of
each test to the file that the environment variable `STEPWELL_TVM_TESTS` names, one object of JSON in a line.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from types import FrameType
from typing import Any

import pytest

from ...frontends.tvm import install

SECONDS = 60
"""The greatest run time of a test."""

install()


def _end(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"the test runs longer than {SECONDS} s")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    """Ends a test after `SECONDS`."""
    signal.signal(signal.SIGALRM, _end)
    signal.alarm(SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Counts a test that expects an error by its class, and gets it, as one that passes."""
    report = yield
    mark = item.get_closest_marker("xfail")
    if report.skipped and hasattr(report, "wasxfail") and mark is not None and mark.kwargs.get("raises"):
        report.outcome = "passed"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records a test that has run, or that has failed or been skipped before."""
    if report.when == "call" or not report.passed:
        _record(report.nodeid.partition("::")[2].partition("[")[0], report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Records a file that cannot be imported, under an empty name."""
    if not report.passed and report.nodeid:
        _record("", report)


def _record(name: str, report: pytest.TestReport | pytest.CollectReport) -> None:
    line = {"name": name, "outcome": report.outcome, "text": report.longreprtext}
    with open(os.environ["STEPWELL_TVM_TESTS"], "a") as file:
        file.write(json.dumps(line) + "\n")
