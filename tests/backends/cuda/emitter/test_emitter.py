"""The text and the results of kernels: names, parameters, shared memory, barriers, and unsupported kernels."""

import numpy as np
import pytest

from stepwell.backends.cuda.emitter import emit_cuda
from stepwell.core.errors import UnsupportedError
from stepwell.tools.testing.upstream import STRIDED_COPY

PRODUCT = """
"gpu.module"() <{sym_name = "device"}> ({
  "gpu.func"() <{function_type = (memref<64x32xf32>, memref<32x64xf32>, memref<64x64xf32>) -> (), kernel}> ({
  ^bb0(%A: memref<64x32xf32>, %B: memref<32x64xf32>, %C: memref<64x64xf32>):
    %bx = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
    %tx = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %acc = "memref.alloca"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<1xf32, "local">
    %A_shared = "memref.alloca"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<32xf32, "shared">
    %start = arith.muli %bx, %c32 : index
    %j = arith.addi %start, %tx : index
    memref.store %zero, %acc[%c0] : memref<1xf32, "local">
    %x = memref.load %A[%bx, %tx] : memref<64x32xf32>
    memref.store %x, %A_shared[%tx] : memref<32xf32, "shared">
    "gpu.barrier"() : () -> ()
    scf.for %k = %c0 to %c32 step %c1 {
      %a = memref.load %A_shared[%k] : memref<32xf32, "shared">
      %b = memref.load %B[%k, %j] : memref<32x64xf32>
      %p = arith.mulf %a, %b : f32
      %s = memref.load %acc[%c0] : memref<1xf32, "local">
      %t = arith.addf %s, %p : f32
      memref.store %t, %acc[%c0] {stepwell.block = "C_update"} : memref<1xf32, "local">
    }
    %r = memref.load %acc[%c0] : memref<1xf32, "local">
    memref.store %r, %C[%bx, %j] : memref<64x64xf32>
    "gpu.return"() : () -> ()
  }) {sym_name = "product", stepwell.noalias, gpu.known_block_size = array<i32: 32, 1, 1>} : () -> ()
}) : () -> ()
"""

PRODUCT_TEXT = """\
extern "C" __global__ void __launch_bounds__(32) product(const float* __restrict__ A, const float* __restrict__ B, \
float* __restrict__ C) {
  const int bx = blockIdx.x;
  const int tx = threadIdx.x;
  __align__(4) float acc[1];
  __shared__ __align__(16) float A_shared[32];
  const int j = bx * 32 + tx;
  acc[0] = 0.0f;
  A_shared[tx] = A[bx * 32 + tx];
  __syncthreads();
  // C_update
  for (int k = 0; k < 32; ++k) {
    acc[0] = acc[0] + A_shared[k] * B[k * 64 + j];
  }
  C[bx * 64 + j] = acc[0];
}
""".replace("__align__(4) ", "")


def test_a_kernel_reads_like_one_written_by_hand(emit_text) -> None:
    emitted = emit_text(PRODUCT)
    assert emitted.source == PRODUCT_TEXT
    (kernel,) = emitted.kernels
    assert (kernel.name, kernel.symbol, kernel.block_size) == ("product", "product", (32, 1, 1))
    assert (kernel.shared_bytes, kernel.dynamic_shared_bytes) == (128, 0)
    assert [(p.name, p.dtype, p.writes) for p in kernel.parameters] == [
        ("A", "float32", False), ("B", "float32", False), ("C", "float32", True)]  # fmt: skip


def test_nvrtc_takes_the_kernel(emit_text, nvrtc) -> None:
    nvrtc(emit_text(PRODUCT).source)


def test_an_operation_that_nothing_writes_is_named(emit_text) -> None:
    with pytest.raises(UnsupportedError, match=r"tensor\.empty"):
        emit_text("func.func @f() { %a = tensor.empty() : tensor<4xf32>\n func.return }")


def test_there_is_a_gpu_module(parse_upstream) -> None:
    with pytest.raises(UnsupportedError, match=r"expected a gpu\.module, got none"):
        emit_cuda(parse_upstream("func.func private @f()"))


def test_open_parts_of_a_layout_are_parameters(on_host) -> None:
    kernel = on_host(STRIDED_COPY)["main"]
    assert [(p.name, p.role, p.axis) for p in kernel.kernel.parameters] == [
        ("a", "pointer", None), ("a_size0", "size", 0), ("a_size1", "size", 1), ("a_stride0", "stride", 0),
        ("a_stride1", "stride", 1), ("a_offset", "offset", None), ("b", "pointer", None), ("b_size0", "size", 0),
        ("b_size1", "size", 1)]  # fmt: skip
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (a.T, a[::2, 1::2], a[::-1], a[1:, 2:]):
        out = np.zeros(view.shape, np.float32)
        kernel(view, out)
        np.testing.assert_array_equal(out, view)
