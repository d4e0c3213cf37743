"""Kernels without checks of each access: the same results, and the errors that cost no time."""

from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.backends.cuda.emulation import EmulatedModule, EmulationError, compile_emulated, compiler
from stepwell.core import target as core
from stepwell.frontends.tvm import devices
from stepwell.frontends.tvm.target import Target

pytestmark = pytest.mark.skipif(compiler() is None, reason="g++ is not installed, which the emulation of CUDA needs")

KERNELS = """
extern "C" __global__ void reverse(float* B, const float* A) {
  __shared__ float row[64];
  row[threadIdx.x] = A[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  B[blockIdx.x * 64 + threadIdx.x] = row[63 - threadIdx.x];
}
extern "C" __global__ void store(float* B, long long i, float value) {
  if (threadIdx.x == 40) B[i] = value;
}
extern "C" __global__ void diverge(float* B) {
  if (threadIdx.x < 7) __syncthreads();
}
extern "C" __global__ void race(float* B) { B[threadIdx.x / 2] = threadIdx.x; }
"""
ROWS = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 64):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""


@pytest.fixture(scope="module")
def module() -> EmulatedModule:
    return compile_emulated(KERNELS, ["reverse", "store", "diverge", "race"], checks=False)


def _error(module: EmulatedModule, kernel: str, *arguments: Any) -> str:
    with pytest.raises(EmulationError) as error:
        module.launch(kernel, (2,), (64,), arguments)
    return error.value.reason


def test_threads_exchange_values_at_a_barrier(module: EmulatedModule) -> None:
    a, b = np.arange(320, dtype=np.float32), np.zeros(320, np.float32)
    module.launch("reverse", (5,), (64,), [b, a])
    np.testing.assert_array_equal(b.reshape(5, 64), a.reshape(5, 64)[:, ::-1])


def test_a_race_is_not_reported(module: EmulatedModule) -> None:
    b = np.zeros(32, np.float32)
    module.launch("race", (1,), (64,), [b])
    np.testing.assert_array_equal(b, 2 * np.arange(32) + 1)


def test_a_barrier_that_some_threads_miss_is_an_error(module: EmulatedModule) -> None:
    assert "divergent barrier" in _error(module, "diverge", np.zeros(1, np.float32))


@pytest.mark.parametrize(
    ("index", "words"),
    [(10, "writes 0 bytes after the end of B"), (12, "8 bytes after"), (-1, "writes 4 bytes before B")],
)
def test_a_write_next_to_a_buffer_is_an_error(index: int, words: str, module: EmulatedModule) -> None:
    b = np.zeros(10, np.float32)
    assert words in _error(module, "store", b, np.int64(index), np.float32(1))
    module.launch("store", (2,), (64,), [b, np.int64(9), np.float32(1)])
    np.testing.assert_array_equal(b, np.arange(10) == 9)


def test_an_access_to_no_memory_is_an_error_and_the_next_launch_runs(module: EmulatedModule) -> None:
    for index in (1 << 50, -(1 << 50)):
        error = _error(module, "store", np.zeros(1, np.float32), np.int64(index), np.float32(1))
        assert "illegal access: thread (40, 0, 0) of block (0, 0, 0)" in error
    b = np.zeros(1, np.float32)
    module.launch("store", (2,), (64,), [b, np.int64(0), np.float32(1)])
    assert b[0] == 1


def test_a_program_has_the_same_bits_without_checks() -> None:
    a = np.random.default_rng(0).random((64, 64), np.float32)
    results = [np.zeros(64, np.float32) for _ in range(2)]
    for result, target in zip(results, ("cuda-emulated", "cuda-emulated -checks=0"), strict=True):
        stepwell.build(stepwell.parse_tvmscript(ROWS), target)(a, result)
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize("checks", [False, True])
def test_programs_for_tvm_have_the_checks_that_are_requested(checks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_emulated", False)
    monkeypatch.setattr(devices, "_checked", False)
    devices.emulate_gpu(checks=checks)
    for kind in ("cuda", "opencl"):
        assert Target(kind).compiled == core.Target("cuda-emulated", checks=checks)
    assert Target("cuda-emulated").compiled.checks, "the target of this package has checks unless it says -checks=0"
