"""Builders, runners and mutators without work: `tvm.meta_schedule.testing.dummy_object`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from .....schedule.trace import Trace
from ...absent import report_absent
from ..builder import BuilderInput, BuilderResult, PyBuilder
from ..mutator import PyMutator
from ..runner import PyRunner, PyRunnerFuture, RunnerInput, RunnerResult

__getattr__ = report_absent("tvm.meta_schedule.testing.dummy_object")


class DummyRunnerFuture(PyRunnerFuture):
    """The future of random seconds."""

    def done(self) -> bool:
        return True

    def result(self) -> RunnerResult:
        return RunnerResult([random.uniform(5, 30) for _ in range(random.randint(1, 10))], None)


class DummyBuilder(PyBuilder):
    """Returns a path without a file for each kernel."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        return [BuilderResult("test_path", None) for _ in build_inputs]


class DummyRunner(PyRunner):
    """Returns random seconds for each kernel."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[DummyRunnerFuture]:
        return [DummyRunnerFuture() for _ in runner_inputs]


class DummyMutator(PyMutator):
    """Draws all random choices of a schedule anew."""

    def apply(self, trace: Trace, *_: Any) -> Trace | None:
        return Trace(trace.insts, {})

    def clone(self) -> DummyMutator:
        """Another mutator."""
        return DummyMutator()


__all__ = ["DummyBuilder", "DummyMutator", "DummyRunner", "DummyRunnerFuture"]
