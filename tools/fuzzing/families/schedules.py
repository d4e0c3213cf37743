"""Families of schedules: primitives of `Schedule`, and legacy schedules of te."""

from __future__ import annotations

from hypothesis import strategies as st

from ....core.errors import ScheduleError
from ....expressions.errors import TeError
from ....frontends import te
from ....module import Module
from ....schedule.trace import Trace, traces_in_module
from ...testing.choices import HypothesisChoices
from ...testing.computations import random_computation
from ...testing.legacy_schedules import check_legacy_schedule, legacy_schedules
from ...testing.steps import GROUPS
from ...testing.traces import RecordingSchedule, check_replays, check_trace, random_trace
from ..case import Case

LONGEST = 8
"""The maximum number of primitives of a trace."""


def check_schedule(data: st.DataObject, case: Case) -> None:
    """Random primitives leave what a program computes, or are refused; the trace replays."""
    choices = HypothesisChoices(data.draw)
    group, module = data.draw(st.sampled_from(tuple(GROUPS))), random_computation(choices)
    case.show(module)
    outcome = random_trace(choices, module, choices.integer(1, LONGEST), GROUPS[group])
    case.check_program(outcome.schedule.with_trace(), _check_traces)


def _check_traces(program: Module) -> None:
    """Raises AssertionError unless the traces of a program leave what it computes, and replay in all forms."""
    start = program.clone()
    traces = traces_in_module(start.op)
    for trace in traces:
        trace.detach()
    schedule = RecordingSchedule(start)
    for trace in traces:
        schedule.replay(Trace(trace))
    check_trace(start, schedule)
    check_replays(start, schedule)


def check_te_schedule(data: st.DataObject, case: Case) -> None:
    """A random schedule of stages leaves what tensor expressions compute, or is refused."""
    drawn = data.draw(legacy_schedules())
    try:
        schedule = te.apply_schedule(drawn.schedule, drawn.program.arguments)
    except (ScheduleError, TeError):
        return
    case.show(schedule.mod.script())
    check_legacy_schedule(drawn, schedule)
