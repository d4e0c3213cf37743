"""The harness for recorded schedules."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stepwell.core.errors import ScheduleError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.corpus import corpus
from stepwell.tools.testing.schedules import (
    apply_trace,
    attempt,
    check_numbers,
    index_maps,
    refused_cases,
    schedule_cases,
)
from stepwell.tools.testing.texts import check_texts

pytestmark = pytest.mark.skipif(corpus() is None, reason="the corpus is not there")


class _Schedule(SimpleNamespace):
    """A fake schedule that changes its `mod`, or refuses, on command."""

    mod: Any

    def set(self, mod: Any) -> None:
        self.mod = mod

    def refuse(self, why: str) -> None:
        raise ScheduleError(why)


def test_every_line_of_the_corpus_is_a_case() -> None:
    folder = corpus()
    assert folder is not None
    for cases, file in ((schedule_cases(), "schedules.jsonl"), (refused_cases(), "refused.jsonl")):
        names = {case.name for case in cases}
        assert len(names) == len((folder / "schedules" / file).read_text().splitlines())


def test_a_trace_sees_the_schedule_alone() -> None:
    schedule = _Schedule(mod=0)
    apply_trace(schedule, ["a = 3", "f = lambda i: (i + a,)", "sch.set(mod=f(4)[0])"])
    assert schedule.mod == 7
    with pytest.raises(NameError):
        apply_trace(schedule, ["schedule_cases()"])


def test_an_attempt_is_allowed_or_says_why_not() -> None:
    assert attempt(_Schedule(mod="before"), "x = 1\nsch.set('after')") is None
    assert attempt(_Schedule(mod="before"), "sch.refuse('the reason')") == "the reason"


def test_an_attempt_that_is_refused_must_not_change_the_program() -> None:
    with pytest.raises(AssertionError, match="changed the program: the reason"):
        attempt(_Schedule(mod="before"), "sch.set('after')\nsch.refuse('the reason')")


def test_an_attempt_that_fails_otherwise_is_not_refused() -> None:
    with pytest.raises(AttributeError):
        attempt(_Schedule(mod="before"), "sch.no_such_name()")


def test_the_recorded_programs_are_right() -> None:
    case = schedule_cases()[0]
    module = parse_tvmscript(case.after)
    module.verify()
    check_texts(module)
    check_numbers(module, case.problem)


def test_wrong_numbers_are_found() -> None:
    case = schedule_cases()[0]
    with pytest.raises(AssertionError):
        check_numbers(parse_tvmscript(case.after.replace("T.float32(0.0)", "T.float32(0.5)")), case.problem)


def test_numbers_of_a_moved_output_are_looked_for_where_the_index_map_puts_them() -> None:
    moved = [case for case in schedule_cases() if case.changes_output_layout]
    assert len(moved) == 3
    for case in moved:
        module = parse_tvmscript(case.after)
        check_numbers(module, case.problem, case.trace)
        with pytest.raises(AssertionError, match="which no index map says"):
            check_numbers(module, case.problem)


def test_wrong_numbers_of_a_moved_output_are_found() -> None:
    case = next(case for case in schedule_cases() if case.changes_output_layout)
    module = parse_tvmscript(case.after.replace("T.float32(3.0)", "T.float32(3.5)"))
    with pytest.raises(AssertionError, match="Not equal"):
        check_numbers(module, case.problem, case.trace)


def test_loops_bound_to_threads_are_run() -> None:
    case = next(c for c in schedule_cases() if "in T.parallel(" in c.after and not c.changes_output_layout)
    text = re.sub(r"T\.parallel\((\d+)\)", r'T.thread_binding(\1, thread="blockIdx.x")', case.after)
    assert "thread_binding" in text
    check_numbers(parse_tvmscript(text), case.problem)


def test_index_maps_are_the_lambdas_of_a_trace() -> None:
    (function,) = index_maps(["x = 1", "sch.f(x, index_map=lambda i, j: (j, i // 4, i % 4), pad=None)"])
    assert function(np.int64(6), 2) == (2, 1, 2)
