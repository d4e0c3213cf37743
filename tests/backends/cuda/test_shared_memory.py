"""Shared memory: dynamic, larger than the static limit, reused after the end of a lifetime, with padded rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepwell import Schedule, build
from stepwell.backends.cuda.build import cuda_source
from stepwell.backends.cuda.emulation import compiler
from stepwell.core.errors import UnsupportedError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.transforms.pipelines import lower_launches

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")


def both(module: Any, *arrays: np.ndarray[Any, Any]) -> None:
    """Compares the emulated GPU with the oracle."""
    ours, expected = ([a.copy() for a in arrays] for _ in range(2))
    build(module, target="cuda-emulated")(*ours)
    build(module, target="python")(*expected)
    for a, b in zip(ours, expected, strict=True):
        np.testing.assert_array_equal(a, b)


PHASES = """
@T.prim_func
def main(A: T.Buffer((2, 32, 256), "float32"), B: T.Buffer((2, 32, 256), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        S = T.alloc_buffer((32, 256), "float32", scope="shared.dyn")
        R = T.alloc_buffer((32, 256), "int16", scope="shared.dyn")
        Q = T.alloc_buffer((20, 256), "float64", scope="shared.dyn")
        F = T.alloc_buffer((256,), "float32", scope="shared")
        for tx in T.thread_binding(256, thread="threadIdx.x"):
            F[tx] = A[bx, 0, tx]
            for i in range(32):
                S[i, tx] = A[bx, i, tx]
            for i in range(32):
                R[i, tx] = T.Cast("int16", S[31 - i, 255 - tx])
            for i in range(20):
                Q[i, tx] = T.Cast("float64", R[i, (tx + 1) % 256]) / T.float64(2)
            for i in range(32):
                B[bx, i, tx] = T.Cast("float32", Q[i % 20, 255 - tx]) + F[255 - tx]
"""


@emulated
def test_dynamic_shared_memory_is_more_than_is_static_and_used_twice() -> None:
    module = parse_tvmscript(PHASES)
    a = np.random.default_rng(0).integers(0, 99, (2, 32, 256)).astype("f4")
    both(module, a, np.zeros_like(a))
    source = cuda_source(module)
    assert "extern __shared__ __align__(16) unsigned char shared_dyn[];" in source
    assert "float* const S = reinterpret_cast<float*>(shared_dyn);" in source
    assert (
        "short* const R = reinterpret_cast<short*>(&shared_dyn[40960]);" in source
    )  # after Q, which reuses the memory of S
    assert "double* const Q = reinterpret_cast<double*>(shared_dyn);" in source


def test_what_a_launch_gives_is_checked_with_what_is_static() -> None:
    expected = r"58368 bytes \(F: 1024, Q: 40960, S: 32768, R: 16384\) of shared memory, expected at most 49152"
    with pytest.raises(UnsupportedError, match=expected):
        lower_launches(parse_tvmscript(PHASES), arch="sm_50")


TRANSPOSE = """
@T.prim_func
def main(A: T.Buffer((4, 32, 32), "float32"), B: T.Buffer((4, 32, 32), "float32")):
    for b in range(4):
        with T.block("tile"):
            vb = T.axis.spatial(4, b)
            S = T.alloc_buffer((32, 32), "float32", scope="shared")
            for i, j in T.grid(32, 32):
                with T.block("S"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    S[vi, vj] = A[vb, vi, vj] * T.float32(2)
            for i, j in T.grid(32, 32):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vb, vi, vj] = S[vj, vi]
"""


def transpose(scope: str, *alignment: int) -> Any:
    sch = Schedule(parse_tvmscript(TRANSPOSE))
    sch.bind(sch.get_loops(sch.get_block("tile"))[0], "blockIdx.x")
    for name in ("S", "B"):
        sch.bind(sch.get_loops(sch.get_block(name))[-1], "threadIdx.x")
    if scope != "shared":
        sch.set_scope("S", 0, scope)
    sch.storage_align("S", 0, *alignment)
    return sch.mod


@emulated
@pytest.mark.parametrize("scope", ["shared", "shared.dyn"])
def test_rows_of_shared_memory_are_longer_if_asked_for(scope: str) -> None:
    module = transpose(scope, 0, 32, 1)
    a = np.random.default_rng(0).random((4, 32, 32), np.float32)
    both(module, a, np.zeros_like(a))
    source = cuda_source(module)
    assert "[i * 33 + j] = A[b * 1024 + i * 32 + j]" in source
    assert "[j * 33 + i]" in source
    assert ("[1056];" in source) == (scope == "shared")


def test_the_last_dimension_has_a_stride_of_one() -> None:
    assert "[1024];" in cuda_source(transpose("shared", 1, 32, 1))
