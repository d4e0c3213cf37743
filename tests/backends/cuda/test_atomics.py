"""Atomic operations: equal results for every target, and no races."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import build
from stepwell.backends.cuda.build import cuda_source
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.cuda.nvrtc import compile_cuda
from stepwell.backends.interpreter import interpret
from stepwell.core.dtypes import numpy_dtype
from stepwell.core.errors import UndefinedBehaviorError, UnsupportedError
from stepwell.frontends.tvmscript import parse_tvmscript

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")

HISTOGRAM = """
@T.prim_func
def main(A: T.Buffer((256,), "int32"), H: T.Buffer((8,), "{dtype}"),
         L: T.Buffer((1,), "{dtype}"), M: T.Buffer((1,), "{dtype}")):
    for bx in T.{blocks}:
        S = T.alloc_buffer((8,), "{dtype}", scope="shared")
        for tx in T.{threads}:
            if tx < 8:
                S[tx] = T.Cast("{dtype}", 0)
        for tx in T.{threads}:
            T.evaluate(
                T.call_extern("{dtype}", "atomicAdd", T.address_of(S[A[bx * 64 + tx] % 8]), T.Cast("{dtype}", 3)))
        for tx in T.{threads}:
            if tx < 8:
                T.evaluate(T.call_extern("{dtype}", "atomicAdd", T.address_of(H[tx]), S[tx]))
            {extremes}
"""

EXTREMES = """T.evaluate(T.call_extern("{dtype}", "atomicMin", T.address_of(L[0]), T.Cast("{dtype}", A[bx * 64 + tx])))
            T.evaluate(T.call_extern("{dtype}", "atomicMax", T.address_of(M[0]), T.Cast("{dtype}", A[bx * 64 + tx])))"""

GPU = {"blocks": 'thread_binding(4, thread="blockIdx.x")', "threads": 'thread_binding(64, thread="threadIdx.x")'}
CPU = {"blocks": "parallel(4)", "threads": "serial(64)"}


def program(dtype: str, loops: dict[str, str]) -> Any:
    return parse_tvmscript(HISTOGRAM.format(dtype=dtype, extremes=EXTREMES.format(dtype=dtype), **loops))


def arguments(dtype: str) -> list[np.ndarray[Any, Any]]:
    """Numbers whose sums are exact in every type."""
    kind, most = numpy_dtype(dtype), 200 if dtype == "bfloat16" else 2000
    values = np.random.default_rng(0).integers(-most, most, 256).astype("int32")
    return [values, np.full(8, 5, kind), np.full(1, 7, kind), np.full(1, 7, kind)]


def expected(dtype: str) -> list[np.ndarray[Any, Any]]:
    a, h, least, most = arguments(dtype)
    h = h + (3 * np.bincount(a % 8, minlength=8)).astype(h.dtype)
    numbers = a.astype(h.dtype)
    least[0], most[0] = min(numbers.min(), least[0]), max(numbers.max(), most[0])
    return [a, h, least, most]


DTYPES = ["int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"]


@emulated
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_histogram_on_the_emulated_gpu(dtype: str) -> None:
    module, arrays = program(dtype, GPU), arguments(dtype)
    build(module, target="cuda-emulated")(*arrays)
    for got, right in zip(arrays, expected(dtype), strict=True):
        np.testing.assert_array_equal(got, right)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", ["python", "llvm", "interpreter"])
def test_a_histogram_on_the_host(target: str, dtype: str) -> None:
    module, arrays = program(dtype, CPU if target == "llvm" else GPU), arguments(dtype)
    if target == "interpreter":
        interpret(module, "main", arrays)
    else:
        build(module, target=target)(*arrays)
    for got, right in zip(arrays, expected(dtype), strict=True):
        np.testing.assert_array_equal(got, right)


def test_the_text_has_cudas_functions() -> None:
    source = cuda_source(program("uint64", GPU))
    assert "atomicAdd(reinterpret_cast<unsigned long long*>(&S[" in source
    assert "atomicMin(reinterpret_cast<unsigned long long*>(L), " in source
    assert source.count("__syncthreads();") == 2
    assert "atomicAdd(&S[" in cuda_source(program("float32", GPU))
    halves = cuda_source(program("float16", GPU))
    assert "atomicAdd(&S[" in halves
    assert "sw_atomic_minimum_float16(L, " in halves


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_text_compiles_without_warnings(dtype: str, architecture: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    assert compile_cuda(cuda_source(program(dtype, GPU)), architecture).log == ""


# Floats

FLOATS = """
@T.prim_func
def main(X: T.Buffer((5,), "{dtype}"), S: T.Buffer((1,), "{dtype}"), L: T.Buffer((1,), "{dtype}"),
         M: T.Buffer((1,), "{dtype}"), B: T.Buffer((15,), "{dtype}")):
    for bx in T.{blocks}:
        for i in range(5):
            B[i] = T.call_extern("{dtype}", "atomicAdd", T.address_of(S[0]), X[i])
            B[5 + i] = T.call_extern("{dtype}", "atomicMin", T.address_of(L[0]), X[i])
            B[10 + i] = T.call_extern("{dtype}", "atomicMax", T.address_of(M[0]), X[i])
"""
FLOAT_TYPES = ["float16", "bfloat16", "float32", "float64"]
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 6e-8, 1e-40, 65504.0, 0.1, -3e38]


@cache
def floats(dtype: str, target: str) -> Any:
    one = 'thread_binding(1, thread="blockIdx.x")' if target == "cuda-emulated" else "serial(1)"
    return build(parse_tvmscript(FLOATS.format(dtype=dtype, blocks=one)), target=target)


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
@pytest.mark.parametrize("target", ["llvm", pytest.param("cuda-emulated", marks=emulated)])
@given(numbers=st.lists(st.sampled_from(SPECIAL) | st.floats(width=16), min_size=8, max_size=8))
def test_floats_are_the_oracles_to_the_last_bit(target: str, dtype: str, numbers: list[float]) -> None:
    with np.errstate(over="ignore"):
        x = np.array(numbers).astype(numpy_dtype(dtype))
    got, right = ([*(part.copy() for part in np.split(x, [5, 6, 7])), np.zeros(15, x.dtype)] for _ in range(2))
    floats(dtype, target)(*got)
    floats(dtype, "python")(*right)
    for each, wanted in zip(got, right, strict=True):
        np.testing.assert_array_equal(is_nan(each), is_nan(wanted))
        np.testing.assert_array_equal(bits(each)[~is_nan(each)], bits(wanted)[~is_nan(each)])


def is_nan(values: np.ndarray[Any, Any]) -> Any:
    return np.isnan(values.astype("float64"))


def bits(values: np.ndarray[Any, Any]) -> Any:
    return values.view(f"u{values.itemsize}")


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
@pytest.mark.parametrize("numbers", [[0.0, -0.0], [-0.0, 0.0], [np.nan, 1.0], [1.0, np.nan], [np.inf, -np.inf]])
def test_the_order_of_floats_does_not_matter(dtype: str, numbers: list[float]) -> None:
    x = np.array([*numbers, *numbers[:1] * 3]).astype(numpy_dtype(dtype))
    memory = [x[1:2].copy() for _ in range(3)]
    floats(dtype, "python")(x, *memory, np.zeros(15, x.dtype))
    least, most = memory[1][0], memory[2][0]
    if np.isnan(numbers).any():
        assert np.isnan(least)
        assert np.isnan(most)
    else:
        assert (float(least), float(most)) == (min(numbers), max(numbers))
        assert np.signbit(float(least))
        assert not np.signbit(float(most))


TOGETHER = """
@T.prim_func
def main(X: T.Buffer((20000,), "{dtype}"), S: T.Buffer((1,), "{dtype}"), L: T.Buffer((1,), "{dtype}")):
    for r, i in T.grid(50, 20000):
        T.evaluate(T.call_extern("{dtype}", "atomicAdd", T.address_of(S[0]), X[i]))
        T.evaluate(T.call_extern("{dtype}", "atomicMin", T.address_of(L[0]), X[i] - X[0]))
"""


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
def test_native_threads_lose_no_sum(dtype: str) -> None:
    x = np.resize([1, -1], 20000).astype(numpy_dtype(dtype))
    total, least = np.zeros(1, x.dtype), np.ones(1, x.dtype)
    lib = build(parse_tvmscript(TOGETHER.format(dtype=dtype)))
    threads = [threading.Thread(target=lib, args=(x, total, least)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (float(total[0]), float(least[0])) == (0, -2)


COUNTER = """
@T.prim_func
def main(A: T.Buffer((64,), "int32"), N: T.Buffer((1,), "int32"), B: T.Buffer((64,), "int32")):
    T.func_attr({"tir.noalias": True})
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        if A[tx] > 0:
            place = T.call_extern("int32", "atomicAdd", T.address_of(N[0]), 1)
            B[place] = A[tx]
"""


@emulated
def test_the_value_before_is_given() -> None:
    """Each atomic addition returns a unique position for an element; the order of the elements is unspecified."""
    a = np.random.default_rng(0).integers(-9, 9, 64).astype("int32")
    n, b = np.zeros(1, "int32"), np.zeros(64, "int32")
    build(parse_tvmscript(COUNTER), target="cuda-emulated")(a, n, b)
    assert n[0] == (a > 0).sum()
    assert sorted(b[: n[0]]) == sorted(a[a > 0])


@emulated
def test_elements_that_values_choose_are_written() -> None:
    """No thread reads the elements, so the threads are independent."""
    text = """
@T.prim_func
def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        B[A[tx]] = tx
"""
    a, b = np.random.default_rng(0).permutation(64).astype("int32"), np.zeros(64, "int32")
    build(parse_tvmscript(text), target="cuda-emulated")(a, b)
    np.testing.assert_array_equal(b[a], np.arange(64))


ONE = """
@T.prim_func
def main(A: T.Buffer((4,), "{dtype}")):
    B = T.alloc_buffer((4,), "{dtype}")
    for i in range(4):
        T.evaluate(T.call_extern("{result}", "{name}", {address}, T.Cast("{dtype}", 1)))
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "int16"}, "atomicAdd on int16, expected one of int32, uint32, int64, uint64, float16, bfloat16"),
        ({"name": "atomicMin", "dtype": "float8_e4m3fn"}, "atomicMin on float8_e4m3fn, expected one of int32"),
        ({"result": "int64"}, "atomicAdd on int32: expected that type for all, got int32 to int64"),
        ({"address": "A.data"}, "atomicAdd: expected T.address_of an element, and a value, got 2 operands"),
    ],
)
def test_what_is_no_atomic_operation_is_refused(change: dict[str, str], message: str) -> None:
    dtype = change.get("dtype", "int32")
    given = {"dtype": dtype, "result": dtype, "name": "atomicAdd", "address": "T.address_of(A[i])", **change}
    for target in ("llvm", "python"):
        with pytest.raises(UnsupportedError, match=message):
            build(parse_tvmscript(ONE.format(**given)), target=target)(np.zeros(4, numpy_dtype(dtype)))


@pytest.mark.parametrize(("address", "message"), [("A[i + 1]", "byte 16 of A, which has"), ("B[i]", "never written")])
def test_the_oracle_finds_what_is_excluded(address: str, message: str) -> None:
    text = ONE.format(dtype="int32", result="int32", name="atomicAdd", address=f"T.address_of({address})")
    with pytest.raises(UndefinedBehaviorError, match=message):
        build(parse_tvmscript(text), target="python")(np.zeros(4, np.int32))


def test_the_host_does_not_reach_the_memory_of_a_gpu() -> None:
    text = ONE.format(dtype="int32", result="int32", name="atomicAdd", address="T.address_of(A[i])")
    text = text.replace("for i in range(4):", "i = 0\n    if A[0] == 0:").replace("A[0] == 0", "True")
    text += '    for j in T.thread_binding(4, thread="threadIdx.x"):\n        A[j] = 1\n'
    with pytest.raises(UnsupportedError, match="by the host"):
        cuda_source(parse_tvmscript(text))
