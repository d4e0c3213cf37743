"""Kernels whose threads communicate compute what the oracle computes, without races, or are refused."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import build
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.oracle import run_oracle
from stepwell.core.errors import UndefinedBehaviorError, UnsupportedError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.execution import oracle_results, results
from stepwell.tools.testing.strategies import UNSHRUNK
from stepwell.tools.testing.thread_programs import check_lowering, mutate_threads, thread_program, thread_programs

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")


@UNSHRUNK
@given(program=thread_programs())
def test_kernels_compute_what_the_oracle_computes(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    try:
        expected = oracle_results(module, arguments)
        got = results(build(module, target="cuda-emulated"), arguments)
    except (UndefinedBehaviorError, UnsupportedError):
        return
    assert_same(got, expected, module.script())


KERNEL = """
@T.prim_func
def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    L = T.alloc_buffer((4,), "int32", scope="local")
    S = T.alloc_buffer((64,), "int32", scope="shared")
    Q = T.alloc_buffer((64,), "int32", scope="shared")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            S[tx] = A[tx]
"""
ALL = 'for tx in T.thread_binding(64, thread="threadIdx.x"):'

OUTSIDE = {
    "a result of all threads, read by each of them": f"""
{ALL}
    with T.block("sum"):
        vk = T.axis.reduce(64, tx)
        with T.init():
            L[0] = 0
        L[0] = L[0] + A[vk]
L[1] = L[0] + 1
{ALL}
    B[tx] = L[1]
""",
    "a condition read by all threads": """
Q[0] = 1
if Q[0] > 0:
    for tx in T.thread_binding(2, thread="threadIdx.x"):
        B[tx] = S[1 - tx]
""",
    "a condition that the branch changes": f"""
Q[0] = 1
if Q[0] > 0:
    {ALL}
        Q[tx] = S[63 - tx]
{ALL}
    B[tx] = Q[63 - tx]
""",
    "a bound that the loop changes": f"""
Q[0] = 3
for k in range(Q[0]):
    {ALL}
        Q[tx] = S[63 - tx] + k
{ALL}
    B[tx] = Q[63 - tx]
""",
    "a loop of statements of all threads and of the first": f"""
L[0] = 0
for k in range(4):
    L[0] = L[0] + S[k]
    S[0] = L[0]
{ALL}
    B[tx] = L[0] + S[tx]
""",
    "a loop of the first thread with a value": f"""
for k in range(4):
    x = S[0]
    S[0] = x + S[k]
{ALL}
    B[tx] = S[63 - tx]
""",
    "shared memory that only a loop uses": f"""
L[0] = 0
for k in range(64):
    Q[k] = A[k] + 1
    L[0] = L[0] + Q[k]
{ALL}
    B[tx] = L[0]
""",
    "a lazy conditional": f"""
for k in range(4):
    L[k] = T.if_then_else(k < 2, S[k], 0)
{ALL}
    B[tx] = L[tx % 4]
""",
    "memory of a pointer": f"""
P = T.decl_buffer((64,), "int32")
P[0] = S[9]
for tx in T.thread_binding(63, thread="threadIdx.x"):
    P[tx + 1] = A[tx]
{ALL}
    B[tx] = P[63 - tx]
""",
    "memory of each thread by a pointer": f"""
P = T.decl_buffer((4,), "int32", scope="local")
P[0] = S[9]
{ALL}
    B[tx] = P[0]
""",
    "a view of memory of each thread": f"""
V = T.decl_buffer((2, 2), "int32", data=L.data, scope="local")
V[1, 0] = S[9]
{ALL}
    B[tx] = L[2]
""",
    "a reduction into memory of a pointer": f"""
P = T.decl_buffer((4,), "int32", scope="shared")
{ALL}
    with T.block("sum"):
        vk = T.axis.reduce(64, tx)
        with T.init():
            P[0] = 0
        P[0] = P[0] + A[vk]
{ALL}
    B[tx] = P[0]
""",
    "shared memory in a branch of some threads": f"""
{ALL}
    if A[tx] > 2:
        S[tx] = A[tx] + 1
        B[tx] = S[tx]
""",
    "conditions, bounds and values that each thread stored in another loop": f"""
M = T.alloc_buffer((1,), "int32", scope="local")
{ALL}
    M[0] = A[tx]
{ALL}
    x = M[0]
    for k in range(M[0]):
        if M[0] > 3:
            B[tx] = B[tx] + x
""",
    "views without a scope": f"""
P = T.alloc_buffer((8, 8), "int32")
V = T.decl_buffer((64,), "int32", data=P.data)
{ALL}
    V[tx] = A[tx]
{ALL}
    B[tx] = P[7 - tx // 8, tx % 8]
""",
    "memory of a warp": f"""
W = T.alloc_buffer((64,), "int32", scope="warp")
W[0] = S[9]
{ALL}
    B[tx] = W[0]
""",
    "memory of threads that is only stored": f"""
{ALL}
    if A[tx] < 3:
        L[0] = A[tx]
""",
    "an atomic operation": f"""
{ALL}
    B[tx] = 0
T.evaluate(T.call_extern("int32", "atomicAdd", T.address_of(B[0]), 1))
{ALL}
    B[tx] = B[tx] + 1
""",
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_statements_outside_of_loops_over_threads(case: str) -> None:
    module = parse_tvmscript(KERNEL + indent(OUTSIDE[case], " " * 8))
    expected, got = ([np.arange(64, dtype=np.int32) % 7, np.zeros(64, np.int32)] for _ in range(2))
    run_oracle(module, "main", expected)
    build(module, target="cuda-emulated")(*got)
    np.testing.assert_array_equal(got[1], expected[1])


REFUSED = {
    'x: T.int32 = T.call_extern("int32", "atomicAdd", T.address_of(B[0]), 1)\nS[0] = x': (
        "has a value for each thread, and an effect that the first one alone may have"
    ),
    'L[0] = T.call_extern("int32", "atomicAdd", T.address_of(B[0]), 1)': (
        "has a value for each thread, and an effect that the first one alone may have"
    ),
    f"while S[0] < 9:\n    {ALL}\n        S[tx] = S[tx] + 1": "a while loop around loops over threads",
}


@pytest.mark.parametrize("body", REFUSED)
def test_statements_outside_of_loops_over_threads_that_are_refused(body: str) -> None:
    module = parse_tvmscript(KERNEL + indent(body, " " * 8))
    with pytest.raises(UnsupportedError, match=REFUSED[body]):
        build(module, target="cuda-emulated")


@UNSHRUNK
@given(st.data())
def test_changed_kernels_are_lowered_or_refused(data: st.DataObject) -> None:
    check_lowering(mutate_threads(data.draw, thread_program(data.draw)))


AXES = """
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    tx = T.env_thread("threadIdx.x")
    v = T.env_thread("{axis}")
    T.launch_thread(tx, 8)
    T.launch_thread(v, 2)
    A[tx * 2 + v] = A[tx * 2 + v] + T.float32(1)
"""


@pytest.mark.parametrize("axis", ["vthread", "vthread.y", "cthread"])
def test_launches_of_virtual_threads(axis: str) -> None:
    for target in ("python", "cuda-emulated"):
        a = np.zeros(16, np.float32)
        build(parse_tvmscript(AXES.format(axis=axis)), target=target)(a)
        assert a.tolist() == [1] * 16


@pytest.mark.parametrize("axis", ["threadIdx.w", "warp", ""])
def test_an_axis_that_no_gpu_has(axis: str) -> None:
    with pytest.raises(UnsupportedError, match=f"no thread axis '{axis}' on a GPU, expected one of blockIdx.x"):
        build(parse_tvmscript(AXES.format(axis=axis)), target="cuda-emulated")


def test_one_thread_axis_in_two_kernels() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    tx = T.env_thread("threadIdx.x")
    with T.launch_thread(tx, 8):
        A[tx] = T.float32(1)
    with T.launch_thread(tx, 4):
        B[tx] = A[tx]
    for k in range(2):
        T.launch_thread(tx, 2)
        B[tx] = B[tx] + T.float32(2)
"""
    a, b = np.zeros(8, np.float32), np.zeros(8, np.float32)
    build(parse_tvmscript(program), target="cuda-emulated")(a, b)
    assert (a.tolist(), b.tolist()) == ([1] * 8, [5, 5, 1, 1, 0, 0, 0, 0])


VIEWS = {
    "memory of a thread of two types": """
    V = T.decl_buffer((4,), "float32", data=L.data, scope="local")
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        V[0] = T.Cast("float32", A[tx])
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        B[tx] = L[0]
""",
    "a pointer to memory of each thread, of two types": """
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        p = T.allocate([4], "int32", "local")
        P = T.decl_buffer((4,), "int32", data=p, scope="local")
        V = T.decl_buffer((4,), "float32", data=p, scope="local")
        V[0] = T.float32(1)
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            B[tx] = P[0]
""",
    "a pointer to memory of each block, of two types": """
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        p = T.allocate([64], "int32", "global")
        P = T.decl_buffer((64,), "int32", data=p)
        V = T.decl_buffer((64,), "float32", data=p)
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            V[tx] = T.float32(1)
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            B[tx] = P[63 - tx]
""",
    "views outside of the kernel of shared memory": """
    S = T.alloc_buffer((64,), "int32", scope="shared")
    V = T.decl_buffer((64,), "float32", data=S.data, scope="shared")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            V[tx] = T.float32(1)
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            B[tx] = S[63 - tx]
""",
    "memory of each block of two types": """
    P = T.alloc_buffer((64,), "int32")
    V = T.decl_buffer((64,), "float32", data=P.data)
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            V[tx] = T.Cast("float32", A[bx * 32 + tx])
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            B[bx * 32 + tx] = P[31 - tx]
""",
}


@pytest.mark.parametrize("case", VIEWS)
def test_views_of_another_type_are_refused(case: str) -> None:
    signature = 'def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):\n'
    local = '    L = T.alloc_buffer((4,), "int32", scope="local")\n'
    with pytest.raises(UnsupportedError):
        build(parse_tvmscript(f"@T.prim_func\n{signature}{local}{VIEWS[case]}"), target="cuda-emulated")


def test_a_statement_beside_threads_of_another_axis_runs_once() -> None:
    """The branch differs between threads of y, so that it is one statement; in it, x has threads in one part only."""
    module = parse_tvmscript("""
@T.prim_func
def main(A: T.Buffer((2, 64), "int32"), B: T.Buffer((2, 64), "int32")):
    S = T.alloc_buffer((64,), "int32", scope="shared")
    Q = T.alloc_buffer((64,), "int32", scope="shared")
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for i in range(64):
            S[i] = A[bx, i]
        for ty in T.thread_binding(3, thread="threadIdx.y"):
            if ty % 2 < 1:
                for tx in T.thread_binding(2, thread="threadIdx.x"):
                    Q[tx + ty * 2] = A[bx, ty + 19]
                S[ty * 2] = S[ty * 2] + 1
        for i in range(5):
            B[bx, i] = S[i] + Q[1]
""")
    rng = np.random.default_rng(0)
    arguments = {name: rng.integers(0, 9, (2, 64)).astype("int32") for name in "AB"}
    got = results(build(module, target="cuda-emulated"), arguments)
    assert_same(got, oracle_results(module, arguments))
