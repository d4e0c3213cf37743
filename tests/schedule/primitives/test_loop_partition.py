"""loop_partition: resulting programs and refusals."""

import pytest

from stepwell import parse_tvmscript
from stepwell.dialects.tir import ForOp
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

COPY = """
@T.prim_func
def main(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16, 4), "float32")):
    for i, j in T.grid(16, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""
ROW_SUM = """
@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 16):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""
SYMBOLIC = """
@T.prim_func
def main(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi]
"""
STORES = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    C = T.alloc_buffer((16,))
    for i in range(16):
        A[i] = T.float32(1)
        with T.block("T"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + T.float32(1)
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = C[vi]
"""
VIEW = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            row = T.match_buffer(A[vi, 0:8], (8,), offset_factor=1)
            for j in range(8):
                B[vi, j] = row[j] + T.float32(2)
"""
LOOP = "loop = sch.get_loops('B')[{}]"


def test_the_iterations_are_divided_among_loops_in_blocks_of_their_own() -> None:
    assert body_text(apply_steps(COPY, f"{LOOP.format(0)}\nsch.loop_partition(loop, [None, 4])")) == (
        'with T.block("B_i_common"):\n'
        "    T.reads(A[0:16, 0:4])\n"
        "    T.writes(B[0:16, 0:4])\n"
        '    with T.block("B_i0_partition"):\n'
        "        T.reads(A[0:12, 0:4])\n"
        "        T.writes(B[0:12, 0:4])\n"
        "        for i0, j in T.grid(12, 4):\n"
        '            with T.block("B_i0"):\n'
        '                vi, vj = T.axis.remap("SS", [i0, j])\n'
        "                T.reads(A[vi, vj])\n"
        "                T.writes(B[vi, vj])\n"
        "                B[vi, vj] = A[vi, vj] + T.float32(1.0)\n"
        '    with T.block("B_i1_partition"):\n'
        "        T.reads(A[12:16, 0:4])\n"
        "        T.writes(B[12:16, 0:4])\n"
        "        for i1 in range(12, 16):\n"
        "            for j in range(4):\n"
        '                with T.block("B_i1"):\n'
        '                    vi, vj = T.axis.remap("SS", [i1, j])\n'
        "                    T.reads(A[vi, vj])\n"
        "                    T.writes(B[vi, vj])\n"
        "                    B[vi, vj] = A[vi, vj] + T.float32(1.0)"
    )


def test_the_rest_is_one_more_loop_without_an_inferred_factor() -> None:
    sch = Schedule(parse_tvmscript(COPY))
    loops = [sch.get(loop) for loop in sch.loop_partition(sch.get_loops("B")[0], [2, 1])]
    assert [loop.mixed_bounds[:2] for loop in loops if isinstance(loop, ForOp)] == [(0, 2), (2, 1), (3, 13)]


def test_an_inner_loop_is_divided_within_the_outer_one() -> None:
    text = body_text(apply_steps(COPY, f"{LOOP.format(1)}\nsch.loop_partition(loop, [1, None])"))
    assert text.startswith('for i in range(16):\n    with T.block("B_j_common"):')


def test_a_partition_is_divided_again_and_transformed() -> None:
    steps = """
a, b = sch.loop_partition(sch.get_loops('B')[0], [12, None])
sch.loop_partition(sch.get_loops('B_i0')[1], [3, None])
sch.vectorize(sch.get_loops('B_i1')[1])
sch.split(a, [None, 5])
"""
    text = body_text(apply_steps(COPY, steps))
    assert 'with T.block("B_i0_j1"):' in text
    apply_steps(COPY, steps, target="llvm")


def test_only_the_partition_with_the_first_step_of_a_reduction_has_its_init() -> None:
    text = body_text(apply_steps(ROW_SUM, f"{LOOP.format(1)}\nsch.loop_partition(loop, [4, 4, None])"))
    assert text.count("T.init()") == 1
    assert "vk = T.axis.reduce(16, k1)" in text
    assert "T.reads(B[vi], A[vi, vk])" in text


def test_an_init_that_depends_on_two_loops_stays_in_all_partitions() -> None:
    steps = "k_0, k_1 = sch.split(sch.get_loops('B')[1], [4, 4])\nsch.loop_partition(k_0, [1, None])"
    assert body_text(apply_steps(ROW_SUM, steps)).count("T.init()") == 2


def test_a_loop_without_blocks_is_divided() -> None:
    steps = "loop, = sch.get_loops('T')\nsch.compute_inline('T')\nsch.loop_partition(loop, [4])"
    text = body_text(apply_steps(STORES, steps))
    assert 'with T.block("i1_partition"):' in text
    assert "for i1 in range(4, 16):" in text


def test_each_partition_has_its_own_offset_of_a_view() -> None:
    text = body_text(apply_steps(VIEW, f"{LOOP.format(0)}\nsch.loop_partition(loop, [1, 2])"))
    assert text.count("T.match_buffer(A[vi, 0:8], (8,), offset_factor=1)") == 3
    assert "T.int32()" not in text


@pytest.mark.parametrize(
    ("text", "steps", "factors", "reason"),
    [
        (COPY, LOOP.format(0), "[20, 2]", "the sum of the factors [20, 2] must be less than the extent of loop i, 16"),
        (COPY, LOOP.format(0), "[16, None]", "the sum of the factors [16, None] must be less than the extent"),
        (COPY, LOOP.format(0), "[0, None]", "factors [0, None]: expected positive numbers, at least one"),
        (COPY, LOOP.format(0), "[None, 2, None]", "at most one may be None"),
        (COPY, f"{LOOP.format(0)}\nsch.annotate(loop, 'a', 1)", "[2]", "loop i has annotations (a)"),
        (COPY, f"{LOOP.format(0)}\nsch.bind(loop, 'threadIdx.x')", "[2]", "loop i is bound to threadIdx.x"),
        (SYMBOLIC, LOOP.format(0), "[2, None]", "the start and the extent of loop i are not known numbers"),
    ],
)
def test_a_loop_that_cannot_be_divided_is_refused(text: str, steps: str, factors: str, reason: str) -> None:
    assert reason in str(refusal_of(text, steps, f"sch.loop_partition(loop, {factors})"))
