"""Virtual threads: loops interleaved in one thread, and their memory."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from stepwell import build
from stepwell.backends.cuda.build import cuda_source
from stepwell.backends.cuda.emulation import compiler
from stepwell.frontends import tvm
from stepwell.frontends.tvm import te
from stepwell.frontends.tvmscript import parse_tvmscript

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")


@cache
def gemm(size: int = 32) -> Any:
    """A tiled matrix product with four virtual threads per thread, which load their inputs cooperatively."""
    a = te.placeholder((size, size), "float32", name="A")
    b = te.placeholder((size, size), "float32", name="B")
    k = te.reduce_axis((0, size), "k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    sch = tvm.tir.Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    i, j, kk = sch.get_loops(block)
    by, vy, ty, iy = sch.split(i, [None, 2, 4, 2])
    bx, vx, tx, jx = sch.split(j, [None, 2, 4, 2])
    ko, ki = sch.split(kk, [None, 8])
    sch.reorder(by, bx, vy, vx, ty, tx, ko, ki, iy, jx)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (vy, "vthread.y"), (vx, "vthread.x"),
                       (ty, "threadIdx.y"), (tx, "threadIdx.x")):  # fmt: skip
        sch.bind(loop, axis)
    sch.reverse_compute_at(sch.cache_write(block, 0, "local"), tx)
    for n in (0, 1):
        shared = sch.cache_read(block, n, "shared")
        sch.compute_at(shared, ko)
        fused = sch.fuse(*sch.get_loops(shared)[-2:])
        _, y, x = sch.split(fused, [None, 4, 4])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    sch.decompose_reduction(block, ko)
    return sch.mod


@emulated
def test_a_matrix_product_with_virtual_threads() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.random((32, 32), np.float32) for _ in range(3))
    lib = build(gemm(), target="cuda-emulated")
    lib(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    expected = np.zeros_like(c)
    build(gemm(), target="python")(a, b, expected)
    np.testing.assert_array_equal(c, expected)


def test_virtual_threads_are_interleaved() -> None:
    """The kernel has one loop over steps, loads the inputs once, and has a statement for each of the four virtual
    threads."""
    source = cuda_source(gemm())
    assert source.count("for (int k = 0; k < 4; ++k)") == 1
    assert re.findall(r"__shared__.* (\w+\[\d+\]);", source) == ["A_shared[128]", "B_shared[128]"]
    assert re.findall(r" float (C_local\[\d+\]);", source) == ["C_local[16]"]
    inner = source[source.index("// C_update") : source.index("__sync", source.index("// C_update"))]
    assert inner.count("C_local[") == 2 * 4
    assert inner.count("for (") == 3
    assert "vthread" not in source


def both(text: str, *arrays: np.ndarray[Any, Any]) -> None:
    """Compares the emulated GPU with the oracle."""
    module = parse_tvmscript(text)
    ours, expected = ([a.copy() for a in arrays] for _ in range(2))
    build(module, target="cuda-emulated")(*ours)
    build(module, target="python")(*expected)
    for a, b in zip(ours, expected, strict=True):
        np.testing.assert_array_equal(a, b)


MEMORY = """
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32"), n: T.int32):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        S = T.alloc_buffer((8,), "int32", scope="shared")
        L = T.alloc_buffer((2,), "int32", scope="local")
        for v in T.thread_binding(4, thread="vthread.x"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                L[0] = 0
                L[1] = 5
                S[tx] = A[v, tx] * 2
                for k in range(n):
                    L[0] = L[0] + S[(tx + k) % 8]
                if v % 2 == 0:
                    B[v, tx] = L[0] + L[1]
                else:
                    B[v, tx] = L[1] - L[0]
"""


@emulated
def test_each_virtual_thread_has_memory_of_its_own() -> None:
    """Virtual threads have separate memory, also in shared memory if they store different values."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 99, (4, 8), np.int32), np.zeros((4, 8), np.int32)
    module = parse_tvmscript(MEMORY)
    ours, expected = (b.copy() for _ in range(2))
    build(module, target="cuda-emulated")(a, ours, 3)
    build(module, target="python")(a, expected, 3)
    np.testing.assert_array_equal(ours, expected)
    source = cuda_source(module)
    assert "__shared__ __align__(16) int S[32];" in source
    assert source.count("= 5;") in (1, 4)


@emulated
def test_more_virtual_threads_than_are_written_out() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((40, 4), "int32"), B: T.Buffer((40, 4), "int32")):
    for v in T.thread_binding(40, thread="vthread.x"):
        for tx in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [v, tx])
                B[vi, vj] = A[vi, vj] + 1
"""
    a = np.arange(160, dtype=np.int32).reshape(40, 4)
    both(text, a, np.zeros_like(a))
    assert "for (int v = 0; v < 40; ++v)" in cuda_source(parse_tvmscript(text))


@emulated
@pytest.mark.parametrize("target", ["llvm", "cuda-emulated"])
def test_a_loop_inside_of_another_over_the_same_virtual_threads(target: str) -> None:
    outer = '    for tx in T.thread_binding(1, thread="threadIdx.x"):\n' if target != "llvm" else "    if True:\n"
    text = f"""
@T.prim_func
def main(A: T.Buffer((4, 4), "int32")):
{outer}        for i in T.thread_binding(4, thread="vthread.x"):
            for j in T.thread_binding(3, thread="vthread.x"):
                A[i, j] = 1
"""
    a = np.zeros((4, 4), np.int32)
    build(parse_tvmscript(text), target=target)(a)
    assert a.tolist() == np.diag([1, 1, 1, 0]).tolist()
