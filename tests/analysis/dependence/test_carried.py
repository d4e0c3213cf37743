"""Parallel loops, and blocks whose instances may run in any order."""

import pytest

from stepwell import parse_tvmscript
from stepwell.analysis.dependence import carried_dependence, has_self_conflicts
from stepwell.dialects.tir import ForOp

STENCIL = """
for i in range(7):
    for j in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i + 1)
            vj = T.axis.spatial(8, j)
            D[vi, vj] = D[vi - 1, vj] + A[vi, vj]
"""
PRIVATE = """
C = T.alloc_buffer((8,))
for i in range(8):
    for j in range({count}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj] = A[vi, vj]
    for j in range(8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vj]
{behind}
"""
MATMUL = """
for i, j, k in T.grid(8, 8, 8):
    with T.block("D"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            D[vi, vj] = T.float32(0)
        D[vi, vj] = D[vi, vj] + A[vi, vk] * A[vk, vj]
"""
SCATTER = """
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[I[vi], 0] = A[vi, 0]
"""
OUTER_SIZE = """
for i in range(n):
    for j in range(4):
        for k in range(8):
            with T.block("D"):
                va = T.axis.spatial(4096, (i + n) * 4 + j)
                vb = T.axis.spatial(64, j * 8 + k)
                D[va, vb] = T.float32(1)
"""


def test_iterations_that_read_what_others_write_are_not_independent(function, loop) -> None:
    violation = carried_dependence(loop(function(STENCIL), "i"))
    assert violation is not None
    assert violation.message == (
        "D[1, 0] is written by block D at (vi=1, vj=0) in iteration i=0 "
        "and read by block D at (vi=2, vj=0) in iteration i=1"
    )


def test_iterations_on_other_elements_are_independent(function, loop) -> None:
    assert carried_dependence(loop(function(STENCIL), "j")) is None


def test_a_temporary_that_each_iteration_fills_is_private(function, loop) -> None:
    assert carried_dependence(loop(function(PRIVATE.format(count=8, behind="")), "i")) is None


def test_a_temporary_that_an_iteration_fills_in_part_is_not(function, loop) -> None:
    assert carried_dependence(loop(function(PRIVATE.format(count=7, behind="")), "i")) is not None


def test_a_temporary_that_is_read_after_the_loop_is_not_private(function, loop) -> None:
    behind = """
with T.block("E"):
    D[0, 0] = C[0]
"""
    assert carried_dependence(loop(function(PRIVATE.format(count=8, behind=behind)), "i")) is not None


def test_memory_allocated_in_an_iteration_is_its_own(function, loop) -> None:
    text = """
for i in range(8):
    C = T.alloc_buffer((8,))
    for j in range(8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj] = A[vi, vj]
    for j in range(8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vj]
"""
    assert carried_dependence(loop(function(text), "i")) is None


@pytest.mark.parametrize(("name", "independent"), [("i", True), ("j", True), ("k", False)])
def test_a_reduction_loop_is_not_independent(name: str, independent: bool, function, loop) -> None:
    assert (carried_dependence(loop(function(MATMUL), name)) is None) is independent


def test_contributions_to_a_reduction_may_be_allowed(function, loop) -> None:
    assert carried_dependence(loop(function(MATMUL), "k"), allow_reduction=True) is None


def test_contributions_without_their_init_are_no_reduction(function, loop) -> None:
    lines = MATMUL.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if "T.init()" in line)
    text = "".join(lines[:at] + lines[at + 2 :])
    assert carried_dependence(loop(function(text), "k"), allow_reduction=True) is not None


def test_steps_that_do_not_commute_are_no_reduction(function, loop) -> None:
    text = MATMUL.replace("D[vi, vj] + ", "D[vi, vj] * T.float32(3) + ")
    assert carried_dependence(loop(function(text), "k"), allow_reduction=True) is not None


def test_a_scatter_is_not_independent(function, loop) -> None:
    violation = carried_dependence(loop(function(SCATTER), "i"))
    assert violation is not None
    assert violation.not_affine == ("D[I[vi], 0]",)


def test_a_gather_is_independent(function, loop) -> None:
    assert (
        carried_dependence(loop(function(SCATTER.replace("D[I[vi], 0] = A[vi, 0]", "D[vi, 0] = A[I[vi], 0]")), "i"))
        is None
    )


def test_iterations_that_write_one_element_are_not_independent(function, loop) -> None:
    text = "for i in range(8):\n    D[i // 2, 0] = A[i, 0]\n"
    violation = carried_dependence(loop(function(text), "i"))
    assert violation is not None
    assert violation.message == (
        "D[0, 0] is written by the store to D at (i=0) in iteration i=0 "
        "and written by the store to D at (i=1) in iteration i=1"
    )


def test_calls_with_effects_are_not_independent(function, loop) -> None:
    text = 'for i in range(8):\n    T.call_packed("env.log", i)\n'
    assert carried_dependence(loop(function(text), "i")) is not None


def test_a_loop_around_is_fixed(function, loop) -> None:
    text = """
for t in range(4):
    for i in range(8):
        with T.block("D"):
            vt, vi = T.axis.remap("SS", [t, i])
            D[vt + 1, vi] = D[vt, 7 - vi]
"""
    func = function(text)
    assert carried_dependence(loop(func, "i")) is None
    assert carried_dependence(loop(func, "t")) is not None


CONFLICTS = {
    "other elements": ("D[vi, vj] = A[vi, vj]", False),
    "its own element": ("D[vi, vj] = D[vi, vj] * T.float32(3)", False),
    "a neighbour": ("D[vi, vj] = D[7 - vi, vj]", True),
    "one element": ("D[vi, 0] = A[vi, vj]", True),
    "contributions": ("D[vi, 0] = D[vi, 0] + A[vi, vj]", False),
    "steps that do not commute": ("D[vi, 0] = D[vi, 0] * T.float32(3) + A[vi, vj]", True),
    "a scatter": ("D[I[vi], vj] = A[vi, vj]", True),
    "a scatter of contributions": ("D[I[vi], vj] = D[I[vi], vj] + A[vi, vj]", False),
    "contributions at an index that they change": ("I[I[vi]] = I[I[vi]] + 1", True),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_block_conflicts_with_itself_where_instances_share_what_one_writes(name: str, function, block) -> None:
    statement, expected = CONFLICTS[name]
    text = f"""
for i, j in T.grid(8, 8):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        {statement}
"""
    assert has_self_conflicts(block(function(text), "D")) is expected


def test_an_init_conflicts_with_the_contributions(function, block) -> None:
    assert has_self_conflicts(block(function(MATMUL), "D"))


def test_loops_around_have_the_values_of_their_ranges(function, loop) -> None:
    text = """
C = T.alloc_buffer((8,))
for t in range(2):
    for i in range(8):
        for j in range(t * 4 + 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vj] = A[vi, vj]
        for j in range(4):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vj]
"""
    assert carried_dependence(loop(function(text), "i")) is None


def test_sizes_that_become_known_on_the_way_do_not_matter(function, loop) -> None:
    func = function(OUTER_SIZE, "n: T.int32, D: T.Buffer((4096, 64), 'float32')")
    assert carried_dependence(loop(func, "j")) is None
    assert carried_dependence(loop(func, "k")) is None


@pytest.mark.parametrize(
    "condition",
    [
        "s < T.uint64(5)",
        "s < T.uint64(18446744073709551610)",
        "T.Cast('uint64', i) + s < T.uint64(9223372036854775809)",
        "T.Cast('int64', i) * T.int64(9223372036854775807) < T.int64(4)",
    ],
)
def test_numbers_beyond_64_bits_with_a_sign_are_numbers(condition: str) -> None:
    for statement, parallel in (("A[i + 1] = A[i]", False), ("A[i] = A[i] + 1.0", True)):
        mod = parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer((16,), "float32"), s: T.uint64):
    for i in range(8):
        if {condition}:
            {statement}
""")
        (loop,) = [op for op in mod.op.walk() if isinstance(op, ForOp)]
        assert (carried_dependence(loop) is None) == parallel
