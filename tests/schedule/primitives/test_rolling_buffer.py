"""rolling_buffer: resulting programs and refusals."""

import pytest

from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

CASCADE = """
@T.prim_func
def main(A: T.Buffer((12,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * 2
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + B[vi + 2]
"""
SUMS = """
@T.prim_func
def main(A: T.Buffer((12, 6), "int32"), C: T.Buffer((8, 6), "int32")):
    B = T.alloc_buffer((10, 6), "int32")
    for i, j, k in T.grid(10, 6, 3):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = 0
            B[vi, vj] = B[vi, vj] + A[vi + vk, vj]
    for i, j, k in T.grid(8, 6, 3):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + B[vi + vk, vj]
"""
WINDOWS = """
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), C: T.Buffer((6, 6), "int32")):
    B = T.alloc_buffer((8, 8), "int32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1
    for i, j in T.grid(6, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 2, vj + 2]
"""
HALVES = CASCADE.replace("B[vi] + B[vi + 2]", "B[vi // 2] + B[vi // 2 + 2]")
BACKWARDS = CASCADE.replace("B[vi] + B[vi + 2]", "B[7 - vi] + B[9 - vi]")
TWO_WRITERS = CASCADE.replace(
    "    for i in range(8):", "    with T.block('D'):\n        B[0] = 5\n    for i in range(8):"
)
ROLLED = "i, = sch.get_loops('C')\ni_0, i_1 = sch.split(i, [None, {}])\nsch.compute_at('B', i_0)\n"


def test_the_buffer_keeps_what_the_next_iteration_reads() -> None:
    assert body_text(apply_steps(CASCADE, ROLLED.format(4) + "sch.rolling_buffer('B', 0)")).startswith(
        'B = T.alloc_buffer((6,), "int32")\n'
        "for i_0 in range(2):\n"
        "    for ax0 in range(6):\n"
        '        with T.block("B"):\n'
        "            vi = T.axis.opaque(10, i_0 * 4 + ax0)\n"
        "            T.where(i_0 < 1 or 2 <= ax0)\n"
        "            T.reads(A[vi])\n"
        "            T.writes(B[vi % 6])\n"
        "            B[vi % 6] = A[vi] * 2\n"
    )


@pytest.mark.parametrize("factor", [1, 2, 3, 4])
@pytest.mark.parametrize("text", [CASCADE, HALVES])
def test_it_computes_the_same_for_any_tile(text: str, factor: int) -> None:
    steps = ROLLED.format(factor) + "sch.rolling_buffer('B', 'B')"
    apply_steps(text, steps)
    apply_steps(text, steps, target="llvm")


def test_a_reduction_rolls_along_an_outer_loop() -> None:
    steps = "i, j, k = sch.get_loops('C')\ni_0, i_1 = sch.split(i, [None, 2])\nsch.compute_at('B', i_0)\n"
    text = body_text(apply_steps(SUMS, f"{steps}sch.rolling_buffer('B', 0)"))
    assert 'B = T.alloc_buffer((4, 6), "int32")' in text
    assert "C[vi, vj] = C[vi, vj] + B[(vi + vk) % 4, vj]" in text


def test_the_outermost_of_two_overlapping_dimensions_rolls() -> None:
    steps = "i, j = sch.get_loops('C')\ni_0, i_1 = sch.split(i, [None, 2])\nj_0, j_1 = sch.split(j, [None, 3])\n"
    steps += "sch.reorder(i_0, j_0, i_1, j_1)\nsch.compute_at('B', j_0)\n"
    text = body_text(apply_steps(WINDOWS, f"{steps}sch.rolling_buffer('B', 0)"))
    assert 'B = T.alloc_buffer((4, 8), "int32")' in text
    assert "T.where((i_0 < 1 or 2 <= ax0) and (j_0 < 1 or 2 <= ax1))" in text


def test_a_parallel_loop_does_not_roll() -> None:
    steps = ROLLED.format(4) + "sch.parallel(i_0)"
    error = str(refusal_of(CASCADE, steps, "sch.rolling_buffer('B', 0)"))
    assert "parallel" in error or "iterations" in error


@pytest.mark.parametrize(
    ("text", "steps", "attempt", "reason"),
    [
        (CASCADE, "", "sch.rolling_buffer('B', 0)", "no loop is around block B and all readers of buffer B"),
        (CASCADE, "", "sch.rolling_buffer('C', 0)", "buffer C, which block C writes, is not allocated"),
        (CASCADE, "", "sch.rolling_buffer('B', 1)", "there is no number 1"),
        (TWO_WRITERS, "", "sch.rolling_buffer('B', 0)", "blocks B and D write buffer B, expected one writer"),
        (BACKWARDS, ROLLED.format(4), "sch.rolling_buffer('B', 0)", "in no dimension, as far as is known"),
        (
            CASCADE.replace("B[vi] + B[vi + 2]", "B[vi] + 1"),
            ROLLED.format(4),
            "sch.rolling_buffer('B', 0)",
            "in no dimension, as far as is known",
        ),
    ],
)
def test_buffers_that_cannot_roll_are_refused(text: str, steps: str, attempt: str, reason: str) -> None:
    assert reason in str(refusal_of(text, steps, attempt))


POOLS = """
@T.prim_func
def main(A: T.Buffer((9, 9, 2), "int8"), C: T.Buffer((5, 5, 2), "int8")):
    B = T.alloc_buffer((7, 7, 2), "int8")
    for i, j, c, k, l in T.grid(7, 7, 2, 3, 3):
        with T.block("B"):
            vi, vj, vc, vk, vl = T.axis.remap("SSSRR", [i, j, c, k, l])
            with T.init():
                B[vi, vj, vc] = T.int8(-128)
            B[vi, vj, vc] = T.max(B[vi, vj, vc], A[vi + vk, vj + vl, vc])
    for i, j, c, k, l in T.grid(5, 5, 2, 3, 3):
        with T.block("C"):
            vi, vj, vc, vk, vl = T.axis.remap("SSSRR", [i, j, c, k, l])
            with T.init():
                C[vi, vj, vc] = T.int8(-128)
            C[vi, vj, vc] = T.max(C[vi, vj, vc], B[vi + vk, vj + vl, vc])
"""
BEHIND = """
@T.prim_func
def main(A: T.Buffer((12,), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((12,), "int32")
    for i in range(4):
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(12, i * 2 + j)
                B[vi] = A[vi] * 2
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            if vi > 0:
                C[vi] = B[vi * 2 - 1]
"""


@pytest.mark.parametrize("tile", [2, 3])
def test_windows_in_two_dimensions_roll(tile: int) -> None:
    steps = f"i, j, c, k, l = sch.get_loops('C')\ni_0, i_1 = sch.split(i, [None, {tile}])\n"
    steps += f"j_0, j_1 = sch.split(j, [None, {tile}])\nsch.reorder(i_0, j_0, i_1, j_1, c)\nsch.compute_at('B', j_0)\n"
    text = body_text(apply_steps(POOLS, f"{steps}sch.rolling_buffer('B', 0)", target="llvm"))
    assert f'B = T.alloc_buffer(({tile + 2}, 7, 2), "int8")' in text


def test_an_element_that_is_read_behind_its_region_is_lost() -> None:
    error = str(refusal_of(BEHIND, "", "sch.rolling_buffer('B', 0)"))
    assert "B[1] is read by block C at (vi=1) as block B writes it at (vi=5), not as block B does at (vi=1)" in error
