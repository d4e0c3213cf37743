"""Replay of schedules recorded by a real compiler, and of attempts that it refused."""

from pathlib import Path
from typing import Any

import pytest

from stepwell.tools.testing.corpus import corpus
from stepwell.tools.testing.schedule_report import (
    ALLOWED,
    DIFFERENCES,
    attempt_case,
    difference_to_recorded,
    page,
    replay_case,
)
from stepwell.tools.testing.schedules import (
    RefusedCase,
    ScheduleCase,
    check_numbers,
    refused_cases,
    schedule_cases,
)
from stepwell.tools.testing.texts import check_texts

pytestmark = pytest.mark.skipif(corpus() is None, reason="the corpus is not there")

PAGE = Path(__file__).parents[2] / "docs/schedule-vs-tvm.md"


def _cases(cases: tuple[Any, ...]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def _case_and_weight(number: int, case: ScheduleCase) -> Any:
    """All cases are compared with the recorded programs: the numbers of one in three are enough for `make test`."""
    return pytest.param(case, id=case.name, marks=[pytest.mark.slow] if number % 3 else [])


@pytest.mark.parametrize("case", [_case_and_weight(number, case) for number, case in enumerate(schedule_cases())])
def test_a_recorded_trace_gives_a_program_that_computes_the_recorded_numbers(case: ScheduleCase) -> None:
    module = replay_case(case).mod
    module.verify()
    check_texts(module)
    check_numbers(module, case.problem, case.trace)


@_cases(schedule_cases())
def test_a_recorded_trace_gives_the_recorded_program_or_a_listed_difference(case: ScheduleCase) -> None:
    assert (difference_to_recorded(case) is not None) == (case.name in DIFFERENCES)


@_cases(refused_cases())
def test_what_was_refused_elsewhere_is_refused_with_a_reason_or_right(case: RefusedCase) -> None:
    reason, module = attempt_case(case)
    assert (reason is None) == (case.name in ALLOWED)
    if reason is None:
        module.verify()
        check_texts(module)
        check_numbers(module, case.problem, [*case.trace, case.attempt])
    else:
        assert reason.partition("\n")[0]


def test_every_listed_case_is_in_the_corpus() -> None:
    assert {*DIFFERENCES} <= {case.name for case in schedule_cases()}
    assert {*ALLOWED} <= {case.name for case in refused_cases()}


def test_the_page_says_what_happens() -> None:
    assert PAGE.read_text() == page()
