"""Programs compiled from TVMScript to emulated CUDA kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import Schedule, build
from stepwell.backends.cuda.build import cuda_source
from stepwell.backends.cuda.emulation import EmulationError, compiler
from stepwell.core.errors import ArgumentError, ScheduleError, UnsupportedError
from stepwell.frontends import tvm
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvm import te
from stepwell.frontends.tvmscript import parse_tvmscript

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")

VECTOR_ADD = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1.0
"""


def both(module: Any, *arrays: np.ndarray[Any, Any]) -> None:
    """Compares the emulated GPU with the oracle."""
    ours, expected = ([a.copy() for a in arrays] for _ in range(2))
    build(module, target="cuda-emulated")(*ours)
    build(module, target="python")(*expected)
    for a, b in zip(ours, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_the_first_article() -> None:
    sch = tvm.tir.Schedule(parse_tvmscript(VECTOR_ADD))
    block = sch.get_block("B")
    (i,) = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, factors=[2, 2, 2])
    sch.reorder(i_0, i_2, i_1)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_2, "threadIdx.x")
    lib = build(sch.mod, target="cuda-emulated")
    source = lib.source("cuda")
    assert 'extern "C" __global__ void __launch_bounds__(2) main_kernel(' in source
    assert "blockIdx.x" in source
    a, b = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    lib(a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_wrong_arguments_are_errors_with_their_names() -> None:
    class Producer:
        def __dlpack_device__(self) -> object:
            raise KeyError("x")

    module = parse_tvmscript(VECTOR_ADD.replace("range(8)", 'T.thread_binding(8, thread="threadIdx.x")'))
    lib, a = build(module, target="cuda-emulated"), np.zeros(8, np.float32)
    with pytest.raises(ArgumentError, match="main: argument B: Producer cannot be exported through DLPack: KeyError"):
        lib(a, Producer())
    with pytest.raises(ArgumentError, match="main: argument B: expected an array without a mask"):
        lib(a, np.ma.masked_array(a, True))
    with pytest.raises(ArgumentError, match="main: argument B is passed by name, expected 2 arguments by position"):
        lib(a, B=a)


def gemm(size: int, *, vector: bool = False) -> Any:
    """A matrix product with tiles in shared memory and registers, scheduled by hand."""
    a = te.placeholder((size, size), "float32", name="A")
    b = te.placeholder((size, size), "float32", name="B")
    k = te.reduce_axis((0, size), "k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    sch = tvm.tir.Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    i, j, kk = sch.get_loops(block)
    by, ty, iy = sch.split(i, [None, 4, 2])
    bx, tx, jx = sch.split(j, [None, 4, 2])
    ko, ki = sch.split(kk, [None, 8])
    sch.reorder(by, bx, ty, tx, ko, ki, iy, jx)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        sch.bind(loop, axis)
    sch.reverse_compute_at(sch.cache_write(block, 0, "local"), tx)
    for n in (0, 1):
        shared = sch.cache_read(block, n, "shared")
        sch.compute_at(shared, ko)
        fused = sch.fuse(*sch.get_loops(shared)[-2:])
        _, y, x, *lanes = sch.split(fused, [None, 4, 4, 4] if vector else [None, 4, 4])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        if vector:
            sch.vectorize(lanes[0])
    sch.decompose_reduction(block, ko)
    return sch.mod


@pytest.mark.parametrize("vector", [False, True])
def test_a_matrix_product_in_shared_memory(vector: bool) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.random((16, 16), np.float32) for _ in range(3))
    lib = build(gemm(16, vector=vector), target="cuda-emulated")
    lib(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    source = lib.source("cuda")
    assert source.count("__syncwarp();") == 2  # 16 threads belong to one warp
    assert "__shared__ __align__(16) float A_shared[64];" in source
    assert ("float4" in source) == vector


def test_the_text_names_blocks() -> None:
    """The text names each block before the loops that enclose only this block."""
    source = cuda_source(gemm(16, vector=True))
    lines = [line.strip() for line in source.splitlines()]
    after = {line: lines[n + 1] for n, line in enumerate(lines) if line.startswith("//")}
    assert list(after) == ["// C_init", "// A_shared", "// B_shared", "// C_update", "// C_local"]
    assert after["// C_init"].startswith("for (int i_2_init = 0;")
    assert after["// B_shared"].startswith("const float4 t_1 = *reinterpret_cast<const float4*>(&B[")
    assert after["// C_update"].startswith("for (int k_1 = 0;")


MEAN = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    T.func_attr({{"tir.noalias": True}})
    n = T.int32()
    A = T.match_buffer(a, (n, {columns}), "{dtype}")
    B = T.match_buffer(b, (n,), "{dtype}")
    T_1 = T.alloc_buffer((n,), "{dtype}")
    for i in range(n):
        for k in range({columns}):
            with T.block("T"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    T_1[vi] = T.Cast("{dtype}", 0)
                T_1[vi] = T_1[vi] + A[vi, vk]
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = T_1[vi] * T.Cast("{dtype}", 2)
"""


@given(
    rows=st.sampled_from([0, 1, 2, 7, 33]),
    columns=st.sampled_from([1, 3, 8]),
    threads=st.sampled_from([1, 4, 32]),
    dtype=st.sampled_from(["float32", "float16", "float64", "int8", "int32", "uint16", "int64"]),
)
def test_two_kernels_of_symbolic_sizes(rows: int, columns: int, threads: int, dtype: str) -> None:
    sch = Schedule(parse_tvmscript(MEAN.format(columns=columns, dtype=dtype)))
    for name in ("T", "B"):
        outer, inner = sch.split(sch.get_loops(sch.get_block(name))[0], [None, threads])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
    a = np.random.default_rng(0).integers(0, 5, (rows, columns)).astype(dtype)
    if rows:
        both(sch.mod, a, np.zeros(rows, dtype))


def test_what_nobody_has_scheduled_is_scheduled_by_rule() -> None:
    both(parse_tvmscript(VECTOR_ADD), np.arange(8, dtype=np.float32), np.zeros(8, np.float32))


def test_what_no_thread_does_in_a_schedule_is_refused() -> None:
    sch = Schedule(parse_tvmscript(MEAN.format(columns=8, dtype="float32")))
    sch.bind(sch.get_loops(sch.get_block("T"))[0], "blockIdx.x")
    with pytest.raises(UnsupportedError, match="did you forget to bind"):
        build(sch.mod, target="cuda-emulated")


def test_threads_that_reduce_without_an_init_are_refused() -> None:
    sch = Schedule(parse_tvmscript(MEAN.format(columns=8, dtype="float32")))
    i, k = sch.get_loops(sch.get_block("T"))
    sch.decompose_reduction(sch.get_block("T"), k)
    with pytest.raises(ScheduleError, match=r"cannot run as threadIdx\.x"):
        sch.bind(k, "threadIdx.x")
    sch.bind(i, "blockIdx.x")
    program = sch.mod.script().replace("for k in range(8)", 'for k in T.thread_binding(8, "threadIdx.x")')
    with pytest.raises(UnsupportedError, match="a reduction over threads needs an init, or rfactor"):
        build(parse_tvmscript(program), target="cuda-emulated")


def test_arguments_are_checked_before_anything_runs() -> None:
    sch = Schedule(parse_tvmscript(VECTOR_ADD))
    sch.bind(sch.get_loops(sch.get_block("B"))[0], "threadIdx.x")
    lib = build(sch.mod, target="cuda-emulated")
    with pytest.raises(ArgumentError, match="A"):
        lib(np.zeros(9, np.float32), np.zeros(8, np.float32))
    with pytest.raises(ArgumentError, match="contiguous"):
        lib(np.zeros(16, np.float32)[::2], np.zeros(8, np.float32))


C_FUNCTIONS = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float64"), B: T.Buffer((7, 8), "float64")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            B[0, t] = T.Cast("float64", T.fmod(A[t], T.float32(0.75)))
            B[1, t] = T.fmod(D[t], T.float64(0.75))
            B[2, t] = T.Cast("float64", T.hypot(A[t], T.float32(0.75)))
            B[3, t] = T.hypot(D[t], T.float64(0.75))
            B[4, t] = T.ldexp(D[t], 3)
            B[5, t] = T.Cast("float64", T.call_extern("float32", "erff", A[t]))
            B[6, t] = T.call_extern("float64", "erf", D[t])
"""


def test_kernels_call_functions_of_c_that_a_device_has() -> None:
    numbers = np.linspace(-3, 4, 8)
    both(parse_tvmscript(C_FUNCTIONS), numbers.astype(np.float32), numbers, np.zeros((7, 8)))


def test_kernels_call_fast_functions_of_cuda() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((3, 8), "float32")):
    for t in T.thread_binding(8, thread="threadIdx.x"):
        B[0, t] = T.call_pure_extern("float32", "__expf", A[t])
        B[1, t] = T.call_pure_extern("float32", "__fdividef", A[t], T.float32(3))
        B[2, t] = T.call_pure_extern("float32", "rsqrtf", A[t])
"""
    numbers, result = np.linspace(0.5, 4, 8, dtype=np.float32), np.zeros((3, 8), np.float32)
    build(parse_tvmscript(program), target="cuda-emulated")["main"](numbers, result)
    np.testing.assert_allclose(result, [np.exp(numbers), numbers / 3, 1 / np.sqrt(numbers)], rtol=1e-6)


def test_kernels_do_not_call_other_functions_of_c() -> None:
    program = C_FUNCTIONS.replace('"erff"', '"own_function"')
    with pytest.raises(UnsupportedError, match="no function called 'own_function' on the device"):
        build(parse_tvmscript(program), target="cuda-emulated")


def test_a_reduction_over_threads_by_tvm_build() -> None:
    a = te.placeholder((64, 48), name="A")
    k = te.reduce_axis((0, 48), name="k")
    b = te.compute((64,), lambda i: te.sum(a[i, k], axis=k), name="B")
    schedule = te.create_schedule(b.op)
    _, inner = schedule[b].split(b.op.reduce_axis[0], factor=16)
    parts = schedule.rfactor(b, inner)
    outer, row = schedule[b].split(schedule[b].op.axis[0], factor=32)
    schedule[b].bind(outer, te.thread_axis("blockIdx.x"))
    schedule[b].bind(row, te.thread_axis("threadIdx.y"))
    schedule[b].bind(schedule[b].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    schedule[parts].compute_at(schedule[b], schedule[b].op.reduce_axis[0])
    x, y = np.random.default_rng(0).random((64, 48), np.float32), np.zeros(64, np.float32)
    tvm.build(schedule, [a, b], "cuda-emulated")(x, y)
    np.testing.assert_allclose(y, x.sum(1), rtol=1e-5)


DECLARED_OUTSIDE = """
@T.prim_func
def main(A: T.Buffer((6,), "int8"), B: T.Buffer((6, 6), "int8")):
    C = T.alloc_buffer((6, 6), "int8")
    for i in T.vectorized(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            T.reads(A[0:6])
            T.writes(C[vi, 0:6], B[vi, 0:6])
            for j in T.thread_binding(6, thread="threadIdx.x"):
                with T.block("C"):
                    vj = T.axis.spatial(6, j)
                    C[vi, vj] = A[vj] + T.int8(2)
                    B[vi, vj] = C[vi, vj]
"""


def test_a_block_around_threads_declares_an_access_to_their_memory() -> None:
    both(parse_tvmscript(DECLARED_OUTSIDE), np.arange(6, dtype="int8"), np.zeros((6, 6), "int8"))


MASKED = """
builtin.module {
  tir.func @main("B" %B: memref<4xi32>) {
    tir.for thread_binding "tx" %tx : i32 in [0 +: 4] thread "threadIdx.x" {
      %L = tir.alloc_buffer "L" : memref<4xi32, "local">
      tir.for serial "i" %i : i32 in [0 +: 4] {
        tir.store %tx, %L[%i] : memref<4xi32, "local">
      }
      %one = arith.constant 1 : i32
      %lanes = tir.ramp %tx, %one : vector<4xi32>
      %four = arith.constant 4 : i32
      %ends = vector.broadcast %four : i32 to vector<4xi32>
      %inside = arith.cmpi slt, %lanes, %ends : vector<4xi32>
      %new = vector.broadcast %four : i32 to vector<4xi32>
      tir.store %new, %L[%lanes : vector<4xi32>] if %inside : vector<4xi1> : memref<4xi32, "local">
      %all = tir.load %L[%lanes : vector<4xi32>] if %inside : vector<4xi1> : memref<4xi32, "local">
      tir.store %all, %B[%lanes : vector<4xi32>] if %inside : vector<4xi1> : memref<4xi32>
    }
  }
}
"""


@pytest.mark.parametrize("target", ["python", "cuda-emulated"])
def test_masked_lanes_of_memory_of_a_thread_are_not_accessed(target: str) -> None:
    result = np.zeros(4, "int32")
    build(parse_mlir(MASKED), target=target)(result)
    np.testing.assert_array_equal(result, [4, 4, 4, 4])


DYNAMIC_THREADS = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    m = T.int32()
    n = T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    shared = T.alloc_buffer((1024,), "float32", scope="shared")
    for i in T.thread_binding(m, thread="blockIdx.x"):
        for j in T.thread_binding(n, thread="threadIdx.x"):
            shared[j] = A[i, j]
        for j in T.thread_binding(n, thread="threadIdx.x"):
            B[i, j] = shared[n - 1 - j]
"""


def test_a_dynamic_number_of_threads() -> None:
    module = parse_tvmscript(DYNAMIC_THREADS)
    for shape in ((3, 5), (2, 70), (1, 1024), (0, 3), (3, 0)):
        both(module, np.arange(np.prod(shape), dtype=np.float32).reshape(shape), np.zeros(shape, np.float32))
    with pytest.raises(EmulationError, match=r"block \(1025, 1, 1\): expected 1 to \(1024, 1024, 64\) threads"):
        build(module, target="cuda-emulated")(np.zeros((1, 1025), np.float32), np.zeros((1, 1025), np.float32))
