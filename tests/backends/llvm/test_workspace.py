"""Workspaces: memory of functions that a module keeps between calls."""

import gc
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.core.errors import ExecutionError

STATM = Path("/proc/self/statm")

SUM_OF_ROWS = """
@T.prim_func
def rows(A: T.Buffer((64, 128), "float32"), B: T.Buffer((64, 128), "float32")):
    C = T.alloc_buffer((64, 128), "float32")
    D = T.alloc_buffer((64, 128), "float32")
    for i, j in T.grid(64, 128):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(64, 128):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[63 - vi, vj]
    for i, j in T.grid(64, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj] + D[vi, 127 - vj]
"""


def expected(a: np.ndarray) -> np.ndarray:
    c = a + np.float32(1)
    return c + c[::-1, ::-1]


def test_functions_with_workspaces_run_in_several_threads() -> None:
    rows = stepwell.build(stepwell.parse_tvmscript(SUM_OF_ROWS))["rows"]
    wrong: list[int] = []

    def work(seed: int) -> None:
        a = np.random.default_rng(seed).random((64, 128), "float32")
        b = np.zeros_like(a)
        for _ in range(200):
            rows(a, b)
            if not np.array_equal(b, expected(a)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


CALLS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def small(A: T.Buffer((8192,), "float32"), B: T.Buffer((8192,), "float32")):
        C = T.alloc_buffer((8192,), "float32")
        for i in range(8192):
            C[i] = A[i] * T.float32(2)
        for i in range(8192):
            B[i] = C[8191 - i]

    @T.prim_func
    def main(A: T.Buffer((8192,), "float32"), B: T.Buffer((8192,), "float32")):
        D = T.alloc_buffer((16384,), "float32")
        for i in range(8192):
            D[i * 2] = A[i]
        for k in range(3):
            Module.small(A, B)
        for i in range(8192):
            B[i] = B[i] + D[i * 2]
"""


def test_a_function_with_a_workspace_calls_another() -> None:
    main = stepwell.build(stepwell.parse_tvmscript(CALLS))["main"]
    a = np.random.default_rng(0).random(8192, "float32")
    for _ in range(3):
        b = np.zeros_like(a)
        main(a, b)
        np.testing.assert_array_equal(b, 2 * a[::-1] + a)


LARGE = """
@T.prim_func
def main(A: T.Buffer((1,), "int8"), n: T.int64):
    B = T.alloc_buffer(({size},), "int8")
    for i in range(n):
        B[i] = T.int8(1)
    A[0] = B[n - T.int64(1)]
"""


@pytest.mark.skipif(not STATM.exists(), reason="no /proc")
def test_the_workspace_is_freed_with_the_program() -> None:
    size = 1 << 27
    program = stepwell.build(stepwell.parse_tvmscript(LARGE.format(size=size)))
    before = resident_bytes()
    program["main"](np.zeros(1, "int8"), size)
    assert resident_bytes() - before > size // 2
    del program
    gc.collect()
    assert resident_bytes() - before < size // 2


@pytest.mark.skipif(not STATM.exists(), reason="no /proc")
def test_memory_of_dynamic_size_is_kept_between_calls() -> None:
    size = 1 << 25
    main = stepwell.build(stepwell.parse_tvmscript(DYNAMIC))["main"]
    for count in (size, size // 2, 3, size):  # smaller memory is a part of the kept block
        a = np.arange(count, dtype="float32")
        main(a)
        np.testing.assert_array_equal(a, np.arange(count, dtype="float32")[::-1])
    del a
    before = resident_bytes()
    del main
    gc.collect()
    assert before - resident_bytes() > 2 * size


def resident_bytes() -> int:
    return int(STATM.read_text().split()[1]) * 4096


def test_a_workspace_that_the_system_does_not_give_is_an_error_of_the_call() -> None:
    main = stepwell.build(stepwell.parse_tvmscript(LARGE.format(size=f"T.int64({1 << 61})")))["main"]
    with pytest.raises(ExecutionError, match="out of memory"):
        main(np.zeros(1, "int8"), 1)


# Huge pages

DYNAMIC = """
@T.prim_func
def main(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.alloc_buffer((n,), "float32")
    for i in range(n):
        B[i] = A[i]
    for i in range(n):
        A[i] = B[n - 1 - i]
"""
SYSTEM = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.skipif(sys.platform != "linux", reason="pages of Linux")
def test_large_memory_asks_for_huge_pages() -> None:
    dynamic = stepwell.build(stepwell.parse_tvmscript(DYNAMIC))
    assert "@madvise" in dynamic.source("llvm")
    small = stepwell.build(stepwell.parse_tvmscript(DYNAMIC.replace("    n = T.int64()\n", "    n = 8\n")))
    assert "@madvise" not in small.source("llvm")
    for size in (0, 1, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_000_001):
        a = np.arange(size, dtype="float32")
        dynamic["main"](a)
        np.testing.assert_array_equal(a, np.arange(size, dtype="float32")[::-1])


@pytest.mark.skipif(not SYSTEM.exists() or "never]" in SYSTEM.read_text(), reason="no huge pages")
def test_a_large_workspace_consists_of_huge_pages() -> None:
    sizes = []
    for size in (1 << 20, 1 << 26):
        main = stepwell.build(stepwell.parse_tvmscript(LARGE.format(size=size)))["main"]
        before = advised_bytes()
        main(np.zeros(1, "int8"), size)
        sizes.append(advised_bytes() - before)
    assert sizes[0] == 0
    assert 1 << 25 < sizes[1] <= 1 << 26


def advised_bytes() -> int:
    """The bytes of the mappings of this process for which huge pages are asked."""
    total = size = 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == "Size":
            size = int(rest.split()[0]) * 1024
        elif name == "VmFlags" and "hg" in rest.split():
            total += size
    return total
