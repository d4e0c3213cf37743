"""Random traces, and their checks, which must detect errors."""

from typing import Any

import pytest

from stepwell.backends.passes import apply_passes
from stepwell.core.errors import ScheduleError
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.schedule.session import UNSUPPORTED_PRIMITIVES
from stepwell.schedule.state import PRIMITIVES
from stepwell.tools.testing import traces
from stepwell.tools.testing.choices import RecordingChoices, ReplayedChoices, SeededChoices
from stepwell.tools.testing.computations import random_computation
from stepwell.tools.testing.steps import MOVES, STEPS
from stepwell.tools.testing.traces import (
    RecordingSchedule,
    TraceOutcome,
    check_replays,
    check_trace,
    random_trace,
    try_step,
    with_trace,
)

SUM = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((6, 4), "int32"), B: T.Buffer((6,), "int32")):
        for i, k in T.grid(6, 4):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + A[vi, vk]
"""
MOST_SEEDS = 60
UNTRIED = {
    *("enter_postproc", "get_block", "get_child_blocks", "get_consumers", "get_loops", "get_output_blocks"),
    *("get_producers", "get_size", "sample_categorical", "tensorize", "unannotate"),
    *("unsafe_hide_buffer_access", "unsafe_set_dtype"),
}
"""Primitives without a step, such as queries: steps of other primitives use them, they cannot fail, they change results
by their definition, or a test of their own tries them."""


@pytest.fixture
def sum_of_rows() -> RecordingSchedule:
    return RecordingSchedule(parse_tvmscript(SUM))


def test_every_primitive_is_tried() -> None:
    names = (op.name.partition(".") for op in PRIMITIVES)
    known = {name for dialect, _, name in names if dialect == "schedule"}  # other dialects are those of packages
    assert known - UNTRIED - UNSUPPORTED_PRIMITIVES == set(STEPS)
    assert set(STEPS) >= MOVES


@pytest.mark.parametrize("name", STEPS)
def test_every_primitive_is_done_on_some_programs(name: str) -> None:
    """Every primitive succeeds on some programs; a primitive that is always refused is not tested."""
    done = 0
    for seed in range(MOST_SEEDS):
        choices = SeededChoices(seed)
        outcome = random_trace(choices, random_computation(choices), 2, (name,))
        done += outcome.done.get(name, 0)
        if done >= 2:
            return
    pytest.fail(f"{name} was done {done} times, and refused on all other programs")


def test_a_trace_counts_what_was_done_and_refused() -> None:
    choices = SeededChoices(5)
    outcome = random_trace(choices, random_computation(choices), 12)
    assert sum(outcome.done.values()) + sum(outcome.refused.values()) == 12
    assert outcome.done
    assert outcome.refused


def test_a_seed_gives_the_same_trace_again() -> None:
    first, second = (random_trace(c := SeededChoices(8), random_computation(c), 6) for _ in range(2))
    assert str(first.schedule.trace) == str(second.schedule.trace)


def test_recorded_choices_do_the_same_again() -> None:
    recorded = RecordingChoices(SeededChoices(8))
    first = random_trace(recorded, random_computation(recorded), 6)
    played = ReplayedChoices(recorded.numbers)
    second = random_trace(played, random_computation(played), 6)
    assert str(first.schedule.mod) == str(second.schedule.mod)


def test_a_file_with_a_trace_is_what_the_pass_takes(sum_of_rows: RecordingSchedule) -> None:
    sum_of_rows.parallel(sum_of_rows.get_loops("B")[0])
    text = with_trace(parse_tvmscript(SUM), sum_of_rows.trace)
    assert str(apply_passes(parse_mlir(text), "apply-schedule")) == str(sum_of_rows.mod)


def test_the_last_step_tried_is_shown_after_the_trace(sum_of_rows: RecordingSchedule) -> None:
    loops = sum_of_rows.get_loops("B")
    with pytest.raises(ScheduleError):
        sum_of_rows.parallel(loops[1])
    assert "sch.parallel(loop=l2)" in str(sum_of_rows.attempted_trace)
    assert "sch.parallel" not in str(sum_of_rows.trace)
    sum_of_rows.parallel(loops[0])
    assert str(sum_of_rows.attempted_trace) == str(sum_of_rows.trace)


def replaced(schedule: RecordingSchedule, old: str, new: str) -> None:
    """Replaces text in the program of a schedule, bypassing the schedule."""
    text = str(schedule.mod)
    assert old in text
    schedule._state.module = parse_mlir(text.replace(old, new)).op


def test_a_program_that_computes_something_else_is_found(sum_of_rows: RecordingSchedule) -> None:
    mod = parse_tvmscript(SUM)
    check_trace(mod, sum_of_rows)
    replaced(sum_of_rows, "arith.addi", "arith.muli")
    with pytest.raises(AssertionError, match="apply-schedule"):
        check_trace(mod, sum_of_rows)


def test_a_race_is_found(sum_of_rows: RecordingSchedule) -> None:
    replaced(sum_of_rows, 'tir.for serial "k"', 'tir.for parallel "k"')
    with pytest.raises(AssertionError, match="race"):
        check_trace(parse_tvmscript(SUM), sum_of_rows)


def test_a_trace_that_gives_another_program_is_found(sum_of_rows: RecordingSchedule) -> None:
    mod = parse_tvmscript(SUM)
    check_replays(mod, sum_of_rows)
    replaced(sum_of_rows, 'tir.for serial "k"', 'tir.for unrolled "k"')
    with pytest.raises(AssertionError, match="another program"):
        check_replays(mod, sum_of_rows)


def attempt_with(monkeypatch: pytest.MonkeyPatch, step: Any) -> AssertionError:
    """The error raised by an attempt of a broken primitive."""
    mod = parse_tvmscript(SUM)
    monkeypatch.setitem(STEPS, "split", step)
    with pytest.raises(AssertionError) as caught:
        try_step(SeededChoices(0), TraceOutcome(RecordingSchedule(mod)), "split", mod, check_flow=True)
    return caught.value


def test_an_error_of_any_other_kind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    error = attempt_with(monkeypatch, lambda p: 1 // 0)
    assert "ZeroDivisionError" in str(error)
    assert "tir.func @main" in str(error)


def test_a_program_changed_by_what_was_refused_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(program: Any) -> None:
        replaced(program.schedule, 'tir.for serial "k"', 'tir.for unrolled "k"')
        raise ScheduleError("no")

    assert "refused, and yet changed: no" in str(attempt_with(monkeypatch, step))


def test_a_step_that_is_not_recorded_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "split is not in the trace" in str(attempt_with(monkeypatch, lambda p: None))


def test_another_flow_of_values_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(program: Any) -> None:
        schedule: Schedule = program.schedule
        block = schedule.get(schedule.get_block("B"))
        stores = [op for op in block.walk() if op.name == "tir.load"]  # pyright: ignore[reportAttributeAccessIssue]
        stores[1].operands[1], stores[1].operands[2] = stores[1].operands[2], stores[1].operands[1]

    assert "changed the flow of values" in str(attempt_with(monkeypatch, step))


def test_the_flow_is_compared_of_what_moves_loops_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    flows: list[bool] = []
    monkeypatch.setattr(traces, "try_step", lambda *_, check_flow: flows.append(check_flow))
    random_trace(SeededChoices(0), parse_tvmscript(SUM), 1, ("split",), check_flow=True)
    random_trace(SeededChoices(0), parse_tvmscript(SUM), 1, ("rfactor",), check_flow=True)
    assert flows == [True, False]
