"""Every primitive leaves what a program computes as it is, or refuses and leaves the program as it is.

`make fuzz` takes thousands of traces, a normal run some hundreds. A case that fails is shown as a file that
`stepwell-opt -p apply-schedule` runs.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.tools.testing.choices import Choices, Drawn, Played, Recorded
from stepwell.tools.testing.computations import random_computation
from stepwell.tools.testing.steps import MOVES, STEPS
from stepwell.tools.testing.traces import (
    Outcome,
    check_replays,
    check_trace,
    random_trace,
    try_step,
    with_trace,
)

pytestmark = pytest.mark.fuzz

EXAMPLES = max(50, settings.default.max_examples // 5)
LONGEST = 8

FAMILIES = {
    "any": tuple(STEPS),
    "moves": tuple(sorted(MOVES)),
    "copies": ("cache_read", "cache_write", "reindex", "compute_at", "reverse_compute_at", "split", "reorder", "fuse"),
    "inlines": ("compute_inline", "reverse_compute_inline", "cache_read", "reindex", "compute_at", "transform_layout"),
    "reductions": ("rfactor", "decompose_reduction", "split", "reorder", "fuse", "compute_at", "reverse_compute_at"),
    "rewrites": ("transform_layout", "pad_einsum", "decompose_padding", "blockize", "reindex", "split", "cache_write"),
}
"""Primitives that are tried together."""


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_trace_leaves_what_is_computed_and_replays(family: str, data: st.DataObject) -> None:
    choices = Drawn(data.draw)
    mod = random_computation(choices)
    outcome = random_trace(choices, mod, choices.integer(1, LONGEST), FAMILIES[family])
    check_trace(mod, outcome.schedule)
    check_replays(mod, outcome.schedule)


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_what_only_moves_loops_leaves_the_flow_of_values(data: st.DataObject) -> None:
    choices = Drawn(data.draw)
    mod = random_computation(choices)
    random_trace(choices, mod, choices.integer(1, LONGEST // 2), FAMILIES["moves"], check_flow=True)


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_copy_of_a_schedule_does_and_refuses_the_same(data: st.DataObject) -> None:
    choices: Choices = Drawn(data.draw)
    mod = random_computation(choices)
    outcome = random_trace(choices, mod, choices.integer(0, LONGEST // 2))
    name = sorted(STEPS)[choices.integer(0, len(STEPS) - 1)]
    copy, recorded = outcome.schedule.copy(), Recorded(choices)
    before = str(copy.mod)
    reason = try_step(recorded, outcome, name, mod)
    assert str(copy.mod) == before, f"{name} changed a copy too\n{with_trace(mod, outcome.schedule.attempted)}"
    assert try_step(Played(recorded.numbers), Outcome(copy), name, mod) == reason
    assert str(copy.mod) == str(outcome.schedule.mod)
    assert str(copy.trace) == str(outcome.schedule.trace)
