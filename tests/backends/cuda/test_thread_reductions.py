"""Reductions across threads in emulated CUDA kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from stepwell import Schedule, UnsupportedError, build
from stepwell.backends.cuda.build import cuda_source
from stepwell.backends.cuda.emulation import compiler
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.execution import oracle_results, results
from stepwell.tools.testing.strategies import UNSHRUNK
from stepwell.tools.testing.thread_reductions import thread_reductions

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")


@UNSHRUNK
@given(program=thread_reductions())
def test_kernels_compute_exactly_what_the_oracle_computes(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    got = results(build(module, target="cuda-emulated"), arguments)
    assert_same(got, oracle_results(module, arguments), module.script())


SOFTMAX = """
@T.prim_func
def main(A: T.Buffer((6, 40), "float32"), B: T.Buffer((6, 40), "float32")):
    T.func_attr({"tir.noalias": True})
    M = T.alloc_buffer((6,), "float32")
    E = T.alloc_buffer((6, 40), "float32")
    S = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 40):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid(6, 40):
        with T.block("E"):
            vi, vk = T.axis.remap("SS", [i, k])
            E[vi, vk] = T.exp(A[vi, vk] - M[vi])
    for i, k in T.grid(6, 40):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, k in T.grid(6, 40):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = E[vi, vk] / S[vi]
"""


@pytest.mark.parametrize(
    ("threads", "rows", "scope"),
    [(8, 1, "shared"), (64, 1, None), (8, 3, "shared"), (32, 4, "shared"), (5, 4, "shared")],
)
def test_a_softmax_in_one_kernel(threads: int, rows: int, scope: str | None) -> None:
    """rows: the number of rows of a thread block.  scope: the memory scope of the intermediate buffers; None
    without."""
    sch = Schedule(parse_tvmscript(SOFTMAX))
    row, _ = sch.get_loops(sch.get_block("B"))
    block, thread = sch.split(row, [None, rows])
    sch.bind(block, "blockIdx.x")
    if rows > 1:
        sch.bind(thread, "threadIdx.y")
    for name in ("S", "E", "M"):
        sch.compute_at(sch.get_block(name), thread)
        if scope is not None:
            sch.set_scope(sch.get_block(name), 0, scope)
    for name in ("M", "E", "S", "B"):
        sch.bind(sch.split(sch.get_loops(sch.get_block(name))[-1], [None, threads])[1], "threadIdx.x")
    a = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)
    expected = np.exp(a - a.max(1, keepdims=True))
    for target in ("python", "cuda-emulated"):
        b = np.zeros_like(a)
        lib = build(sch.mod, target=target)
        lib(a, b)
        np.testing.assert_allclose(b, expected / expected.sum(1, keepdims=True), rtol=1e-5)


def test_memory_of_no_scope_in_a_kernel_is_one_for_its_threads() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
    C = T.alloc_buffer((4, 8), "int32")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            C[i, j] = A[i, j] + 1
        for j in T.thread_binding(8, thread="threadIdx.x"):
            B[i, j] = C[i, 7 - j]
"""
    a, b = np.arange(32, dtype=np.int32).reshape(4, 8), np.zeros((4, 8), np.int32)
    lib = build(parse_tvmscript(program), target="cuda-emulated")
    lib(a, b)
    np.testing.assert_array_equal(b, a[:, ::-1] + 1)
    assert "__shared__ __align__(16) int C[8];" in lib.source("cuda")


def test_threads_wait_for_what_each_of_them_keeps() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((4, 64), "int32"), B: T.Buffer((4, 64), "int32")):
    S = T.alloc_buffer((4, 64), "int32", scope="shared")
    C = T.alloc_buffer((1,), "int32", scope="local")
    for i in T.thread_binding(4, thread="threadIdx.y"):
        for j in T.thread_binding(64, thread="threadIdx.x"):
            S[i, j] = A[i, j]
        C[0] = S[i, 0]
        for j in T.thread_binding(64, thread="threadIdx.x"):
            B[i, j] = C[0]
"""
    a, b = np.arange(256, dtype=np.int32).reshape(4, 64), np.zeros((4, 64), np.int32)
    build(parse_tvmscript(program), target="cuda-emulated")(a, b)
    np.testing.assert_array_equal(b, np.tile(a[:, :1], (1, 64)))


def test_a_warp_waits_for_itself_and_a_block_for_all() -> None:
    sch = Schedule(parse_tvmscript(SOFTMAX))
    for name in ("M", "E", "S", "B"):
        row, k = sch.get_loops(sch.get_block(name))
        sch.bind(row, "blockIdx.x")
        sch.bind(sch.split(k, [None, 64])[1], "threadIdx.x")
    source = cuda_source(sch.mod)
    # Two reductions by two warps each share one barrier for the partial results of the warps.
    counts = [source.count(text) for text in ("__syncthreads();", "__syncwarp();", "__shfl_down_sync")]
    assert counts == [2, 0, 2 * (5 + 1)]


def test_threads_that_are_no_neighbours_reduce_in_shared_memory() -> None:
    """The threads of a result are 3 lanes apart, and extend into the next warp."""
    program = """
@T.prim_func
def main(A: T.Buffer((3, 16), "int32"), B: T.Buffer((3,), "int32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(3, thread="threadIdx.x"):
            for k in T.thread_binding(16, thread="threadIdx.y"):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = 0
                    B[vi] = B[vi] + A[vi, vk]
"""
    a, b = np.arange(48, dtype=np.int32).reshape(3, 16), np.zeros(3, np.int32)
    lib = build(parse_tvmscript(program), target="cuda-emulated")
    lib(a, b)
    np.testing.assert_array_equal(b, a.sum(1))
    source = lib.source("cuda")
    assert "__shfl" not in source
    assert source.count("__syncwarp();") + source.count("__syncthreads();") == 4


WARPS = """
@T.prim_func
def main(A: T.Buffer((2, 4, 16), "int32"), B: T.Buffer((2, 4, 16), "int32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        {outside}
        for y in T.thread_binding(4, thread="threadIdx.y"):
            {between}
            for x in T.thread_binding(16, thread="threadIdx.x"):
                W[x] = A[b, y, x]
            for x in T.thread_binding(16, thread="threadIdx.x"):
                B[b, y, x] = W[15 - x]
"""


@pytest.mark.parametrize("place", ["outside", "between"])
def test_memory_of_a_warp_is_one_for_a_row_of_threads(place: str) -> None:
    places = {"outside": "", "between": "", place: 'W = T.alloc_buffer((16,), "int32", scope="warp")'}
    module = parse_tvmscript(WARPS.format(**places))
    a = np.arange(128, dtype=np.int32).reshape(2, 4, 16)
    for target in ("python", "cuda-emulated"):
        b = np.zeros_like(a)
        lib = build(module, target=target)
        lib(a, b)
        np.testing.assert_array_equal(b, a[:, :, ::-1])
    source = lib.source("cuda")
    assert "__shared__ __align__(16) int W[64];" in source
    assert (source.count("__syncwarp();"), source.count("__syncthreads();")) == (1, 0)


def test_memory_of_a_warp_is_only_loaded_and_stored() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((16,), "int32")):
    W = T.alloc_buffer((16,), "int32", scope="warp")
    for x in T.thread_binding(16, thread="threadIdx.x"):
        V = T.decl_buffer((16,), "float32", data=W.data, scope="warp")
        V[x] = T.Cast("float32", A[x])
        A[x] = T.Cast("int32", V[15 - x])
"""
    with pytest.raises(UnsupportedError, match="memory of a warp is only loaded and stored"):
        build(parse_tvmscript(program), target="cuda-emulated")
