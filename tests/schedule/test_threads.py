"""Cooperation of the threads of a block: loops bound to the thread axis of an enclosing loop."""

from __future__ import annotations

import numpy as np
import pytest

from stepwell import Schedule, build
from stepwell.core.errors import ScheduleError, UndefinedBehaviorError
from stepwell.frontends.tvmscript import parse_tvmscript

MATMUL = """
@T.prim_func
def main(A: T.Buffer((16, 12), "float32"), B: T.Buffer((12, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j, k in T.grid(16, 16, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def tiled() -> tuple[Schedule, list[object]]:
    """A matrix product whose thread blocks have copies of their inputs in shared memory, not yet divided among threads.

    Returns the schedule, and the loops of each copy.
    """
    sch = Schedule(parse_tvmscript(MATMUL))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    by, ty, iy = sch.split(i, [2, 4, 2])
    bx, tx, jx = sch.split(j, [2, 4, 2])
    ko, ki = sch.split(k, [3, 4])
    sch.reorder(by, bx, ty, tx, ko, ki, iy, jx)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        sch.bind(loop, axis)
    local = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(local, tx)
    copies: list[object] = []
    for n in (0, 1):
        shared = sch.cache_read(block, n, "shared")
        sch.compute_at(shared, ko)
        fused = sch.fuse(*sch.get_loops(shared)[-2:])
        copies.append(sch.split(fused, [None, 4, 4]))
    sch.decompose_reduction(block, ko)
    return sch, copies


def check(sch: Schedule) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 12), np.float32), rng.random((12, 16), np.float32)
    c = np.zeros((16, 16), np.float32)
    build(sch.mod, target="python")(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_threads_copy_together_what_all_of_them_read() -> None:
    sch, copies = tiled()
    check(sch)  # each thread copies everything
    for _, y, x in copies:  # pyright: ignore[reportGeneralTypeIssues]
        sch.bind(y, "threadIdx.y")
        check(sch)
        sch.bind(x, "threadIdx.x")
        check(sch)
    sch.vectorize(sch.get_loops(sch.get_block("C_update"))[-1])
    check(sch)


def test_a_schedule_of_threads_replays() -> None:
    sch, copies = tiled()
    for _, y, x in copies:  # pyright: ignore[reportGeneralTypeIssues]
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    again = Schedule(parse_tvmscript(MATMUL))
    sch.trace.apply_to_schedule(again)
    assert again.mod.script() == sch.mod.script()


def test_memory_of_a_thread_is_not_divided_among_threads() -> None:
    sch, _ = tiled()
    loops = sch.get_loops(sch.get_block("C_local"))
    with pytest.raises(ScheduleError, match=r"bound to threadIdx\.x already with extent 4"):
        sch.bind(loops[-1], "threadIdx.x")


SPREAD = """
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for i in range(4):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1
"""


def test_two_loops_over_one_axis_that_would_run_the_diagonal_alone_are_refused() -> None:
    sch = Schedule(parse_tvmscript(SPREAD))
    i, j = sch.get_loops(sch.get_block("B"))
    sch.bind(i, "threadIdx.x")
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match=r"B\[0, 1\] is left at the end"):
        sch.bind(j, "threadIdx.x")
    assert sch.mod.script() == before


LOCAL = """
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    L = T.alloc_buffer((4,), "int32", scope="{scope}")
    for i in T.thread_binding(4, thread="threadIdx.x"):
        for j in range(4):
            with T.block("L"):
                vj = T.axis.spatial(4, j)
                L[vj] = A[vj, vj]
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = L[vj]
"""


def test_a_copy_for_all_threads_is_divided_and_one_for_each_is_not() -> None:
    for scope in ("shared", "local"):
        sch = Schedule(parse_tvmscript(LOCAL.format(scope=scope)))
        loop = sch.get_loops(sch.get_block("L"))[1]
        if scope == "local":
            with pytest.raises(ScheduleError, match=r"L\[1\] is read by block B at \(vi=0, vj=1\)"):
                sch.bind(loop, "threadIdx.x")
        else:
            sch.bind(loop, "threadIdx.x")
        a, b = np.arange(16, dtype=np.int32).reshape(4, 4), np.zeros((4, 4), np.int32)
        build(sch.mod, target="python")(a, b)
        np.testing.assert_array_equal(b, np.tile(np.diag(a), (4, 1)))


REDUCED = """
@T.prim_func
def main(A: T.Buffer((2, 5), "int32"), C: T.Buffer((2, 5), "int32")):
    B = T.alloc_buffer((2, 5), "int32", scope="local")
    for i, j, k in T.grid(2, 5, 3):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = 0
            B[vi, vj] = B[vi, vj] + A[vi, vj] * vk
    for i, j in T.grid(2, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1
"""


def test_memory_that_threads_reduce_to_together_does_not_become_memory_of_each() -> None:
    for axis in ("threadIdx.x", "threadIdx.y"):
        sch = Schedule(parse_tvmscript(REDUCED))
        sch.bind(sch.get_loops(sch.get_block("B"))[2], "threadIdx.x")
        user = sch.get_loops(sch.get_block("C"))[1]
        if axis == "threadIdx.x":
            with pytest.raises(ScheduleError, match=r"B\[0, 1\] is read by block C"):
                sch.bind(user, axis)
        else:
            sch.bind(user, axis)
        a, c = np.arange(10, dtype=np.int32).reshape(2, 5), np.zeros((2, 5), np.int32)
        build(sch.mod, target="python")(a, c)
        np.testing.assert_array_equal(c, a * 3 + 1)


RACE = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    S = T.alloc_buffer((8,), "int32", scope="shared")
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        S[tx] = A[tx]
        {between}
        {read}
"""


def test_the_oracle_lets_threads_read_what_others_wrote_before() -> None:
    program = RACE.format(between="T.evaluate(T.tvm_storage_sync('shared'))", read="B[tx] = S[7 - tx]")
    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    build(parse_tvmscript(program), target="python")(a, b)
    np.testing.assert_array_equal(b, a[::-1])


def test_the_oracle_finds_what_threads_do_at_one_time() -> None:
    program = RACE.format(between="pass", read="S[tx] = S[(tx + 1) % 8]")
    with pytest.raises(UndefinedBehaviorError, match="race on S"):
        build(parse_tvmscript(program), target="python")(np.zeros(8, np.int32), np.zeros(8, np.int32))


def test_results_of_tiles_are_written_by_the_threads_that_compute_them() -> None:
    """The indices of fused loops bound to blocks are compared by their quotients and remainders."""

    sch = Schedule(parse_tvmscript(MATMUL.replace("16", "1024").replace("12", "1024")))
    i, j, k = sch.get_loops("C")
    (i, ii), (j, ji), (k, ki) = (sch.split(loop, factors=[None, 16]) for loop in (i, j, k))
    sch.reorder(i, j, k, ii, ji, ki)
    tile = sch.blockize(ii)
    i0, i1, i2 = sch.split(i, factors=[8, 4, 2])
    j0, j1, j2 = sch.split(j, factors=[8, 4, 2])
    sch.reorder(i0, j0, i1, j1, k, i2, j2)
    sch.bind(sch.fuse(i0, j0), "blockIdx.x")
    threads = sch.fuse(i1, j1)
    sch.bind(threads, "threadIdx.y")
    result = sch.cache_write(tile, 0, "local")
    sch.reverse_compute_at(result, threads)
    assert len(sch.get_loops(result)) == 4
