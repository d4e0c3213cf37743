"""Reduction of the failing programs of findings (`stepwell reduce`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...core.errors import StepwellError
from ...core.isolation import run_isolated
from ...module import Module
from ..reducing.reduction import Reduction
from ..reducing.search import minimal_subset
from .case import CheckedProgram, cause_of

CASE_SECONDS = 10.0
"""The time after which a smaller program is taken to hang."""


def reduce_program(program: CheckedProgram, cause: str, seconds: float) -> str:
    """The text of a smaller program whose check fails by `cause` (`cause_of`); "" if the program does not fail when its
    check runs again.

    seconds: the time after which the smallest program so far is the result. Raises StepwellError for a fault of a
    rewrite.
    """
    fails = FailsAlike(program.check, cause, time.monotonic() + seconds)
    # A rewrite that fails does not end the search.
    outcome = run_isolated(lambda: _reduced(program.value, fails))
    if outcome.kind != "value":
        raise StepwellError(f"the program is not reduced: {outcome.message}")
    return outcome.value or ""


@dataclass(frozen=True)
class FailsAlike:
    """Whether a check of a program fails by a cause. end: the time of the monotonic clock after which no program is
    checked, and none fails."""

    check: Callable[[Any], None]
    cause: str
    end: float

    def __call__(self, program: Module | str, _passes: str = "") -> bool:
        remaining = self.end - time.monotonic()
        if remaining <= 0:
            return False
        outcome = run_isolated(lambda: self._cause(program), min(CASE_SECONDS, remaining))
        return self.cause == (outcome.value if outcome.kind == "value" else outcome.message)

    def _cause(self, program: Module | str) -> str:
        try:
            self.check(program)
        except Exception as error:
            return cause_of(error)
        return ""


def _reduced(program: Module | str, fails: FailsAlike) -> str:
    """A smaller program that fails, as text; "" if `program` does not fail."""
    if isinstance(program, str):
        return _reduced_text(program, fails)
    reduction = Reduction(program, [], fails)
    if not reduction.fails(program):
        return ""
    reduction.run()
    return str(reduction.module)


def _reduced_text(text: str, fails: Callable[[str], bool]) -> str:
    lines = text.splitlines(keepends=True)
    if not fails("".join(lines)):
        return ""
    return "".join(minimal_subset(lines, lambda rest: fails("".join(rest))))
