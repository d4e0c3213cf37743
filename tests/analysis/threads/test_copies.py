"""Threads divide the iterations of a loop of copies among themselves."""

import numpy as np
import pytest

from stepwell import Schedule, ScheduleError, build, parse_tvmscript
from stepwell.analysis.threads.copies import divides_copies
from stepwell.backends.cuda.emulation import compiler
from stepwell.dialects.tir import ForOp

COPY = """
@T.prim_func
def main(A: T.Buffer((4, 5, 9), "float32"), B: T.Buffer((4, 7), "float32")):
    S = T.alloc_buffer((4, 5, 9), scope="shared")
    for o in range(4):
        for tx in T.thread_binding(7, thread="threadIdx.x"):
            for k in range(7):
                for j in range(7):
                    with T.block("S"):
                        v0 = T.axis.spatial(4, {o})
                        v1 = T.axis.spatial(5, (k * 7 + j) // 9)
                        v2 = T.axis.spatial(9, (k * 7 + j) % 9)
                        T.where({where})
                        S[v0, v1, v2] = {value}
            with T.block("B"):
                v0, vx = T.axis.remap("SS", [o, tx])
                B[v0, vx] = S[v0, vx % 5, vx] + S[v0, 4, 8 - vx]
"""
WHERE, VALUE = "k * 7 + j < 45", "T.if_then_else(v2 >= 1, A[v0, v1, v2 - 1], T.float32(0))"


def _schedule(o: str = "o", where: str = WHERE, value: str = VALUE) -> Schedule:
    return Schedule(parse_tvmscript(COPY.format(o=o, where=where, value=value)))


def _loop(sch: Schedule, index: int) -> ForOp:
    loop = sch.get(sch.get_loops(sch.get_block("S"))[index])
    assert isinstance(loop, ForOp)
    return loop


@pytest.mark.skipif(compiler() is None, reason="g++ is not installed, which the emulation of CUDA needs")
@pytest.mark.parametrize("index", [2, 3])
def test_a_copy_by_digits_is_divided_among_threads(index: int) -> None:
    sch = _schedule()
    assert divides_copies(_loop(sch, index), "threadIdx.x")
    sch.bind(sch.get_loops(sch.get_block("S"))[index], "threadIdx.x")
    a, b = np.random.default_rng(0).random((4, 5, 9), np.float32), np.zeros((4, 7), np.float32)
    expected = b.copy()
    build(sch.mod, "cuda-emulated")(a, b)
    build(_schedule().mod, "python")["main"](a, expected)
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize(
    ("changes", "index"),
    [
        ({"o": "(o + tx) % 4"}, 2),  # another element for each thread
        ({"where": f"{WHERE} and k != tx"}, 2),  # other iterations of each thread
        ({"value": "T.cast(k, 'float32')"}, 2),  # another value for each iteration, of equal elements if they overlap
        ({"value": "A[v0, v1, v2] + B[v0, 0]"}, 2),  # memory that the kernel writes
    ],
)
def test_other_loops_are_not_known_to_be_copies(changes: dict[str, str], index: int) -> None:
    assert not divides_copies(_loop(_schedule(**changes), index), "threadIdx.x")


def test_a_loop_without_an_enclosing_loop_of_its_axis_divides_nothing() -> None:
    assert not divides_copies(_loop(_schedule(), 2), "threadIdx.y")


def test_a_branch_of_some_threads_divides_nothing() -> None:
    head, tail = COPY.format(o="o", where=WHERE, value=VALUE).split("            for k in range(7):\n")
    copy, rest = tail.split('            with T.block("B")')
    lines = ["            if L[0] > T.float32(0):", "                for k in range(7):"]
    lines += [f"    {line}" for line in copy.splitlines()]
    memory = '    L = T.alloc_buffer((1,), scope="local")\n    for o in'
    text = "\n".join([head.rstrip().replace("    for o in", memory), *lines, f'            with T.block("B"){rest}'])
    assert not divides_copies(_loop(Schedule(parse_tvmscript(text)), 2), "threadIdx.x")


def test_iterations_that_each_thread_needs_are_not_divided() -> None:
    sch = _schedule(o="(o + tx) % 4")
    with pytest.raises(ScheduleError):
        sch.bind(sch.get_loops(sch.get_block("S"))[2], "threadIdx.x")
