"""Common behaviour of all primitives: errors print the program."""

from itertools import pairwise

import pytest

import stepwell

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""


def underlined(error: stepwell.ScheduleError) -> list[str]:
    lines = error.program.splitlines()
    return [line.strip() for line, under in pairwise(lines) if under.strip().startswith("^")]


def test_an_error_that_names_no_op_marks_what_the_primitive_was_given() -> None:
    sch = stepwell.Schedule(stepwell.parse_tvmscript(PROGRAM))
    with pytest.raises(stepwell.ScheduleError) as caught:
        sch.transform_layout("B", "A", lambda i, j: (i + j,))
    assert underlined(caught.value) == ['with T.block("B"):']


def test_an_error_about_a_loop_that_is_gone_shows_no_program() -> None:
    sch = stepwell.Schedule(stepwell.parse_tvmscript(PROGRAM))
    i, j = sch.get_loops("B")
    sch.fuse(i, j)
    with pytest.raises(stepwell.ScheduleError) as caught:
        sch.unroll(i)
    assert caught.value.program == ""
