"""Schedules that no GPU can run: each is refused before a launch, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepwell import Schedule, build
from stepwell.core.errors import OptionError, ScheduleError, StepwellError, UnsupportedError
from stepwell.core.gpu import max_shared_bytes
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.transforms.pipelines import lower_launches


def message_of(run: Callable[[], Any], kind: type[StepwellError] = UnsupportedError) -> str:
    with pytest.raises(kind) as error:
        run()
    return str(error.value)


# Programs: thread blocks, threads and memory

LAUNCH = """
@T.prim_func
def main(A: T.Buffer(({blocks} * {threads},), "float32")):
    for i in T.thread_binding({blocks}, thread="{block}"):
        for j in T.thread_binding({threads}, thread="{thread}"):
            A[i * {threads} + j] = T.float32(0)
"""


@pytest.mark.parametrize(
    ("block", "blocks", "thread", "threads", "reason"),
    [
        ("blockIdx.x", 1, "threadIdx.x", 1025, '1025 threads of threadIdx.x ("j"), expected at most 1024'),
        ("blockIdx.x", 1, "threadIdx.y", 1025, '1025 threads of threadIdx.y ("j"), expected at most 1024'),
        ("blockIdx.x", 1, "threadIdx.z", 65, '65 threads of threadIdx.z ("j"), expected at most 64'),
        ("blockIdx.y", 65536, "threadIdx.x", 32, '65536 blocks of blockIdx.y ("i"), expected at most 65535'),
        ("blockIdx.z", 65536, "threadIdx.x", 32, '65536 blocks of blockIdx.z ("i"), expected at most 65535'),
        ("threadIdx.y", 33, "threadIdx.x", 32, "33 * 32 = 1056 threads in a block, expected at most 1024"),
    ],
)
def test_more_blocks_or_threads_than_there_can_be(
    block: str, blocks: int, thread: str, threads: int, reason: str
) -> None:
    program = LAUNCH.format(block=block, blocks=blocks, thread=thread, threads=threads)
    message = message_of(lambda: build(parse_tvmscript(program), target="cuda-emulated"))
    assert f"error: {reason}" in message


MEMORY = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, {size}), "float32")
    B = T.match_buffer(b, (n, {size}), "float32")
    for i in T.thread_binding(n, thread="blockIdx.x"):
        S = T.alloc_buffer(({size},), "float32", scope="{scope}")
        for j in T.thread_binding(32, thread="threadIdx.x"):
            for k in range({size} // 32):
                S[k * 32 + j] = A[i, k * 32 + j]
        for j in T.thread_binding(32, thread="threadIdx.x"):
            for k in range({size} // 32):
                B[i, k * 32 + j] = S[k * 32 + (31 - j)]
"""


@pytest.mark.parametrize(
    ("scope", "size", "arch", "reason"),
    [
        ("shared", 12320, "sm_90", "49280 bytes (S: 49280) of scope shared, expected at most 49152"),
        ("shared.dyn", 41760, "sm_80", "167040 bytes (S: 167040) of shared memory, expected at most 166912 on sm_80"),
        ("shared.dyn", 58144, "sm_90a", "232576 bytes (S: 232576) of shared memory, expected at most 232448 on sm_90a"),
    ],
)
def test_more_shared_memory_than_there_is(scope: str, size: int, arch: str, reason: str) -> None:
    program = MEMORY.format(scope=scope, size=size)
    assert reason in message_of(lambda: lower_launches(parse_tvmscript(program), arch=arch))


def test_the_architecture_of_a_target_says_how_much_there_is() -> None:
    module = parse_tvmscript(MEMORY.format(scope="shared.dyn", size=41760))
    message = message_of(lambda: build(module, target="cuda -arch=sm_80"))
    assert "167040 bytes (S: 167040) of shared memory, expected at most 166912 on sm_80" in message


def test_an_architecture_that_is_not_known() -> None:
    module = parse_tvmscript(MEMORY.format(scope="shared", size=32))
    message = message_of(lambda: lower_launches(module, arch="sm_91"), OptionError)
    assert message.startswith("arch 'sm_91', did you mean 'sm_90'?: expected one of sm_50, sm_52,")
    assert max_shared_bytes("sm_90a") == max_shared_bytes("compute_90") == 227 * 1024


BODIES = {
    "threads of a number that depends on the block": (
        """
    for i in T.thread_binding(n, thread="blockIdx.x"):
        for j in T.thread_binding(i + 1, thread="threadIdx.x"):
            A[j] = T.float32(0)
""",
        "the kernel computes the bounds of j, bound to threadIdx.x",
    ),
    "one axis of threads with two extents, one of them not known": (
        """
    for i in T.thread_binding(n, thread="blockIdx.x"):
        for j in T.thread_binding(1, thread="threadIdx.x"):
            A[i] = T.float32(0)
        for j in T.thread_binding(n, thread="threadIdx.x"):
            B[i] = T.float32(0)
""",
        "loop j is bound to threadIdx.x as another one is, whose extent is not known to be the same",
    ),
    "threads that the kernel counts": (
        """
    for i in T.thread_binding(n, thread="blockIdx.x"):
        for j in T.thread_binding(i + 1, thread="threadIdx.x"):
            A[i] = B[i]
""",
        "the kernel computes the bounds of j, bound to threadIdx.x",
    ),
    "a barrier that some threads do not come to": (
        """
    for i in T.thread_binding(32, thread="threadIdx.x"):
        if i < 7:
            A[i] = B[i]
            T.evaluate(T.tvm_storage_sync("shared"))
""",
        "threads wait for each other where not all of them come",
    ),
    "the host stores": (
        """
    A[0] = T.float32(0)
    for i in T.thread_binding(32, thread="threadIdx.x"):
        B[i] = A[i]
""",
        "an element is stored outside of loops bound to blockIdx or threadIdx, by the host",
    ),
    "the host loads a vector": (
        """
    for i in T.vectorized(4):
        B[i] = A[i]
    for j in T.thread_binding(32, thread="threadIdx.x"):
        B[j] = A[j]
""",
        "several elements are loaded outside of loops bound to blockIdx or threadIdx, by the host",
    ),
    "a store for all blocks": (
        """
    for j in T.thread_binding(32, thread="threadIdx.x"):
        A[j] = T.float32(0)
        for i in T.thread_binding(8, thread="blockIdx.x"):
            B[i * 32 + j] = T.float32(0)
""",
        "a store in a kernel with blockIdx.x is in no loop bound to it",
    ),
    "shared memory of two kernels": (
        """
    S = T.alloc_buffer((32,), "float32", scope="shared")
    for j in T.thread_binding(32, thread="threadIdx.x"):
        S[j] = A[j]
    for j in T.thread_binding(32, thread="threadIdx.x"):
        B[j] = S[j]
""",
        "S is used in several kernels, or outside, which do not see the same memory",
    ),
    "shared memory of a size that is not known": (
        """
    S = T.alloc_buffer((n,), "float32", scope="shared")
    for j in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(n):
            S[k] = A[k]
        B[j] = S[31 - j]
""",
        "the size of S, in shared memory, is not known",
    ),
    "threads that add to one element": (
        """
    for j in T.thread_binding(32, thread="threadIdx.x"):
        A[0] = A[0] + B[j]
""",
        "a thread reads or adds to a what another one writes in one statement",
    ),
    "a view of memory of a warp": (
        """
    S = T.alloc_buffer((32,), "float32", scope="warp")
    V = T.decl_buffer((32,), "int32", data=S.data, scope="warp")
    for i in T.thread_binding(2, thread="threadIdx.y"):
        for j in T.thread_binding(32, thread="threadIdx.x"):
            S[j] = A[j]
            B[j] = V[j]
""",
        "memory of a warp is only loaded and stored, which is not so of S",
    ),
}


@pytest.mark.parametrize("case", BODIES)
def test_programs_that_are_no_kernels(case: str) -> None:
    body, reason = BODIES[case]
    program = f"""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32"){body}"""
    assert reason in message_of(lambda: build(parse_tvmscript(program), target="cuda-emulated"))


# Schedules

SUM = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 64):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""


def reduce_over_blocks(sch: Schedule, i: Any, k: Any) -> None:
    sch.bind(k, "blockIdx.x")


def bind_twice(sch: Schedule, i: Any, k: Any) -> None:
    sch.bind(i, "threadIdx.x")
    sch.bind(k, "threadIdx.x")


def bind_blocks_twice(sch: Schedule, i: Any, k: Any) -> None:
    outer, inner = sch.split(i, [8, 8])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "blockIdx.x")


def give_an_axis_two_extents(sch: Schedule, i: Any, k: Any) -> None:
    copy = sch.cache_write(sch.get_block("B"), 0, "shared")
    outer, inner = sch.split(i, [8, 8])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    sch.reverse_compute_at(copy, outer)
    one, _ = sch.split(sch.get_loops(copy)[-1], [4, 2])
    sch.bind(one, "threadIdx.x")


def bind_a_bound_loop(sch: Schedule, i: Any, k: Any) -> None:
    sch.bind(i, "threadIdx.x")
    sch.split(i, [8, 8])


def bind_to_no_axis(sch: Schedule, i: Any, k: Any) -> None:
    sch.bind(i, "threadIdx.w")


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        (reduce_over_blocks, "blocks reduce together by rfactor"),
        (bind_twice, "B[1] is accumulated into by block B at (vi=1, vk=1), but block B at (vi=1) no longer runs"),
        (bind_blocks_twice, "is bound to blockIdx.x already"),
        (give_an_axis_two_extents, "is bound to threadIdx.x already with extent 8"),
        (bind_a_bound_loop, "is bound to threadIdx.x; split it before binding"),
        (bind_to_no_axis, "no thread axis 'threadIdx.w'"),
    ],
)
def test_schedules_that_cannot_be(schedule: Callable[[Schedule, Any, Any], None], reason: str) -> None:
    sch = Schedule(parse_tvmscript(SUM))
    i, k = sch.get_loops(sch.get_block("B"))
    assert reason in message_of(lambda: schedule(sch, i, k), ScheduleError)


def test_what_is_nearly_too_much_runs() -> None:
    program = LAUNCH.format(block="threadIdx.y", blocks=32, thread="threadIdx.x", threads=32)
    a = np.ones(1024, np.float32)
    build(parse_tvmscript(program), target="cuda-emulated")(a)
    assert not a.any()
