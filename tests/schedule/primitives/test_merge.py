"""merge: resulting programs and refusals."""

import re

import pytest

from stepwell import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

SIBLINGS = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32"), D: T.Buffer((8, 2), "float32")):
    B = T.alloc_buffer((8, 4))
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 2):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + T.float32(2)
"""
LOOPS = 'b, c, d = (sch.get_loops(name) for name in "BCD")'
"""The loops of the blocks B, C and D."""

SHIFTED = """
@T.prim_func
def main(A: T.Buffer((9,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((9,))
    for i in range(1, 9):
        with T.block("B"):
            vi = T.axis.spatial(9, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi + 1]
"""
BRANCHES = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), n: T.int32):
    if n < 4:
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(1)
    else:
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(2)
    for i in range(8):
        if n < 3:
            with T.block("D"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(3)
"""
TRIANGLES = """
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32")):
    for i in range(8):
        for j in range(i):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = 1
    for k in range(8):
        for l in range(k):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [k, l])
                C[vi, vj] = A[vi, vj]
"""


def test_the_bodies_of_the_loops_follow_each_other_in_the_new_loop() -> None:
    assert body_text(apply_steps(SIBLINGS, f"{LOOPS}\nsch.merge(b[0], c[0])")).startswith(
        "B = T.alloc_buffer((8, 4))\n"
        "for i_m in range(8):\n"
        "    for j in range(4):\n"
        '        with T.block("B"):\n'
        '            vi, vj = T.axis.remap("SS", [i_m, j])\n'
        "            T.reads(A[vi, vj])\n"
        "            T.writes(B[vi, vj])\n"
        "            B[vi, vj] = A[vi, vj] * T.float32(2.0)\n"
        "    for j in range(4):\n"
        '        with T.block("C"):\n'
    )


def test_the_outer_loops_of_the_nests_are_merged_too() -> None:
    text = body_text(apply_steps(SIBLINGS, f"{LOOPS}\nsch.merge(b[1], c[1])"))
    assert 'for i_m, j_m in T.grid(8, 4):\n    with T.block("B"):' in text


def test_three_loops_are_merged() -> None:
    text = body_text(apply_steps(SIBLINGS, f"{LOOPS}\nsch.merge(b[0], c[0], d[0])"))
    assert text.count("for ") == 4


def test_the_new_loop_is_returned_and_handles_of_blocks_stay() -> None:
    sch = Schedule(parse_tvmscript(SIBLINGS))
    block = sch.get_block("C")
    merged = sch.merge(sch.get_loops("B")[0], sch.get_loops(block)[0])
    assert sch.get(merged) is sch.get(sch.get_loops(block)[0])
    assert re.search(r"l\d+ = sch\.merge\(l\d+, l\d+\)", str(sch.trace))


def test_loops_may_start_anywhere() -> None:
    text = body_text(apply_steps(SHIFTED, 'sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])'))
    assert "vi = T.axis.spatial(9, i_m + 1)" in text


def test_the_extents_may_depend_on_the_outer_loops() -> None:
    text = body_text(apply_steps(TRIANGLES, 'sch.merge(sch.get_loops("B")[1], sch.get_loops("C")[1])'))
    assert text.startswith('for i_m in range(8):\n    for j_m in range(i_m):\n        with T.block("B"):')


def test_a_value_that_is_not_there_yet_is_a_counterexample() -> None:
    error = refusal_of(SIBLINGS, LOOPS, "sch.merge(c[0], b[0])")
    assert "B[0, 0] is read by block C at (vi=0, vj=0) before block B writes it at (vi=0, vj=0)" in str(error)


@pytest.mark.parametrize(
    ("text", "steps", "attempt", "reason"),
    [
        (SIBLINGS, LOOPS, "sch.merge(b[0])", "expected two or more loops"),
        (SIBLINGS, LOOPS, "sch.merge(b[0], b[0])", "loop i is given twice"),
        (SIBLINGS, LOOPS, "sch.merge(b[0], b[1])", "loop i is around another of the loops"),
        (SIBLINGS, LOOPS, "sch.merge(b[0], c[1])", "loop j is nested 2 deep, and loop i 1 deep"),
        (SIBLINGS, LOOPS, "sch.merge(c[1], d[1])", "loops j and j may differ in their number of iterations"),
        (SIBLINGS, f"{LOOPS}\nsch.bind(c[0], 'threadIdx.x')", "sch.merge(b[0], c[0])", "bound to threadIdx.x"),
        (BRANCHES, LOOPS, "sch.merge(b[0], c[0])", "the loops are in different branches"),
        (BRANCHES, LOOPS, "sch.merge(b[0], d[0])", "loop i is in another scope or branch than the other loops"),
        (
            SIBLINGS,
            f"{LOOPS}\nsch.merge(c[0], d[0])",
            "sch.merge(b[1], c[1])",
            "loop j is not the only statement in loop i_m",
        ),
    ],
)
def test_loops_that_cannot_be_merged_are_refused(text: str, steps: str, attempt: str, reason: str) -> None:
    assert reason in str(refusal_of(text, steps, attempt))
