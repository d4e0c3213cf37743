"""fuse_reduction_epilogue: resulting programs and refusals."""

import pytest

from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

SUM = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,))
    for i, k in T.grid(8, 4):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = S[vi] + B[vi]
"""
FUSE = "sch.fuse_reduction_epilogue('S', 'D')"
BETWEEN = SUM.replace(
    "    for i in range(8):\n",
    '    for i in range(8):\n        with T.block("E"):\n            vi = T.axis.spatial(8, i)\n'
    "            BUFFER[vi] = T.float32(1)\n    for i in range(8):\n",
    1,
)
OLD_RESULT = BETWEEN.replace("BUFFER[vi] = T.float32(1)", "B[vi] = D[vi]").replace("S[vi] + B[vi]", "S[vi] + A[vi, 0]")


def epilogue(value: str) -> str:
    """The program with another value stored by the epilogue."""
    return SUM.replace("S[vi] + B[vi]", value)


def test_the_term_becomes_the_initial_value() -> None:
    assert body_text(apply_steps(SUM, FUSE)) == (
        "for i, k in T.grid(8, 4):\n"
        '    with T.block("S"):\n'
        '        vi, vk = T.axis.remap("SR", [i, k])\n'
        "        T.reads(B[vi], A[vi, vk])\n"
        "        T.writes(D[vi])\n"
        "        with T.init():\n"
        "            D[vi] = B[vi]\n"
        "        D[vi] = D[vi] + A[vi, vk]"
    )


@pytest.mark.parametrize(
    ("value", "init"),
    [
        ("B[vi] + S[vi]", "D[vi] = B[vi]"),
        ("S[vi] + T.exp(B[vi])", "D[vi] = T.exp(B[vi])"),
        ("S[vi] + T.float32(3)", "D[vi] = T.float32(3.0)"),
    ],
)
def test_the_term_is_any_value(value: str, init: str) -> None:
    assert init in body_text(apply_steps(epilogue(value), FUSE))


def test_the_term_is_added_to_another_initial_value() -> None:
    text = SUM.replace("S[vi] = T.float32(0)", "S[vi] = T.float32(2)")
    assert "D[vi] = T.float32(2.0) + B[vi]" in body_text(apply_steps(text, FUSE))


def test_a_difference_starts_with_the_term() -> None:
    apply_steps(SUM.replace("S[vi] + A[vi, vk]", "S[vi] - A[vi, vk]"), FUSE)


def test_the_results_may_be_in_another_order() -> None:
    text = SUM.replace("D[vi] = S[vi] + B[vi]", "D[vi] = S[7 - vi] + B[vi]")
    assert "D[7 - vi] = B[7 - vi]" in body_text(apply_steps(text, FUSE))


def test_the_epilogue_may_use_a_part_of_the_results() -> None:
    text = SUM.replace("    for i in range(8):\n", "    for i in range(6):\n")
    assert "T.where(i < 6)" in body_text(apply_steps(text, FUSE))


@pytest.mark.parametrize(
    ("text", "attempt", "reason"),
    [
        (epilogue("T.max(S[vi] + B[vi], T.float32(0))"), FUSE, "any other function of each partial sum is not that"),
        (epilogue("T.min(T.max(S[vi], B[vi]), A[vi, 0])"), FUSE, "does not store the sum of an element of S"),
        (epilogue("S[vi] * T.float32(2) + B[vi]"), FUSE, "does not store the sum of an element of S"),
        (epilogue("S[vi] + S[vi]"), FUSE, "does not store the sum of an element of S"),
        (SUM.replace("S[vi] + A[vi, vk]", "T.max(S[vi], A[vi, vk])"), FUSE, "block S does not add a term to S"),
        (SUM, "sch.fuse_reduction_epilogue('D', 'S')", "block D is not before block S in the same scope"),
        (SUM, "sch.fuse_reduction_epilogue('S', 'S')", "block S is not before block S in the same scope"),
        (BETWEEN.replace("BUFFER", "B"), FUSE, "adds a term computed from memory that is written in between"),
        (OLD_RESULT, FUSE, "D[0]"),
    ],
)
def test_other_epilogues_are_refused(text: str, attempt: str, reason: str) -> None:
    assert reason in str(refusal_of(text, "", attempt))


def test_a_sum_that_another_block_reads_is_refused() -> None:
    text = BETWEEN.replace("BUFFER[vi] = T.float32(1)", "B[vi] = S[vi]").replace("S[vi] + B[vi]", "S[vi] + A[vi, 0]")
    assert "buffer S is read in block E too" in str(refusal_of(text, "", FUSE))
