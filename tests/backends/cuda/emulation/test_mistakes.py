"""Incorrect kernels, which the emulation must detect, each paired with a correct kernel, which must run.

The two kernels differ only in the text at `@`.
"""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from stepwell.backends.cuda.emulation import EmulationError, compile_emulated, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="g++ is not installed, which the emulation of CUDA needs")


@dataclass
class Mistake:
    """A kernel `k(float* out, const float* in, int n)`, by its body. found: a pattern that matches the error."""

    body: str
    wrong: str
    right: str
    found: str
    grid: tuple[int, ...] = (1,)
    block: tuple[int, ...] = (64,)
    shared_bytes: int = 0

    def launch(self, at: str) -> None:
        body = self.body.replace("@", at)
        module = compile_emulated(
            f'{CONSTANT}extern "C" __global__ void k(float* out, const float* in, int n) {{\n{body}}}\n', ["k"]
        )
        arguments = [np.zeros(256, np.float32), np.arange(256, dtype=np.float32), np.int32(64)]
        module.launch("k", self.grid, self.block, arguments, shared_bytes=self.shared_bytes)


CONSTANT = "__constant__ float weights[4] = {1, 2, 3, 4}; __constant__ const int one = 1; "

SHIFT = """\
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  @
  out[t] = s[63 - t];
"""

MISTAKES = {
    # Races in shared memory
    "no barrier between a store and a load of another thread": Mistake(
        SHIFT,
        "",
        "__syncthreads();",
        r"data race on s\[\d+\] \(shared memory, 4 bytes\): thread .* in line 4 writes it, which thread .* read in "
        r"line 6; no __syncthreads\(\) lies between",
    ),
    "a barrier of the warp where the block has two": Mistake(
        SHIFT, "__syncwarp();", "__syncthreads();", r"data race on s\[\d+\].*no __syncthreads\(\) lies between"
    ),
    "a fence is no barrier": Mistake(SHIFT, "__threadfence_block();", "__syncthreads();", "data race on s"),
    "no barrier at the end of a round": Mistake(
        """\
  __shared__ float s[64];
  int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    s[t] = in[64 * k + t];
    __syncthreads();
    sum += s[63 - t];
    @
  }
  out[t] = sum;
""",
        "",
        "__syncthreads();",
        r"data race on s\[\d+\].* in line 8 reads it, which thread .* wrote in line 6",
    ),
    "a barrier in front of the store instead of behind it": Mistake(
        """\
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = 0;
  @
  out[t] = s[t ^ 32];
""",
        "__syncthreads(); s[t] = in[t];",
        "s[t] = in[t]; __syncthreads();",
        r"data race on s\[\d+\]",
    ),
    "a reduction that forgets a barrier in its loop": Mistake(
        """\
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  for (int step = 32; step > 0; step /= 2) {
    if (t < step) s[t] += s[t + step];
    @
  }
  if (t == 0) out[0] = s[0];
""",
        "",
        "__syncthreads();",
        r"data race on s\[\d+\]",
    ),
    "threads of one warp without __syncwarp": Mistake(
        """\
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = in[t];
  @
  out[t] = s[t ^ 1];
""",
        "",
        "__syncwarp();",
        r"data race on s\[\d\].*no __syncwarp\(\) or __syncthreads\(\) lies between",
        block=(32,),
    ),
    "a shuffle orders no memory": Mistake(
        """\
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = in[t];
  float v = __shfl_xor_sync(0xffffffffu, in[t], 1);
  @
  out[t] = v + s[t ^ 1];
""",
        "",
        "__syncwarp();",
        r"data race on s\[\d\]",
        block=(32,),
    ),
    "__syncwarp of the other half of the warp": Mistake(
        """\
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = in[t];
  if (t < 16) __syncwarp(0x0000ffffu); else __syncwarp(0xffff0000u);
  out[t] = s[t ^ @];
""",
        "16",
        "8",
        r"data race on s\[\d+\]",
        block=(32,),
    ),
    "a read that only some later lanes are ordered behind": Mistake(
        """\
  __shared__ float s[1];
  int t = threadIdx.x;
  if (t == 0) s[0] = in[0];
  __syncwarp();
  out[t] = s[0];
  if (t < 16) __syncwarp(0x0000ffffu);
  @
  if (t == 3) s[0] = 1;
""",
        "",
        "__syncwarp();",
        r"data race on s\[0\].* writes it, which thread \((1[6-9]|2\d|3[01]), 0, 0\) read",
        block=(32,),
    ),
    "two threads store different values": Mistake(
        "  out[threadIdx.x / 2] = @;\n", "in[threadIdx.x]", "in[threadIdx.x / 2]", "writes another value to it"
    ),
    "a value that all store is read without a barrier": Mistake(
        """\
  __shared__ float s[1];
  s[0] = in[0];
  @
  out[threadIdx.x] = s[0];
""",
        "",
        "__syncthreads();",
        r"data race on s\[0\]",
    ),
    "bytes of one word": Mistake(
        """\
  __shared__ unsigned char s[64];
  int t = threadIdx.x;
  s[t] = t;
  out[t] = s[t @ 1];
""",
        "^",
        "| 0 *",
        r"data race on s\[\d+\] \(shared memory, 1 byte\)",
    ),
    "a vector that overlaps what a neighbour stores": Mistake(
        """\
  __shared__ __align__(16) float s[256];
  int t = threadIdx.x;
  *reinterpret_cast<float4*>(&s[4 * t]) = make_float4(1, 2, 3, t);
  @
  out[t] = s[t];
""",
        "",
        "__syncthreads();",
        r"data race on s\[\d+\]",
    ),
    "dynamic shared memory": Mistake(
        """\
  extern __shared__ __align__(16) unsigned char dynamic[];
  float* s = reinterpret_cast<float*>(dynamic);
  int t = threadIdx.x;
  s[t] = in[t];
  @
  out[t] = s[63 - t];
""",
        "",
        "__syncthreads();",
        r"data race on dynamic\[\d+\]",
        shared_bytes=256,
    ),
    "a plain store beside an atomic operation": Mistake(
        """\
  __shared__ int s[1];
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  @
  __syncthreads();
  out[threadIdx.x] = s[0];
""",
        "if (threadIdx.x == 40) s[0] = 1; else atomicAdd(&s[0], 1);",
        "atomicAdd(&s[0], 1);",
        r"data race on s\[0\].* writes it, which thread .* atomically updated in line 5",
    ),
    "a plain load beside an atomic operation": Mistake(
        """\
  __shared__ int s[1];
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  atomicMax(&s[0], int(threadIdx.x));
  @
  out[threadIdx.x] = s[0];
""",
        "",
        "__syncthreads();",
        r"data race on s\[0\].* in line 5 atomically updates it, which thread .* read in line 7",
    ),
    "a shared variable of a function that two warps use": Mistake(
        """\
  __shared__ float s[64];
  int t = threadIdx.x;
  memcpy(&s[t], &in[t], sizeof(float));
  @
  memcpy(&out[t], &s[63 - t], sizeof(float));
""",
        "",
        "__syncthreads();",
        r"data race on s\[\d+\]",
    ),
    # Races in global memory
    "two blocks store in one place": Mistake(
        "  out[threadIdx.x + @] = in[threadIdx.x] + blockIdx.x;\n",
        "63 * blockIdx.x",
        "64 * blockIdx.x",
        r"data race on out\[63\] \(global memory, 4 bytes\): thread \(0, 0, 0\) of block \(1, 0, 0\) .*"
        r"thread \(63, 0, 0\) of block \(0, 0, 0\) wrote in line 2; nothing orders blocks of one launch",
        grid=(2,),
    ),
    "a block reads what another has written": Mistake(
        """\
  int t = threadIdx.x;
  if (blockIdx.x == 0) out[t] = in[t];
  if (blockIdx.x == 1) out[64 + t] = @[t];
""",
        "out",
        "in",
        r"data race on out\[0\].*block \(1, 0, 0\) in line 4 reads it, which .* of block \(0, 0, 0\) wrote in line 3",
        grid=(2,),
    ),
    "a block stores what an earlier one has read": Mistake(
        """\
  int t = threadIdx.x;
  if (blockIdx.x == 0) out[128 + t] = out[t];
  if (blockIdx.x == 1) out[@ + t] = in[t];
""",
        "0",
        "64",
        r"data race on out\[0\].* writes it, which .* of block \(0, 0, 0\) read in line 3",
        grid=(2,),
    ),
    "a sum over blocks that is not atomic": Mistake(
        "  if (threadIdx.x == 0) @;\n", "out[0] += in[0]", "atomicAdd(&out[0], in[0])", "data race on out", grid=(3,)
    ),
    "a tile of neighbours in global memory": Mistake(
        """\
  int t = threadIdx.x;
  out[t] = in[t];
  @
  out[64 + t] = out[63 - t];
""",
        "",
        "__syncthreads();",
        r"data race on out\[\d+\]",
    ),
    # Barriers
    "a barrier under a condition": Mistake(
        """\
  int t = threadIdx.x;
  if (@) {
    out[t] = in[t];
    __syncthreads();
  }
""",
        "t < 40",
        "n > 40",
        r"divergent barrier: thread \(0, 0, 0\) of block \(0, 0, 0\) waits at __syncthreads in line 5, as do 40 of 64 "
        r"threads in all, but thread \(40, 0, 0\) has ended",
    ),
    "a barrier on both ways of a condition": Mistake(
        """\
  if (@) {
    __syncthreads();
  } else {
    __syncthreads();
  }
""",
        "threadIdx.x < 32",
        "n < 32",
        r"divergent barrier: .* waits at __syncthreads in line 3.*waits at __syncthreads in line 5",
    ),
    "a barrier in a loop that threads leave at different times": Mistake(
        """\
  for (int k = 0; k < @; ++k) {
    __syncthreads();
  }
""",
        "int(threadIdx.x) / 16",
        "n / 16",
        r"divergent barrier: thread \(16, 0, 0\) .* waits at __syncthreads in line 3.*thread \(0, 0, 0\) has ended",
    ),
    "a return in front of a barrier": Mistake(
        """\
  int t = threadIdx.x;
  if (@) return;
  __syncthreads();
  out[t] = in[t];
""",
        "t >= 60",
        "n >= 80",
        r"divergent barrier: .*60 of 64 threads in all, but thread \(60, 0, 0\) has ended",
    ),
    "a warp waits for itself, the others for the block": Mistake(
        """\
  int t = threadIdx.x;
  if (t == @) __syncwarp(0x3u);
  __syncthreads();
""",
        "1",
        "0 || t == 1",
        r"divergent __syncwarp: thread \(1, 0, 0\) .* in line 3 with the mask 0x00000003, for thread \(0, 0, 0\) "
        r"\(lane 0\), which waits at __syncthreads in line 4",
    ),
    # Warps
    "a shuffle by a lane that its mask does not name": Mistake(
        "  out[threadIdx.x] = __shfl_down_sync(@, in[threadIdx.x], 1);\n",
        "0x7fffffffu",
        "0xffffffffu",
        r"__shfl_down_sync: thread \(31, 0, 0\) .* in line 2 is lane 31, which the mask 0x7fffffff does not name",
    ),
    "a shuffle that a named lane does not reach": Mistake(
        """\
  int t = threadIdx.x;
  float v = in[t];
  if (@) v += __shfl_xor_sync(0xffffffffu, v, 1);
  out[t] = v;
""",
        "t < 31",
        "t < 64",
        r"divergent __shfl_xor_sync: thread \(0, 0, 0\) .* with the mask 0xffffffff, for thread \(31, 0, 0\) "
        r"\(lane 31\), which has ended",
    ),
    "different masks at one shuffle": Mistake(
        """\
  int t = threadIdx.x % 32;
  out[threadIdx.x] = __shfl_sync(@, in[t], 0);
""",
        "t < 16 ? 0xffffffffu : 0xffff0000u",
        "0xffffffffu",
        r"divergent __shfl_sync",
    ),
    "a vote under a condition": Mistake(
        "  int t = threadIdx.x;\n  if (@) out[t] = __ballot_sync(0xffffffffu, t & 1);\n",
        "t != 7",
        "t != 70",
        r"divergent __ballot_sync: thread \(0, 0, 0\) .*thread \(7, 0, 0\)",
    ),
    "a width that is no power of two": Mistake(
        "  out[threadIdx.x] = __shfl_sync(0xffffffffu, in[threadIdx.x], 0, @);\n", "12", "16", "width 12"
    ),
    # Bounds
    "out of bounds of global memory": Mistake(
        "  out[threadIdx.x + @] = in[threadIdx.x];\n",
        "193",
        "192",
        r"out of bounds: thread \(63, 0, 0\) of block \(0, 0, 0\) in line 2 writes 4 bytes at out\[256\], byte 1024 of "
        r"out, which has 1024 bytes \(global memory\)",
    ),
    "in front of global memory": Mistake(
        "  out[threadIdx.x] = in[int(threadIdx.x) - @];\n",
        "1",
        "0",
        r"out of bounds: thread \(0, 0, 0\) .* reads 4 bytes that begin 4 in front of in, which has 1024 bytes",
    ),
    "far from all memory": Mistake(
        "  out[threadIdx.x] = in[threadIdx.x + @];\n", "(1ull << 40)", "0", r"out of bounds: .* at address 0x\w+"
    ),
    "a vector over the end of global memory": Mistake(
        "  int t = threadIdx.x;\n  *reinterpret_cast<float4*>(&out[4 * t + @]) = make_float4(0, 0, 0, 0);\n",
        "4",
        "0",
        "out of bounds: .*out",
    ),
    "out of bounds of a shared array": Mistake(
        """\
  __shared__ float s[64];
  __shared__ float other[64];
  int t = threadIdx.x;
  s[t + @] = other[t] = in[t];
  __syncthreads();
  out[t] = s[t];
""",
        "1",
        "0",
        r"out of bounds: thread \(63, 0, 0\) .* in line 5 takes index 64 of an array of type 'float \[64\]'",
    ),
    "out of bounds of a shared array of two dimensions": Mistake(
        """\
  __shared__ float s[8][8];
  int t = threadIdx.x;
  s[t / 8][t % 8 + @] = in[t];
""",
        "1",
        "0",
        r"takes index 8 of an array of type 'float \[8\]'",
    ),
    "out of bounds of dynamic shared memory": Mistake(
        """\
  extern __shared__ float s[];
  s[threadIdx.x + @] = in[threadIdx.x];
""",
        "1",
        "0",
        r"out of bounds: thread \(63, 0, 0\) .* writes 4 bytes at s\[64\], byte 256 of s, which has 256 bytes \(shared",
        shared_bytes=256,
    ),
    "out of bounds of a local array": Mistake(
        """\
  float local[8];
  for (int i = 0; i < n / 8; ++i) local[i @ 0] = in[i];
  out[threadIdx.x] = local[threadIdx.x % 8];
""",
        "+ i -",
        "+",
        r"takes index 8 of an array of type 'float \[8\]'",
    ),
    "a vector over the end of a local array": Mistake(
        """\
  __align__(16) float local[6];
  for (int i = 0; i < 6; ++i) local[i] = i;
  *reinterpret_cast<float4*>(&local[@]) = make_float4(1, 2, 3, 4);
  out[threadIdx.x] = local[n % 6];
""",
        "4",
        "0",
        r"out of bounds: thread \(0, 0, 0\) .* in line 4 takes a 'float' .* where there is no room for it",
    ),
    "a constant is written": Mistake(
        "  @\n  out[threadIdx.x] = weights[threadIdx.x % 4];\n",
        "weights[threadIdx.x % 4] = 1;",
        "",
        r"constant memory: thread \(0, 0, 0\) .* in line 2 writes weights\[0\]",
    ),
    "shared memory through a pointer over its end": Mistake(
        """\
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  float* p = s + (n > 0 ? 63 : 0);
  if (t == 0) *reinterpret_cast<float2*>(p - @) = make_float2(0, 0);
""",
        "63 + 64",
        "63",
        "out of bounds",
    ),
    "a null pointer": Mistake(
        "  float* p = @;\n  *p = 1;\n",
        "n == 64 ? nullptr : out",
        "n == 60 ? nullptr : out",
        "out of bounds: .* null pointer",
    ),
    # Other mistakes
    "uninitialized shared memory": Mistake(
        """\
  __shared__ float s[65];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  out[t] = s[t + @];
""",
        "1",
        "0",
        r"uninitialized shared memory: thread \(63, 0, 0\) .* in line 6 reads s\[64\]",
    ),
    "shared memory of an earlier block": Mistake(
        """\
  __shared__ float s[64];
  int t = threadIdx.x;
  if (@) s[t] = in[t];
  out[64 * blockIdx.x + t] = s[t];
""",
        "blockIdx.x == 0",
        "blockIdx.x < 2",
        r"uninitialized shared memory: .* of block \(1, 0, 0\)",
        grid=(2,),
    ),
    "an atomic operation on uninitialized memory": Mistake(
        """\
  __shared__ int s[1];
  @
  __syncthreads();
  atomicAdd(&s[0], 1);
""",
        "",
        "if (threadIdx.x == 0) s[0] = 0;",
        r"uninitialized shared memory: .* in line 5 atomically updates s\[0\]",
    ),
    "a vector that is not aligned": Mistake(
        "  int t = threadIdx.x;\n"
        "  *reinterpret_cast<float4*>(&out[4 * (t % 32)]) = *reinterpret_cast<const float4*>(&in[4 * (t % 32) + @]);\n",
        "2",
        "4",
        r"misaligned access: thread \(0, 0, 0\) .* in line 3 .* at byte 8 of in, expected a multiple of 16",
    ),
    "a local copy of a vector that is not aligned": Mistake(
        "  const float2 v = *reinterpret_cast<const float2*>(&in[@]);\n  out[threadIdx.x] = v.y;\n",
        "1",
        "2",
        r"misaligned access: .* in line 2 takes a 'const struct float2' at byte 4 of in, expected a multiple of 8",
    ),
    "division by zero": Mistake(
        "  out[threadIdx.x] = float(n / @);\n",
        "int(threadIdx.x)",
        "int(threadIdx.x + 1)",
        r"division of an integer by zero.*thread \(0, 0, 0\)",
    ),
    "a shift by all bits": Mistake(
        "  out[threadIdx.x] = float(1u << @);\n", "threadIdx.x", "threadIdx.x % 32", r"shift .*thread \(32, 0, 0\)"
    ),
    "an assumption that does not hold": Mistake(
        "  __builtin_assume(@);\n", "n == 63", "n == 64", "what __builtin_assume says is not so: .* in line 2"
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str) -> None:
    mistake = MISTAKES[name]
    with pytest.raises(EmulationError) as error:
        mistake.launch(mistake.wrong)
    assert re.search(mistake.found, error.value.reason), error.value.reason


@pytest.mark.parametrize("name", MISTAKES)
def test_the_right_twin_runs(name: str) -> None:
    mistake = MISTAKES[name]
    mistake.launch(mistake.right)


def test_an_error_shows_the_lines_of_the_text() -> None:
    mistake = MISTAKES["no barrier between a store and a load of another thread"]
    with pytest.raises(EmulationError) as error:
        mistake.launch(mistake.wrong)
    assert error.value.lines == (4, 6)
    assert str(error.value).endswith("    4 |   s[t] = in[t];\n    6 |   out[t] = s[63 - t];")
