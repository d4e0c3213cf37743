"""Every primitive preserves the results of a program, or refuses and leaves the program unchanged.

A failing case is printed as an input of `stepwell-opt -p apply-schedule`.
"""

from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.tools.testing.choices import Choices, HypothesisChoices, RecordingChoices, ReplayedChoices
from stepwell.tools.testing.computations import random_computation
from stepwell.tools.testing.scheduling import apply_steps, refusal_of
from stepwell.tools.testing.steps import GROUPS, STEPS
from stepwell.tools.testing.traces import (
    TraceOutcome,
    check_replays,
    check_trace,
    random_trace,
    try_step,
    with_trace,
)

EXAMPLES = max(1, settings().max_examples // 2)
LONGEST = 8


FOUND = {
    "an inner block whose predicate goes to the outer one": (
        """
        for i in range(6):
            with T.block("B"):
                vi = T.axis.spatial(6, i)
                T.where(i < 5)
                B[vi] = A[vi]
        """,
        'sch.blockize(["B"])',
    ),
    "a box at a number of 64 bits": (
        """
        for i in range(T.int64(6)):
            with T.block("B"):
                vi = T.axis.spatial(T.int64(6), i)
                T.where(i < T.int64(1))
                B[vi] = A[vi]
        """,
        'sch.blockize(sch.get_loops("B")[0])',
    ),
    "a box at a sum of numbers of 64 bits": (
        """
        for i in range(T.int64(1)):
            with T.block("B"):
                vi = T.axis.spatial(T.int64(1), i)
                B[vi + T.int64(1)] = A[vi]
        """,
        'sch.blockize(sch.get_loops("B")[0])',
    ),
    "an index that is loaded where it is right only": (
        """
        C = T.alloc_buffer((6,), "int32")
        for i in range(6):
            with T.block("C"):
                vi = T.axis.spatial(6, i)
                C[vi] = A[index[vi] % 6]
        for i in range(6):
            with T.block("B"):
                vi = T.axis.spatial(6, i)
                B[vi] = C[vi]
        """,
        'sch.transform_layout("C", ("write", 0), lambda i: (i + 1,), 0)',
    ),
}
"""Reduced failures of random programs: lines of a function and lines of a schedule."""


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_right(name: str) -> None:
    body, steps = FOUND[name]
    buffers = ", ".join(f'{b}: T.Buffer((6,), "int32")' for b in ("A", "index", "B"))
    text = f"@T.prim_func\ndef main({buffers}):\n{indent(dedent(body), '    ')}"
    apply_steps(text, steps)
    apply_steps(text, steps, target="llvm")


ROWS = """
C = T.alloc_buffer((6, 6), "int32")
row = T.alloc_buffer((6,), "int32")
for i in range(6):
    MAKE
    for j in range(6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = row[vj] + 1
for i, k in T.grid(6, 6):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 0
        B[vi] = B[vi] + C[vi, vk]
"""
MADE = {
    "a block that uses a loop and not an axis": """
        for j in range(6):
            with T.block("row"):
                vj = T.axis.spatial(6, j)
                row[vj] = A[vj] * i
        """,
    "a copy of what another block makes anew": """
        first = T.alloc_buffer((6,), "int32")
        for j in range(6):
            with T.block("first"):
                vi, vj = T.axis.remap("SS", [i, j])
                first[vj] = A[vj] * vi
        for j in range(6):
            with T.block("row"):
                vj = T.axis.spatial(6, j)
                row[vj] = first[vj]
        """,
}
"""Producers of a row whose instances have equal names but compute different values in each iteration."""


@pytest.mark.parametrize("name", MADE)
def test_a_buffer_allocated_in_each_iteration_is_not_read_after_the_loop(name: str) -> None:
    body = ROWS.replace("    MAKE", indent(dedent(MADE[name]).strip(), "    "))
    text = f'@T.prim_func\ndef main(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):\n{indent(body, "    ")}'
    assert "row[0] is read by block B at (vi=0, vk=0)" in str(refusal_of(text, "", 'sch.compute_inline("C")'))


@pytest.mark.parametrize("group", GROUPS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_trace_leaves_what_is_computed_and_replays(group: str, data: st.DataObject) -> None:
    choices = HypothesisChoices(data.draw)
    mod = random_computation(choices)
    outcome = random_trace(choices, mod, choices.integer(1, LONGEST), GROUPS[group])
    check_trace(mod, outcome.schedule)
    check_replays(mod, outcome.schedule)


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_what_only_moves_loops_leaves_the_flow_of_values(data: st.DataObject) -> None:
    choices = HypothesisChoices(data.draw)
    mod = random_computation(choices)
    random_trace(choices, mod, choices.integer(1, LONGEST // 2), GROUPS["moves"], check_flow=True)


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_copy_of_a_schedule_does_and_refuses_the_same(data: st.DataObject) -> None:
    choices: Choices = HypothesisChoices(data.draw)
    mod = random_computation(choices)
    outcome = random_trace(choices, mod, choices.integer(0, LONGEST // 2))
    name = sorted(STEPS)[choices.integer(0, len(STEPS) - 1)]
    copy, recorded = outcome.schedule.copy(), RecordingChoices(choices)
    before = str(copy.mod)
    reason = try_step(recorded, outcome, name, mod)
    assert str(copy.mod) == before, f"{name} changed a copy too\n{with_trace(mod, outcome.schedule.attempted_trace)}"
    assert try_step(ReplayedChoices(recorded.numbers), TraceOutcome(copy), name, mod) == reason
    assert str(copy.mod) == str(outcome.schedule.mod)
    assert str(copy.trace) == str(outcome.schedule.trace)
