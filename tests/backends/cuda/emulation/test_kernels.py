"""Correct kernels, as written by a compiler or by hand, compute the same results as numpy."""

from typing import Any

import numpy as np
import pytest

from stepwell.backends.cuda.emulation import compile_emulated, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="g++ is not installed, which the emulation of CUDA needs")

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def random() -> np.random.Generator:
    return np.random.default_rng(0)


def _floats(random: np.random.Generator, *shape: int) -> Array:
    return random.random(shape, dtype=np.float32)


def test_vectors_are_added_and_threads_past_the_end_return(random: np.random.Generator) -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void __launch_bounds__(128)
        add(float* __restrict__ C, const float* __restrict__ A, const float* __restrict__ B, int n) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i >= n) return;
          C[i] = A[i] + __ldg(&B[i]);
        }
        """,
        ["add"],
    )
    a, b, c = _floats(random, 1000), _floats(random, 1000), np.zeros(1000, np.float32)
    module.launch("add", (8,), (128,), [c, a, b, np.int32(1000)])
    np.testing.assert_array_equal(c, a + b)


@pytest.mark.parametrize("checks", [True, False])
def test_a_compiler_may_call_the_c_library_to_fill_and_copy_arrays(checks: bool) -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void count(int* __restrict__ C, int n) {
          int sums[4096];
          for (int i = 0; i < n; ++i) sums[i] = 0;
          for (int i = 0; i < n; ++i) sums[i * 7 % n] += i;
          for (int i = 0; i < n; ++i) C[i] = sums[i];
        }
        """,
        ["count"],
        checks,
    )
    c = np.zeros(4096, np.int32)
    module.launch("count", (1,), (1,), [c, np.int32(4096)])
    np.testing.assert_array_equal(c[np.arange(4096) * 7 % 4096], np.arange(4096))


def test_a_matrix_is_transposed_through_padded_tiles(random: np.random.Generator) -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void transpose(float* B, const float* A, int rows, int columns) {
          __shared__ float tile[16][17];
          int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
          if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = A[y * columns + x];
          __syncthreads();
          x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
          if (x < rows && y < columns) B[y * rows + x] = tile[threadIdx.x][threadIdx.y];
        }
        """,
        ["transpose"],
    )
    a, b = _floats(random, 37, 50), np.zeros((50, 37), np.float32)
    module.launch("transpose", (4, 3), (16, 16), [b, a, np.int32(37), np.int32(50)])
    np.testing.assert_array_equal(b, a.T)


def test_a_block_reduces_in_shared_memory() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void sum(int* result, const int* A, int n) {
          __shared__ int part[256];
          int t = threadIdx.x, total = 0;
          for (int i = blockIdx.x * 256 + t; i < n; i += 256 * gridDim.x) total += A[i];
          part[t] = total;
          __syncthreads();
          for (int step = 128; step > 0; step >>= 1) {
            if (t < step) part[t] += part[t + step];
            __syncthreads();
          }
          if (t == 0) result[blockIdx.x] = part[0];
        }
        """,
        ["sum"],
    )
    a, result = np.arange(3000, dtype=np.int32), np.zeros(3, np.int32)
    module.launch("sum", (3,), (256,), [result, a, np.int32(3000)])
    assert result.sum() == a.sum()


def test_warps_reduce_by_shuffles_and_meet_in_shared_memory() -> None:
    module = compile_emulated(
        """
        __device__ __forceinline__ float warp_sum(float v) {
          #pragma unroll
          for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffffu, v, offset, 32);
          return v;
        }
        extern "C" __global__ void __launch_bounds__(256) sum(float* result, const float* A) {
          __shared__ float parts[8];
          int t = threadIdx.x, lane = t % warpSize;
          float v = warp_sum(A[blockIdx.x * 256 + t]);
          if (lane == 0) parts[t / 32] = v;
          __syncthreads();
          if (t < 32) {
            v = warp_sum(lane < 8 ? parts[lane] : 0.0f);
            if (lane == 0) result[blockIdx.x] = v;
          }
        }
        """,
        ["sum"],
    )
    a, result = np.arange(512, dtype=np.float32), np.zeros(2, np.float32)
    module.launch("sum", (2,), (256,), [result, a])
    np.testing.assert_array_equal(result, a.reshape(2, 256).sum(1))


GEMM = """
extern "C" __global__ void __launch_bounds__(64)
gemm(float* __restrict__ C, const float* __restrict__ A, const float* __restrict__ B, int m, int n, int k) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  float* A_shared = reinterpret_cast<float*>(dynamic);
  float* B_shared = reinterpret_cast<float*>(dynamic + 32 * 16 * sizeof(float));
  const int t = threadIdx.x, row = t / 8 * 4, column = t % 8 * 4;
  float C_local[16];
  for (int i = 0; i < 16; ++i) C_local[i] = 0.0f;
  for (int k0 = 0; k0 < k; k0 += 16) {
    __syncthreads();
    #pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int i = 4 * (t + 64 * part);
      *reinterpret_cast<float4*>(&A_shared[i]) =
          *reinterpret_cast<const float4*>(&A[(blockIdx.y * 32 + i / 16) * k + k0 + i % 16]);
      *reinterpret_cast<float4*>(&B_shared[i]) =
          *reinterpret_cast<const float4*>(&B[(k0 + i / 32) * n + blockIdx.x * 32 + i % 32]);
    }
    __syncthreads();
    for (int kk = 0; kk < 16; ++kk)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          C_local[4 * i + j] = fmaf(A_shared[(row + i) * 16 + kk], B_shared[kk * 32 + column + j], C_local[4 * i + j]);
  }
  for (int i = 0; i < 4; ++i)
    *reinterpret_cast<float4*>(&C[(blockIdx.y * 32 + row + i) * n + blockIdx.x * 32 + column]) =
        *reinterpret_cast<float4*>(&C_local[4 * i]);
}
"""


def test_matrices_are_multiplied_by_tiles_that_the_block_loads_together(random: np.random.Generator) -> None:
    module = compile_emulated(GEMM, ["gemm"])
    a, b, c = _floats(random, 64, 48), _floats(random, 48, 96), np.zeros((64, 96), np.float32)
    sizes = [np.int32(64), np.int32(96), np.int32(48)]
    module.launch("gemm", (3, 2), (64,), [c, a, b, *sizes], shared_bytes=4 * (32 * 16 + 16 * 32))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_a_histogram_is_made_by_atomic_operations(random: np.random.Generator) -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void histogram(unsigned* bins, const unsigned char* A, int n) {
          __shared__ unsigned own[16];
          if (threadIdx.x < 16) own[threadIdx.x] = 0;
          __syncthreads();
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) atomicAdd(&own[A[i]], 1u);
          __syncthreads();
          if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
        }
        """,
        ["histogram"],
    )
    a, bins = random.integers(0, 16, 500, np.uint8), np.zeros(16, np.uint32)
    module.launch("histogram", (4,), (128,), [bins, a, np.int32(500)])
    np.testing.assert_array_equal(bins, np.bincount(a, minlength=16))


def test_every_thread_of_blocks_and_grids_of_three_dimensions_knows_where_it_is() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void where(int* A) {
          int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
          int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
          int threads = blockDim.x * blockDim.y * blockDim.z;
          int inner = (threadIdx.x * 10 + threadIdx.y) * 10 + threadIdx.z;
          A[block * threads + thread] = inner * 1000 + (blockIdx.x * 10 + blockIdx.y) * 10 + blockIdx.z;
        }
        """,
        ["where"],
    )
    a = np.zeros((2, 3, 4, 2, 5, 3), np.int32)
    module.launch("where", (4, 3, 2), (3, 5, 2), [a])
    bz, by, bx, tz, ty, tx = np.indices(a.shape)
    np.testing.assert_array_equal(a, (tx * 100 + ty * 10 + tz) * 1000 + bx * 100 + by * 10 + bz)


def test_a_barrier_can_count() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void count(int* A) {
          int t = threadIdx.x;
          int odd = __syncthreads_count(t & 1), all = __syncthreads_and(t < 70), any = __syncthreads_or(t == 69);
          A[t] = odd * 100 + all * 10 + any;
        }
        """,
        ["count"],
    )
    a = np.zeros(70, np.int32)
    module.launch("count", (1,), (70,), [a])
    assert set(a) == {3511}


def test_shuffles_take_from_the_lanes_that_cuda_says() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void shuffle(int* A, double* B) {
          int t = threadIdx.x;
          A[t] = __shfl_sync(0xffffffffu, t, 3);
          A[32 + t] = __shfl_sync(0xffffffffu, t, 11, 8);
          A[64 + t] = __shfl_up_sync(0xffffffffu, t, 3);
          A[96 + t] = __shfl_up_sync(0xffffffffu, t, 2, 8);
          A[128 + t] = __shfl_down_sync(0xffffffffu, t, 3);
          A[160 + t] = __shfl_down_sync(0xffffffffu, t, 2, 8);
          A[192 + t] = __shfl_xor_sync(0xffffffffu, t, 5);
          A[224 + t] = __shfl_xor_sync(0xffffffffu, t, 9, 8);
          B[t] = __shfl_xor_sync(0xffffffffu, t + 0.1, 1);
        }
        """,
        ["shuffle"],
    )
    a, b, t = np.zeros((8, 32), np.int32), np.zeros(32), np.arange(32)
    module.launch("shuffle", (1,), (32,), [a, b])
    group = t // 8 * 8
    expected = [
        np.full(32, 3),
        group + 3,
        np.where(t < 3, t, t - 3),
        np.where(t % 8 < 2, t, t - 2),
        np.where(t + 3 > 31, t, t + 3),
        np.where(t % 8 + 2 > 7, t, t + 2),
        t ^ 5,
        np.where((t ^ 9) >= group + 8, t, t ^ 9),
    ]
    np.testing.assert_array_equal(a, expected)
    np.testing.assert_array_equal(b, (t ^ 1) + 0.1)


def test_a_shuffle_from_who_does_not_take_part_gives_undefined_bits() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void shuffle(float* A) {
          int t = threadIdx.x;
          if (t < 16) A[t] = __shfl_down_sync(0x0000ffffu, float(t), 8);
        }
        """,
        ["shuffle"],
    )
    a = np.zeros(16, np.float32)
    module.launch("shuffle", (1,), (32,), [a])
    np.testing.assert_array_equal(a, [*range(8, 16), *[np.nan] * 8])


def test_warps_vote_and_reduce() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void vote(unsigned* A) {
          unsigned t = threadIdx.x, mask = t < 12 ? 0xfffu : 0xfffff000u;
          A[t] = __ballot_sync(mask, t % 3 == 0);
          A[32 + t] = __any_sync(mask, t == 20) * 2 + __all_sync(mask, t >= 12);
          A[64 + t] = __reduce_add_sync(mask, t);
          A[96 + t] = __reduce_max_sync(mask, -int(t));
          A[128 + t] = __reduce_min_sync(mask, t);
          A[160 + t] = t < 5 ? __activemask() : __activemask();
        }
        """,
        ["vote"],
    )
    a, t = np.zeros((6, 32), np.uint32), np.arange(32)
    module.launch("vote", (1,), (32,), [a])
    low = t < 12
    threes = sum(1 << lane for lane in range(0, 32, 3))
    expected = [
        np.where(low, threes & 0xFFF, threes & 0xFFFFF000),
        np.where(low, 0, 3),
        np.where(low, sum(range(12)), sum(range(12, 32))),
        np.where(low, 0, 2**32 - 12),
        np.where(low, 0, 12),
        np.full(32, 2**32 - 1),
    ]
    np.testing.assert_array_equal(a, expected)


def test_the_active_lanes_are_those_that_have_not_ended_or_gone_elsewhere() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void active(unsigned* A) {
          unsigned t = threadIdx.x;
          if (t >= 20) return;
          if (t < 4)
            A[t] = __activemask();
          else
            A[t] = __shfl_sync(__activemask(), t, 4);
        }
        """,
        ["active"],
    )
    a = np.zeros(32, np.uint32)
    module.launch("active", (1,), (32,), [a])
    np.testing.assert_array_equal(a, [*[15] * 4, *[4] * 16, *[0] * 12])


def test_atomic_operations_give_the_old_value_and_store_the_new() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void atomics(int* A, unsigned* B, unsigned long long* C, float* D, double* E) {
          int t = threadIdx.x;
          atomicAdd(&A[0], t); atomicSub(&A[1], t); atomicMin(&A[2], -t); atomicMax(&A[3], t);
          atomicAnd(&A[4], ~(1 << t)); atomicOr(&A[5], 1 << t); atomicXor(&A[6], 1 << t);
          atomicInc(&B[0], 6u); atomicDec(&B[1], 6u);
          atomicAdd(&C[0], 1ull << 40); atomicMax(&C[1], (unsigned long long)t << 40);
          atomicAdd(&D[0], 0.5f); atomicAdd(&E[0], 0.25);
          int expected = A[7];
          if (t == 0) {
            expected = atomicExch(&A[8], 5);
            expected += atomicCAS(&A[8], 5, 6) * 10 + atomicCAS(&A[8], 5, 7) * 100;
            atomicExch(&A[9], expected);
          }
        }
        """,
        ["atomics"],
    )
    a, b, c = np.zeros(10, np.int32), np.zeros(2, np.uint32), np.zeros(2, np.uint64)
    a[4] = -1
    d, e = np.zeros(1, np.float32), np.zeros(1)
    module.launch("atomics", (1,), (10,), [a, b, c, d, e])
    np.testing.assert_array_equal(a, [45, -45, -9, 9, -1 << 10, 1023, 1023, 0, 6, 650])
    np.testing.assert_array_equal(b, [10 % 7, (7 - 10 % 7) % 7])
    np.testing.assert_array_equal(c, [10 << 40, 9 << 40])
    assert (d[0], e[0]) == (5.0, 2.5)


def test_constants_and_variables_of_the_module_are_seen_by_all_kernels() -> None:
    module = compile_emulated(
        """
        __constant__ float weights[4] = {1, 10, 100, 1000};
        __device__ int calls;
        static const int table[] = {3, 1, 2, 0};
        extern "C" __global__ void first(float* A) {
          A[threadIdx.x] = weights[table[threadIdx.x]];
          if (threadIdx.x == 0) calls = 7;
        }
        extern "C" __global__ void second(float* A) { A[threadIdx.x] = calls * weights[threadIdx.x]; }
        """,
        ["first", "second"],
    )
    a, b = np.zeros(4, np.float32), np.zeros(4, np.float32)
    module.launch("first", (1,), (4,), [a])
    module.launch("second", (1,), (4,), [b])
    np.testing.assert_array_equal(a, [1000, 10, 100, 1])
    np.testing.assert_array_equal(b, [7, 70, 700, 7000])


def test_functions_of_the_device_have_shared_memory_of_their_own() -> None:
    module = compile_emulated(
        """
        __device__ __forceinline__ float last(float x) {
          __shared__ float s[64];
          s[threadIdx.x] = x;
          __syncthreads();
          return s[63];
        }
        extern "C" __global__ void k(float* A) {
          __shared__ float s[64];
          s[threadIdx.x] = last(A[threadIdx.x]);
          A[threadIdx.x] = s[threadIdx.x] + 1;
        }
        """,
        ["k"],
    )
    a = np.arange(64, dtype=np.float32)
    module.launch("k", (1,), (64,), [a])
    assert set(a) == {64.0}


def test_structs_are_passed_and_copied_as_a_whole() -> None:
    module = compile_emulated(
        """
        struct Pair { float x; int y; double z[3]; };
        extern "C" __global__ void copy(Pair* A, const Pair* B) { A[threadIdx.x] = B[threadIdx.x]; }
        """,
        ["copy"],
    )
    b = np.arange(40, dtype=np.float64)
    a = np.zeros_like(b)
    module.launch("copy", (1,), (10,), [a, b])
    np.testing.assert_array_equal(a, b)


def test_all_threads_may_store_the_same_value() -> None:
    module = compile_emulated(
        """
        struct Wide { int x[6]; };
        extern "C" __global__ void store(int* A, Wide* B, const Wide* C) {
          A[0] = 3;
          *B = *C;
        }
        """,
        ["store"],
    )
    a, b, c = np.zeros(1, np.int32), np.zeros(6, np.int32), np.arange(6, dtype=np.int32)
    module.launch("store", (4,), (70,), [a, b, c])
    assert a[0] == 3
    np.testing.assert_array_equal(b, c)


def test_many_warps_of_a_large_block_meet_often() -> None:
    module = compile_emulated(
        """
        extern "C" __global__ void __launch_bounds__(1024) scan(int* A) {
          __shared__ int s[2][1024];
          int t = threadIdx.x;
          s[0][t] = A[t];
          int now = 0;
          for (int step = 1; step < 1024; step *= 2, now ^= 1) {
            __syncthreads();
            s[now ^ 1][t] = s[now][t] + (t >= step ? s[now][t - step] : 0);
          }
          A[t] = s[now][t];
        }
        """,
        ["scan"],
    )
    a = np.arange(1024, dtype=np.int32)
    module.launch("scan", (1,), (1024,), [a])
    np.testing.assert_array_equal(a, np.arange(1024).cumsum())
