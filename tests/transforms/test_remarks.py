"""The remarks of passes: for each pass, programs with the remarks of the pass, in order, with their source lines."""

from importlib import import_module

import pytest

from stepwell import apply_passes, parse_mlir, parse_tvmscript
from stepwell.core.remarks import PassRemarks, collect_remarks
from stepwell.transforms import PASSES

CONDITIONS = """\
@T.prim_func
def main(A: T.Buffer((10, 4), "float32"), m: T.int32):
    for i, j in T.grid(10, 4):
        if i < m:
            A[i, j] = 1.0
    for k in range(10):
        A[k, 1] = 2.0
        if m > 3:
            A[k, 2] = 3.0
"""
TILE = """\
@T.prim_func
def main(A: T.handle, C: T.handle):
    T.func_attr({"tir.noalias": True})
    n = T.int32()
    X = T.match_buffer(A, (n, 8), "float32")
    Y = T.match_buffer(C, (n,), "float32")
    for k in range(8):
        for i in T.unroll(4):
            if i < n:
                Y[i] = Y[i] + X[i, k]
    for k in range(8):
        for v in T.vectorized(4):
            if v < n:
                Y[v] = Y[v] + X[0, k]
"""
BLOCKS = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
"""
ROWS_AND_COLUMNS = """\
@T.prim_func
def main(A: T.Buffer((2048, 8), "float32"), B: T.Buffer((8, 2048), "float32"), C: T.Buffer((8,), "float32")):
    for k in range(2048):
        for v in T.vectorized(8):
            C[v] = C[v] + A[k, v]
    for k in range(8):
        for v in T.vectorized(8):
            C[v] = C[v] + B[k, v]
"""
CHANNELS = """\
@T.prim_func
def main(A: T.Buffer((64, 256, 16), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for b in range(64):
        for k in range(16):
            for v in T.vectorized(8):
                C[v] = C[v] + A[b, 3, k] * B[v]
        for k in range(32):
            for v in T.vectorized(8):
                C[v] = C[v] + A[b, k, 3] * B[v]
"""
FILL = """\
@T.prim_func
def {name}(A: T.Buffer(({n}, {m}), "float32")):
    T.func_attr({{"relay.kernel": True}})
    for i, j in T.grid({n}, {m}):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.float32(1)
"""
BOUND = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for t in T.thread_binding(8, thread="threadIdx.x"):
        A[t] = 1.0
"""
_OPERATORS = """\
relay.func @main("x" %x: tensor<4x8xf32>, "w" %w: tensor<8x8xf32>) {
  %0 = relay.nn.dense(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = relay.nn.relu(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = relay.exp(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = relay.nn.dense(%2, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = relay.transpose(%3) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %5 = relay.exp(%4) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %6 = relay.sum(%5) : (tensor<8x4xf32>) -> tensor<f32>
  %7 = relay.sqrt(%6) : (tensor<f32>) -> tensor<f32>
  %8 = relay.exp(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %9 = relay.nn.relu(%8) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = relay.tanh(%8) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = relay.nn.relu(%9) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %12 = relay.exp(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %13 = relay.sum(%12) {axis = [0]} : (tensor<4x8xf32>) -> tensor<8xf32>
  %14 = relay.sum(%12) {axis = [0]} : (tensor<4x8xf32>) -> tensor<8xf32>
  %15 = relay.subtract(%13, %14) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  relay.return %7 : tensor<f32>, %9 : tensor<4x8xf32>, %10 : tensor<4x8xf32>, %11: tensor<4x8xf32>, %15 : tensor<8xf32>
}
"""
CASES = [
    (
        "tir-collapse-axes",
        """\
@T.prim_func
def scale(A: T.Buffer((4, 5, 7), "float32"), B: T.Buffer((4,), "float32")):
    T.func_attr({"relay.kernel": True})
    for i, j, k in T.grid(4, 5, 7):
        with T.block("A"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            A[vi, vj, vk] = A[vi, vj, vk] * B[vi]

@T.prim_func
def transpose(A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 5), "float32")):
    T.func_attr({"relay.kernel": True})
    for i, j in T.grid(7, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
""",
        [
            "2:5: applied: axes of scale are collapsed: vj and vk",
            "13:14: missed: rows of block B have 5 elements: some access has its last axes elsewhere than in "
            "consecutive whole dimensions",
        ],
    ),
    (
        "tir-split-batch",
        """\
@T.prim_func
def scale(a: T.handle, b: T.handle):
    T.func_attr({"relay.kernel": True, "tir.noalias": True})
    n = T.int32()
    A = T.match_buffer(a, (n, 100, 100), "float32")
    B = T.match_buffer(b, (n, 100, 100), "float32")
    for i, j, k in T.grid(n, 100, 100):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] * T.float32(2)

@T.prim_func
def turn(a: T.handle, b: T.handle):
    T.func_attr({"relay.kernel": True, "tir.noalias": True})
    n = T.int32()
    A = T.match_buffer(a, (n, 100, 100), "float32")
    B = T.match_buffer(b, (n, 100, 100), "float32")
    for i, j, k in T.grid(n, 100, 100):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[n - 1 - vi, vj, vk]
""",
        [
            "2:5: applied: scale computes the items of a batch one by one",
            "13:5: missed: turn computes all items at once: block B computes an item from others, or from their number",
        ],
    ),
    (
        "tir-version-overlaps{least-updates=16}",
        """\
@T.prim_func
def sums(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 4):
        C[i] = C[i] + A[i, k]

@T.prim_func
def rows(A: T.Buffer((4, 4), "float32", strides=(8, 1)), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 4):
        C[i] = C[i] + A[i, k]
""",
        [
            "2:5: applied: function sums has a version for buffers that do not overlap",
            "7:5: missed: sums of function rows stay in memory: its buffers may overlap, since it lacks the attribute "
            "tir.noalias, and are not all contiguous",
        ],
    ),
    (
        "tir-version-rows{least-bytes=64}",
        """\
@T.prim_func
def product(x: T.handle, W: T.Buffer((4, 4), "float32"), y: T.handle):
    T.func_attr({"relay.kernel": True})
    n = T.int64()
    X = T.match_buffer(x, (n, 4), "float32")
    Y = T.match_buffer(y, (n, 4), "float32")
    for i, j, k in T.grid(n, 4, 4):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vk, vj]

@T.prim_func
def call(x: T.handle, W: T.Buffer((4, 4), "float32"), y: T.handle):
    T.func_attr({"relay.kernel": True})
    n = T.int64()
    X = T.match_buffer(x, (n, 4), "float32")
    Y = T.match_buffer(y, (n, 4), "float32")
    T.evaluate(T.call_extern("int32", "f"))
    for i, j, k in T.grid(n, 4, 4):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vk, vj]
""",
        [
            "2:5: applied: a version for one row",
            "15:5: missed: no version for one row: it has statements other than loops and blocks",
        ],
    ),
    (
        "tir-merge-kernels",
        "\n".join(
            FILL.format(name=name, n=n, m=m)
            for name, n, m in (("fill", 32, 48), ("fill_1", 64, 48), ("fill_2", 40, 20), ("fill_3", 8, 48))
        ),
        [
            "18:5: missed: fill and fill_2 differ in 32 and 40, 48 and 20, expected an extent from 16 on",
            "26:5: missed: fill and fill_3 differ in 32 and 8, expected an extent from 16 on",
            "2:5: applied: fill is fill.merged with the extent 32",
            "10:5: applied: fill_1 is fill.merged with the extent 64",
        ],
    ),
    (
        "tir-merge-kernels{least-shared=4}",
        "\n".join(
            FILL.format(name=name, n=4, m=8)
            + f"    for k in range(4):\n        A[k, 0] = A[k, 1]\n    for k in range(4):\n        A[k, 0] = {value}\n"
            for name, value in (("one", "T.float32(1)"), ("two", "A[k, 2]"))
        ),
        [
            "2:5: applied: one is one.merged with the variant 0",
            "14:5: applied: two is one.merged with the variant 1",
        ],
    ),
    (
        "tir-unroll-loops{max-extent=8}",
        """\
@T.prim_func
def main(A: T.Buffer((64,), "float32"), n: T.int32):
    for i in T.unroll(4):
        A[i] = 1.0
    for j in T.unroll(n):
        A[j] = 2.0
    for k in T.unroll(64):
        A[k] = 3.0
""",
        [
            "7:5: missed: loop k stays a loop: it has 64 iterations, max-extent is 8",
            "5:5: missed: loop j stays a loop: its number of iterations is not constant",
            "3:5: applied: loop i is unrolled: 4 copies of its body",
        ],
    ),
    (
        "tir-vectorize-loops{max-lanes=16}",
        """\
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), n: T.int32):
    for i in T.vectorized(8):
        A[0, i] = 1.0
    for i in T.vectorized(8):
        A[1, i] = 1.0
        A[2, 2] = 2.0
    for j in T.vectorized(n):
        A[0, j] = 3.0
    for k in T.vectorized(64):
        A[0, k] = 4.0
    for s in T.vectorized(8):
        A[0, 0] = A[0, 0] + A[1, s]
""",
        [
            "13:9: missed: a statement stays in a serial loop s: all iterations store to one element",
            "12:5: missed: loop s stays scalar: none of its statements becomes vectors",
            "10:5: applied: loop k becomes vectors of 16 lanes",
            "8:5: applied: loop j becomes vectors of 16 lanes; the rest of the iterations is a serial loop",
            "7:9: missed: a statement stays in a serial loop i: all iterations store to one element",
            "5:5: applied: loop i becomes vectors of 8 lanes",
            "3:5: applied: loop i becomes vectors of 8 lanes",
        ],
    ),
    (
        "tir-hoist-conditions",
        CONDITIONS,
        [
            "3:5: applied: condition `i < m` leaves loop j",
            "6:5: applied: condition `m > 3` leaves loop k, which is copied for both sides: 10 operations",
        ],
    ),
    (
        "tir-hoist-conditions{max-ops=8}",
        CONDITIONS,
        [
            "3:5: applied: condition `i < m` leaves loop j",
            "6:5: missed: condition `m > 3` stays in loop k: the copy would add 10 operations, max-ops permits 0",
        ],
    ),
    (
        "tir-promote-tiles",
        TILE,
        [
            "7:5: applied: the last tile of Y during loop k is in registers, limited by `i < n`",
            "11:5: missed: the last tile of Y during loop k stays in memory: the processor has no masks for the lanes",
        ],
    ),
    (
        "tir-promote-tiles{max-bytes=12 masks=true}",
        TILE,
        [
            "7:5: missed: the last tile of Y during loop k stays in memory: it is 16 bytes, more than 12",
            "11:5: missed: the last tile of Y during loop k stays in memory: it is 16 bytes, more than 12",
        ],
    ),
    (
        "tir-partition-loops",
        """\
@T.prim_func
def main(A: T.Buffer((10,), "float32"), m: T.int32):
    for i, j in T.grid(3, 4):
        if i * 4 + j < 10:
            A[i * 4 + j] = 1.0
    for k in range(10):
        A[k] = 1.0
        if k * 2 < m:
            A[k] = 2.0
    for k in range(10):
        if k * 2 < m:
            A[k] = 2.0
""",
        [
            "3:5: applied: loop i is divided into the iterations 0 to 1, 2, where `i * 4 + j < 10` is known",
            "3:5: applied: loop j is divided into the iterations 0 to 1, 2 to 3, where `i * 4 + j < 10` is known",
            "6:5: missed: loop k is not divided where `k * 2 < m` would be known: 0 of 10 iterations, less than half",
            "10:5: applied: loop k is divided into the iterations 0 to `(m + 1)//2 - 1`, `(m + 1)//2` to 9, "
            "where `k * 2 < m` is known",
        ],
    ),
    (
        "tir-partition-loops{max-ops=100}",
        """\
@T.prim_func
def main(a: T.handle, m: T.int32):
    n, k = T.int64(), T.int64()
    A = T.match_buffer(a, (n, k))
    for i in range(n):
        if i < m:
            A[i, 0] = 1.0
    for i, j in T.grid(n, k):
        if i + j < k:
            A[i, j] = 1.0
    for i in range(n):
        if i * 2 // 3 < m:
            A[i, 0] = 2.0
    for i in range(n):
        if i < m:
            A[i, 1] = A[i, 0] + (A[i, 0] * 3.0 - A[i, 1]) * (A[i, 2] * 4.0 - A[i, 3]) * (A[i, 4] * 5.0 - A[i, 5])
            A[i, 2] = A[i, 0] + (A[i, 0] * 3.0 - A[i, 1]) * (A[i, 2] * 4.0 - A[i, 3]) * (A[i, 4] * 5.0 - A[i, 5])
""",
        [
            "5:5: applied: loop i is divided into the iterations 0 to `m - 1`, `m` to `n - 1`, where "
            '`i < T.Cast("int64", m)` is known',
            "8:5: missed: loop i is not divided where `i + j < k` would be known: it is unknown in more than 64 "
            "iterations",
            "8:5: missed: loop j is not divided where `i + j < k` would be known: 2 ranges would add 6 operations, "
            "max-ops permits 4",
            '11:5: missed: loop i is not divided where `i * T.int64(2) // T.int64(3) < T.Cast("int64", m)` would be '
            "known: it is not linear in the loop variable, or its numbers may exceed their type",
            '14:5: missed: loop i is not divided where `i < T.Cast("int64", m)` would be known: 2 ranges would add 60 '
            "operations, max-ops permits 4",
        ],
    ),
    (
        "tir-partition-loops{max-ops=8}",
        """\
@T.prim_func
def main(A: T.Buffer((10,), "float32")):
    for i in range(12):
        if i < 10:
            A[i] = 1.0
""",
        [
            "3:5: missed: loop i is not divided where `i < 10` would be known: 2 ranges would add 6 operations, "
            "max-ops permits 1",
        ],
    ),
    (
        "tir-compact-buffers",
        """\
@T.prim_func
def main(A: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,))
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi]
""",
        ["3:9: missed: buffer B keeps its shape: blocks access it, run tir-resolve-blocks first"],
    ),
    (
        "tir-compact-buffers",
        """\
@T.prim_func
def main(A: T.Buffer((64,), "float32"), N: T.Buffer((64,), "int32")):
    B = T.alloc_buffer((64,))
    C = T.alloc_buffer((64,), strides=(2,))
    for i in range(8):
        for j in range(8):
            B[i * 8 + j] = A[j]
            C[i * 8 + j] = A[j]
        for j in range(8):
            A[j] = B[i * 8 + j] + C[N[j]]
""",
        [
            "3:9: applied: buffer B shrinks from 64 to 8 elements",
            "4:9: missed: buffer C keeps its shape: it has strides, or uses that are no loads and stores",
        ],
    ),
    (
        "tir-plan-allocations{max-stack-bytes=128}",
        """\
@T.prim_func
def main(A: T.Buffer((64,), "float32"), n: T.int32):
    B = T.alloc_buffer((8,))
    C = T.alloc_buffer((64,))
    D = T.alloc_buffer((n,))
    for i in range(8):
        for j in range(8):
            B[j] = A[j]
        for j in range(8):
            A[j] = B[j] + 1.0
    for i in range(64):
        C[i] = A[i]
        D[i] = A[i]
""",
        [
            "5:9: missed: buffer D is on the heap, in loop i: its size is dynamic",
            "3:9: applied: buffer B of 32 bytes is on the stack, in loop i",
            "4:9: missed: buffer C of 256 bytes is on the heap, in loop i, not on the stack: 96 bytes are left there",
        ],
    ),
    (
        "tir-plan-allocations{max-stack-bytes=0},convert-tir-to-scf,merge-allocations",
        """\
@T.prim_func
def main(A: T.Buffer((64,), "float32"), n: T.int32):
    B = T.alloc_buffer((64,))
    C = T.alloc_buffer((32,))
    D = T.alloc_buffer((n,))
    for i in range(64):
        B[i] = A[i]
    for i in range(64):
        A[i] = B[i]
    for i in range(32):
        C[i] = A[i]
        D[i] = C[i]
""",
        [
            "5:9: applied: buffer D memref<?xf32> is a workspace of its own: its size is dynamic",
            "3:9: applied: buffer B memref<64xf32> is in the workspace, 256 bytes from 0",
            "4:9: applied: buffer C memref<32xf32> is in the workspace, 128 bytes from 0",
            "2:5: applied: the workspace has 256 bytes, its buffers have 384 bytes in all",
        ],
    ),
    (
        "merge-allocations",
        """\
func.func @main() -> memref<16xf32> {
  %a = memref.alloc() : memref<16xf32>
  func.return %a : memref<16xf32>
}
""",
        [
            "2:3: missed: buffer a memref<16xf32> is allocated where it is used: its memory may be in use after the "
            "region of its allocation",
        ],
    ),
    (
        "hoist-allocations",
        """\
func.func @main(%n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloc(%n) : memref<?xf32> loc("p":5:5)
    memref.dealloc %a : memref<?xf32>
    %b = memref.alloc(%i) : memref<?xf32> loc("p":7:5)
    memref.dealloc %b : memref<?xf32>
    scf.if %p {
      %d = memref.alloc(%n) : memref<?xf64> loc("p":10:7)
      memref.dealloc %d : memref<?xf64>
    }
  }
  func.return
}
""",
        [
            "5:5: applied: buffer a memref<?xf32> is allocated once, outside of the loop i",
            "7:5: missed: buffer b memref<?xf32> is allocated in each iteration: the loop computes its size",
            "10:7: missed: buffer d memref<?xf64> is allocated in each iteration: it is in a branch or a while loop",
        ],
    ),
    (
        "tir-vectorize-loops,convert-tir-to-scf,split-vectors",
        """\
@T.prim_func
def main(A: T.Buffer((48,), "float32"), B: T.Buffer((48,), "int32"), C: T.Buffer((48,), "float32")):
    for i in T.vectorized(48):
        C[i] = A[i]
    for i in T.vectorized(48):
        C[i] = A[B[i]]
""",
        [
            "6:16: applied: arith.constant on 48 lanes: 32 + 16",
            "4:16: applied: vector.load on 48 lanes: 32 + 16",
            "4:9: applied: vector.store on 48 lanes: 32 + 16",
            "6:18: applied: vector.load on 48 lanes: 32 + 16",
            "6:16: applied: vector.extract on 48 lanes: 32 + 16",
            "6:16: applied: vector.insert on 48 lanes: 32 + 16",
            "6:9: applied: vector.store on 48 lanes: 32 + 16",
        ],
    ),
    (
        "split-vectors",
        """\
func.func @main(%x: vector<48xf32>) -> vector<48xf32> {
  %y = arith.addf %x, %x : vector<48xf32> loc("p":2:3)
  %z = vector.shuffle %y, %y [0] : vector<48xf32>, vector<48xf32> loc("p":3:3)
  func.return %x : vector<48xf32>
}
""",
        [
            "2:3: applied: arith.addf on 48 lanes: 32 + 16",
            "3:3: missed: vector.shuffle needs whole vectors, 48 lanes: 32 + 16",
            "4:3: missed: func.return needs whole vectors, 48 lanes: 32 + 16",
        ],
    ),
    (
        "split-vectors{masks=true}",
        """\
func.func @main(%a: memref<99xi32>, %b: memref<99xi32>, %c: memref<99xi32>, %i: index) {
  %x = vector.load %a[%i] : memref<99xi32>, vector<7xi32> loc("p":2:3)
  %y = arith.divsi %x, %x : vector<7xi32> loc("p":3:3)
  vector.store %y, %b[%i] : memref<99xi32>, vector<7xi32> loc("p":4:3)
  %u = vector.load %a[%i] : memref<99xi32>, vector<9xi32> loc("p":5:3)
  %v = vector.load %c[%i] {alignment = 4 : i64} : memref<99xi32>, vector<11xi32> loc("p":6:3)
  func.return
}
func.func @update(%a: memref<99xi32>, %i: index) {
  %x = vector.load %a[%i] : memref<99xi32>, vector<7xi32> loc("p":10:3)
  vector.store %x, %a[%i] : memref<99xi32>, vector<7xi32> loc("p":11:3)
  func.return
}
""",
        [
            "5:3: missed: vector.load is not masked: accesses of powers of two of 9 lanes are as fast",
            "6:3: missed: vector.load is not masked: it has a mask, an alignment or a cache hint",
            "2:3: applied: vector.load on 7 lanes: 7 of 8",
            "3:3: missed: arith.divsi may fail on dead lanes or call functions for them, 7 lanes: 7 of 8",
            "4:3: applied: vector.store on 7 lanes: 7 of 8",
            "10:3: missed: vector.load is not masked: the same loop loads and stores the buffer",
            "11:3: missed: vector.store is not masked: the same loop loads and stores the buffer",
        ],
    ),
    (
        "tir-vectorize-loops,convert-tir-to-scf,stream-stores{from-bytes=16384}",
        """\
@T.prim_func
def main(A: T.Buffer((16, 256), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((63, 64), "float32")):
    for i in range(16):
        for j in range(64):
            for v in T.vectorized(4):
                A[i, j * 4 + v] = 1.0
    for i in range(64):
        for j in range(64):
            for v in T.vectorized(4):
                B[j, i + v] = C[j % 63, i]
""",
        [
            "10:17: missed: buffer B memref<64x64xf32> is stored through the caches: an iteration stores 16 bytes, "
            "the next one begins 256 bytes later",
            "4:9: applied: buffer A memref<16x256xf32> is stored past the caches where it is aligned to 16 bytes",
        ],
    ),
    (
        "tir-vectorize-loops,convert-tir-to-scf,prefetch-loads{cpu=avx512 tile-bytes=32}",
        ROWS_AND_COLUMNS,
        [
            "3:5: applied: buffer A memref<2048x8xf32> is requested 1000 iterations before its loads, 1 lines in each",
            "6:5: missed: buffer B memref<8x2048xf32> is not loaded in the order of its addresses",
        ],
    ),
    (
        "tir-vectorize-loops,convert-tir-to-scf,prefetch-loads{tile-bytes=32}",
        ROWS_AND_COLUMNS,
        [
            "3:5: missed: buffer A memref<2048x8xf32> is not requested: 2 loads and requests for 1 vectors of sums",
            "6:5: missed: buffer B memref<8x2048xf32> is not loaded in the order of its addresses",
        ],
    ),
    (
        "tir-vectorize-loops,convert-tir-to-scf,prefetch-blocks{tile-bytes=32}",
        CHANNELS,
        [
            "4:9: applied: buffer A memref<64x256x16xf32> is requested a block before its loads, 1 lines",
            "7:9: missed: buffer A memref<64x256x16xf32> has no blocks of lines",
        ],
    ),
    (
        "tir-promote-elements{max-bytes=8}",
        """\
@T.prim_func
def main(A: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 2))
    for i in range(8):
        for k in range(8):
            B[i, 0] = A[i, k]
            B[i, 1] = A[i, k]
    for i in range(7):
        for k in range(8):
            B[i, 0] = A[i, k]
            B[i + 1, 0] = A[i, k]
            B[i, 1] = A[i, k]
""",
        [
            "5:9: applied: 2 elements of B are in registers during loop k",
            "9:9: missed: 3 elements of B stay in memory during loop k: they are 12 bytes, more than 8",
        ],
    ),
    (
        "tir-promote-elements",
        """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), n: T.int32):
    B = T.alloc_buffer((8,))
    for i in range(8):
        for k in range(n):
            B[i] = B[i] + A[k]
""",
        ["5:9: applied: 1 elements of B are in registers during loop k"],
    ),
    (
        "convert-tir-to-scf,outline-loops{loops=1}",
        """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(n):
        A[i] = 1.0
    for i in range(n):
        A[i] = A[i] * 2.0
        while A[i] < 8.0:
            A[i] = A[i] * 2.0
""",
        [
            "3:5: applied: 1 loops become main.loops",
            "5:5: applied: 2 loops become main.loops1",
        ],
    ),
    (
        "convert-tir-to-scf,outline-parallel-loops",
        """\
@T.prim_func
def main(A: T.Buffer((8, 8), "float32")):
    for i in T.parallel(8):
        for j in T.parallel(8):
            A[i, j] = 1.0
    for i in T.parallel(1):
        A[i, 0] = 1.0
""",
        [
            "6:5: missed: loop i has one iteration",
            "4:9: missed: loop j is executed in order: it is in a parallel loop",
            "3:5: applied: loop i is shared by threads, which call main.parallel",
        ],
    ),
    (
        "outline-loops{loops=1}",
        """\
func.func @main(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f32) {
    scf.yield %a : f32
  }
  %z = scf.for %i = %c0 to %n step %c1 iter_args(%a = %y) -> (f32) {
    scf.yield %a : f32
  }
  func.return %z : f32
}
""",
        [
            "1:1: missed: 2 loops stay: they share buffers in registers, values that cannot be computed again, or "
            "memory of their own",
        ],
    ),
    (
        "contract-floats",
        """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), H: T.Buffer((8,), "float16")):
    for i in range(8):
        B[i] = B[i] + A[i] * 2.0
    for i in range(8):
        H[i] = H[i] + H[i] * T.float16(2)
    for i in range(8):
        B[i] = A[i] - B[i]
""",
        [
            "6:21: missed: a sum of a product rounds twice: no instruction for float16",
            "4:21: applied: 1 sum of a product rounds once",
        ],
    ),
    (
        "convert-tir-to-scf,expand-math",
        """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float16"), C: T.Buffer((8,), "int8")):
    for i in range(8):
        A[i] = T.exp(A[i])
        A[i] = T.sin(A[i])
        B[i] = T.erf(B[i])
        A[i] = T.sqrt(A[i])
        C[i] = T.Cast("int8", T.nearbyint(A[i]))
""",
        [
            "4:22: applied: math.exp on f32 becomes arithmetic",
            "5:22: missed: math.sin on f32 stays a function: formulas are for vectors",
            "6:22: missed: math.erf on f16 stays a function: no formula for f16",
            "8:16: applied: arith.fptosi on i8 becomes a sum, which is rounded",
        ],
    ),
    (
        "relay-convert-conv1d",
        """\
relay.func @main("x" %x: tensor<1x8x20xf32>, "u" %u: tensor<8x8x1xf32>) {
  %v = relay.constant "v" : tensor<8x8x1xf32>
  %0 = relay.nn.conv1d(%x, %v) : (tensor<1x8x20xf32>, tensor<8x8x1xf32>) -> tensor<1x8x20xf32>
  %1 = relay.nn.conv1d(%0, %v) : (tensor<1x8x20xf32>, tensor<8x8x1xf32>) -> tensor<1x8x20xf32>
  %2 = relay.nn.conv1d(%x, %u) : (tensor<1x8x20xf32>, tensor<8x8x1xf32>) -> tensor<1x8x20xf32>
  %3 = relay.transpose(%x) {axes = [0, 1, 2]} : (tensor<1x8x20xf32>) -> tensor<1x8x20xf32>
  %4 = relay.nn.conv1d(%3, %v) : (tensor<1x8x20xf32>, tensor<8x8x1xf32>) -> tensor<1x8x20xf32>
  relay.return %1 : tensor<1x8x20xf32>, %2 : tensor<1x8x20xf32>, %4 : tensor<1x8x20xf32>
}
""",
        [
            "5:3: missed: the convolution keeps its dimension: its weights are no constants",
            "7:3: missed: the convolution keeps its dimension: no other one computes or reads its images",
            "3:3: applied: the image is one of one row",
            "4:3: applied: the image is one of one row",
        ],
    ),
    (
        "relay-slice-images",
        """\
relay.func @main("x" %x: tensor<1x256x9x9xf32>, "v" %v: tensor<256x256x1x1xf32>, "w" %w: tensor<16x256x1x1xf32>) {
  %0 = relay.nn.conv2d(%x, %v) {strides = [2, 1]} : (tensor<1x256x9x9xf32>, tensor<256x256x1x1xf32>)
    -> tensor<1x256x5x9xf32>
  %1 = relay.nn.conv2d(%x, %w) {strides = 2} : (tensor<1x256x9x9xf32>, tensor<16x256x1x1xf32>) -> tensor<1x16x5x5xf32>
  %2 = relay.nn.conv2d(%x, %v) {strides = 2, padding = 1} : (tensor<1x256x9x9xf32>, tensor<256x256x1x1xf32>)
    -> tensor<1x256x6x6xf32>
  relay.return %0 : tensor<1x256x5x9xf32>, %1 : tensor<1x16x5x5xf32>, %2 : tensor<1x256x6x6xf32>
}
""",
        [
            "2:3: applied: the pixels in steps of 2 and 1 are copied first",
            "4:3: missed: the convolution reads all pixels: 256 to 16 channels, expected 256 or more",
            "5:3: missed: the convolution reads all pixels: padding",
        ],
    ),
    (
        "relay-convert-layout",
        """\
relay.func @main("x" %x: tensor<1x32x9x9xf32>) {
  %v = relay.constant "v" : tensor<16x32x3x3xf32>
  %w = relay.constant "w" : tensor<32x16x3x3xf32>
  %0 = relay.nn.conv2d(%x, %v) : (tensor<1x32x9x9xf32>, tensor<16x32x3x3xf32>) -> tensor<1x16x7x7xf32>
  %1 = relay.nn.conv2d(%0, %w) : (tensor<1x16x7x7xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x5x5xf32>
  relay.return %1 : tensor<1x32x5x5xf32>
}
""",
        [
            "4:3: applied: 16 channels of the result are in blocks of 16",
            "5:3: missed: the result has no blocks: return reads it as it is",
        ],
    ),
    (
        "relay-pack-weights",
        """\
relay.func @main("x" %x: tensor<8x32xf32>, "v" %v: tensor<40x32xf32>, "y" %y: tensor<1x3x9x9xf32>) {
  %w = relay.constant "w" : tensor<40x32xf32>
  %0 = relay.nn.dense(%x, %w) : (tensor<8x32xf32>, tensor<40x32xf32>) -> tensor<8x40xf32>
  %1 = relay.nn.dense(%x, %v) : (tensor<8x32xf32>, tensor<40x32xf32>) -> tensor<8x40xf32>
  %f = relay.constant "f" : tensor<20x3x3x3xf32>
  %2 = relay.nn.conv2d(%y, %f) : (tensor<1x3x9x9xf32>, tensor<20x3x3x3xf32>) -> tensor<1x20x7x7xf32>
  relay.return %0 : tensor<8x40xf32>, %1 : tensor<8x40xf32>, %2 : tensor<1x20x7x7xf32>
}
""",
        [
            "3:3: applied: the weights are stored in 3 blocks of 16 rows",
            "4:3: missed: the weights stay as they are: they are no constants",
            "6:3: missed: the weights stay as they are: 20 output channels in blocks of 16 have 12 channels of zeros",
        ],
    ),
    (
        "relay-pack-quantized{bytes=true}",
        """\
relay.func @main("x" %x: tensor<8x32xui8>, "v" %v: tensor<40x32xi8>, "z" %z: tensor<8xi32>) {
  %w = relay.constant 1 : tensor<40x32xi8>
  %y = relay.constant 0 : tensor<i32>
  %s = relay.constant 1.0 : tensor<f32>
  %0 = relay.qnn.dense(%x, %w, %y, %y, %s, %s) {units = 40} : (tensor<8x32xui8>, tensor<40x32xi8>, tensor<i32>,
    tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<8x40xi32>
  %1 = relay.qnn.dense(%x, %v, %y, %y, %s, %s) {units = 40} : (tensor<8x32xui8>, tensor<40x32xi8>, tensor<i32>,
    tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<8x40xi32>
  relay.return %0 : tensor<8x40xi32>, %1 : tensor<8x40xi32>
}
""",
        [
            "5:3: applied: the product is computed with bytes, its weights are packed",
            "7:3: missed: the product is computed with int32: weights, or their zero points, are no constants",
        ],
    ),
    (
        "relay-quantize-products",
        """\
relay.func @main("x" %x: tensor<8x32xui8>, "v" %v: tensor<40x32xi8>) {
  %w = relay.constant 1 : tensor<40x32xi8>
  %y = relay.constant 0 : tensor<i32>
  %s = relay.constant 1.0 : tensor<f32>
  %0 = relay.qnn.dequantize(%x, %s, %y) : (tensor<8x32xui8>, tensor<f32>, tensor<i32>) -> tensor<8x32xf32>
  %1 = relay.qnn.dequantize(%w, %s, %y) : (tensor<40x32xi8>, tensor<f32>, tensor<i32>) -> tensor<40x32xf32>
  %2 = relay.qnn.dequantize(%v, %s, %y) : (tensor<40x32xi8>, tensor<f32>, tensor<i32>) -> tensor<40x32xf32>
  %3 = relay.nn.dense(%0, %1) : (tensor<8x32xf32>, tensor<40x32xf32>) -> tensor<8x40xf32>
  %4 = relay.nn.dense(%0, %2) : (tensor<8x32xf32>, tensor<40x32xf32>) -> tensor<8x40xf32>
  relay.return %3 : tensor<8x40xf32>, %4 : tensor<8x40xf32>
}
""",
        [
            "8:3: applied: the product is computed with the integers that its operands represent",
            "9:3: missed: the product is computed with floats: weights are no constants",
        ],
    ),
    (
        "relay-widen-operands",
        """\
relay.func @main("x" %x: tensor<8x32xbf16>, "y" %y: tensor<3x32xbf16>, "w" %w: tensor<40x32xbf16>) {
  %0 = relay.nn.dense(%x, %w) {out_dtype = "float32"} : (tensor<8x32xbf16>, tensor<40x32xbf16>) -> tensor<8x40xf32>
  %1 = relay.nn.dense(%y, %w) {out_dtype = "float32"} : (tensor<3x32xbf16>, tensor<40x32xbf16>) -> tensor<3x40xf32>
  relay.return %0 : tensor<8x40xf32>, %1 : tensor<3x40xf32>
}
""",
        [
            "2:3: applied: its operands are converted to float32",
            "3:3: missed: 3 rows use each weight, expected 4 or more",
        ],
    ),
    (
        "relax-fuse-kernels",
        """\
tir.func @f("A" %A: !tir.handle, "B" %B: !tir.handle) {
  %n = tir.symbol "n" : i32
  %a = tir.match_buffer "A" %A dims [%n] : !tir.handle -> memref<?xf32>
  %b = tir.match_buffer "B" %B dims [%n] : !tir.handle -> memref<?xf32>
  tir.for serial "i" %i : i32 in [0 +: %n] {
    tir.block "B" (spatial "v" %v : i32 in [0 +: %n] = %i) {
      %0 = tir.load %a[%v] : memref<?xf32>
      tir.store %0, %b[%v] : memref<?xf32>
    }
  }
}
tir.func @g("A" %A: !tir.handle, "B" %B: !tir.handle) {
  %n = tir.symbol "n" : i64
  %a = tir.match_buffer "A" %A dims [%n : i64] : !tir.handle -> memref<?xf32>
  %b = tir.match_buffer "B" %B dims [%n : i64] : !tir.handle -> memref<?xf32>
  tir.for serial "i" %i : i64 in [0 +: %n] {
    tir.block "B" (spatial "v" %v : i64 in [0 +: %n] = %i) {
      %0 = tir.load %a[%v : i64] : memref<?xf32>
      tir.store %0, %b[%v : i64] : memref<?xf32>
    }
  }
}
relax.func @main("x" %x: tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">> {
  %0 = relax.call_tir @f(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  %1 = relax.call_tir @f(%0) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  relax.return %1 : tensor<?xf32, #relay.sizes<"n">>
}
relax.func @other("x" %x: tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">> {
  %0 = relax.call_tir @f(%x) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  %1 = relax.call_tir @g(%0) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  relax.return %1 : tensor<?xf32, #relay.sizes<"n">>
}
""",
        [
            "25:3: applied: fused_f_f computes 2 results",
            "30:3: missed: size n is of type i32 and of type i64",
        ],
    ),
    (
        "relax-reuse-operands",
        """\
tir.func @f("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    %0 = tir.load %A[%i] : memref<4xf32>
    tir.store %0, %B[%i] : memref<4xf32>
  }
}
relax.func @main("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.call_tir @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir @f(%0) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
""",
        [
            "8:3: missed: operand 0 is not overwritten: it is a parameter, a constant or a value that may be kept",
            "9:3: applied: the result is in the memory of operand 0",
        ],
    ),
    (
        "relax-plan-memory",
        """\
relax.func @main("x" %x: tensor<4xf32>, "y" %y: tensor<?xf32, #relay.sizes<"m">>) -> tensor<4xf32>
    attrs {tir_var_upper_bound = {n = 5}} {
  %0 = relax.call_dps_packed "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_dps_packed "g"(%y) : (tensor<?xf32, #relay.sizes<"m">>) -> tensor<?xf32, #relay.sizes<"m">>
  %2 = relax.call_dps_packed "h"(%0, %1) : (tensor<4xf32>, tensor<?xf32, #relay.sizes<"m">>) -> tensor<4xf32>
  relax.return %2 : tensor<4xf32>
}
""",
        [
            "3:3: applied: the result has 64 bytes of memory that all calls use",
            "4:3: missed: each call allocates the result: its size has no upper bound",
            "5:3: missed: each call allocates the result: relax.return reads it",
        ],
    ),
    (
        "relay-convert-convolutions",
        """\
relay.func @main("x" %x: tensor<1x64x56x56xf32>, "w" %w: tensor<64x64x3x3xf32>) {
  %0 = relay.nn.conv2d(%x, %w) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x54x54xf32>
  %1 = relay.nn.conv2d(%x, %w) {strides = 2} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x27x27xf32>
  relay.return %0 : tensor<1x64x54x54xf32>, %1 : tensor<1x64x27x27xf32>
}
""",
        [
            "2:3: applied: Winograd's algorithm with tiles of 4, estimated 2.14 times as fast",
            "3:3: missed: the convolution stays direct: strides 2, expected 1",
        ],
    ),
    (
        "tir-schedule-gpu",
        """\
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vj]
    B[0] = 1.0
""",
        [
            "4:14: missed: block B: not by the rule gemm: it reads 1 elements for each step, expected two",
            "4:14: missed: block B: not by the rule convolution: it reads 1 elements for each step, expected two",
            "4:14: missed: block B: not by the rule gemv: it reads 1 elements for each step, expected two",
            "4:14: missed: block B: not by the rule normalization: nothing is computed of it",
            "4:14: missed: block B: not by the rule reduction by blocks: its steps are too few, or its results too "
            "many, for several blocks for each result",
            "4:14: applied: block B: by the rule reduction",
            "2:5: missed: 1 statements without a block: one thread computes them",
        ],
    ),
    (
        "tir-sanitize",
        """\
@T.prim_func
def host(A: T.Buffer((8,), "float32"), n: T.int32):
    A[n] = 1.0 / A[0]
@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), n: T.int32):
    for t in T.thread_binding(8, "threadIdx.x"):
        A[t] = A[n]
""",
        [
            "2:5: applied: function host has 1 checks",
            "6:5: missed: function kernel has no checks: loop t is bound to threadIdx.x",
        ],
    ),
    (
        "tir-interleave-vthreads",
        """\
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), n: T.int32):
    for v in T.thread_binding(2, "vthread.x"):
        A[v, 0] = 1.0
    for w in T.thread_binding(n, "vthread.x"):
        A[w, 1] = 1.0
    B = T.alloc_buffer((8,), strides=(2,))
    for x in T.thread_binding(2, "vthread.x"):
        B[0] = A[x, 0]
        A[x, 1] = B[0]
""",
        [
            "8:5: missed: loop x becomes serial: buffer B, of which each virtual thread needs its own, has "
            "strides, or uses other than loads and stores",
            "5:5: missed: loop w becomes serial: its iterations are not 0, 1, ... to a known number",
            "3:5: applied: 2 virtual threads of loop v are interleaved in one thread",
        ],
    ),
    (
        "tir-interleave-vthreads{serial=true}",
        """\
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for v in T.thread_binding(2, "vthread.x"):
        A[v] = 1.0
""",
        [
            "3:5: applied: virtual threads of loop v run in order",
        ],
    ),
    (
        "te-inline{recompute=false}",
        """\
te.func @main {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %B = te.compute "B" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
    %0 = te.read %A[%i] : tensor<8xf32>
    te.yield %0 : f32
  }
  %C = te.compute "C" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
    %1 = te.read %B[%i] : tensor<8xf32>
    %2 = arith.mulf %1, %1 : f32
    te.yield %2 : f32
  }
  %D = te.compute "D" (spatial "i" %i : i32 in [0 +: 4], spatial "j" %j : i32 in [0 +: 8]) : tensor<4x8xf32> {
    %3 = te.read %C[%j] : tensor<8xf32>
    te.yield %3 : f32
  }
  te.params %A : tensor<8xf32>, %D : tensor<4x8xf32>
}
""",
        [
            "7:3: missed: tensor C stays: elements would be computed several times",
            "3:3: applied: tensor B is computed where its elements are read",
        ],
    ),
    (
        "relay-partition{libraries=cblas}",
        """\
relay.func @main("x" %x: tensor<1x8xf32>, "w" %w: tensor<8x8xf32>, "i" %i: tensor<2x2xi32>) {
  %0 = relay.nn.dense(%x, %w) : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
  %1 = relay.nn.matmul(%i, %i) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  relay.return %0 : tensor<1x8xf32>, %1 : tensor<2x2xi32>
}
""",
        [
            "2:3: applied: library cblas computes nn.dense",
            "3:3: missed: nn.matmul is not for library cblas: it does not compute these types, shapes and attributes",
        ],
    ),
    (
        "relay-partition{libraries=cudnn}",
        """\
relay.func @main("x" %x: tensor<1x3x8x8xf32>, "w" %w: tensor<4x3x3x3xf32>, "b" %b: tensor<4xf32>) {
  %0 = relay.nn.conv2d(%x, %w) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = relay.nn.bias_add(%0, %b) : (tensor<1x4x6x6xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  %2 = relay.nn.relu(%1) : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  relay.return %1 : tensor<1x4x6x6xf32>, %2 : tensor<1x4x6x6xf32>
}
""",
        [
            "2:3: applied: library cudnn computes nn.conv2d",
            "4:3: missed: nn.relu is not for library cudnn: a result inside of the pattern has other readers, or "
            "is computed outside of the branch",
        ],
    ),
    (
        "relay-partition",
        """\
relay.func @main("x" %x: tensor<8xf32>) {
  relay.return %x : tensor<8xf32>
}
""",
        [
            "1:1: missed: no operator leaves its graph: no library is given",
        ],
    ),
    (
        "relay-fold-scale-axis",
        """\
relay.func @main("x" %x: tensor<2x3xf32>, "p" %p: tensor<4xf32>, "v" %v: tensor<4x3xf32>) {
  %w = relay.constant "w" : tensor<4x3xf32>
  %s = relay.constant "s" : tensor<4xf32>
  %r = relay.constant "r" : tensor<2x1xf32>
  %0 = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = relay.multiply(%0, %s) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = relay.multiply(%1, %p) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = relay.nn.dense(%x, %v) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %4 = relay.multiply(%3, %s) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %5 = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %6 = relay.multiply(%5, %r) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  relay.return %2 : tensor<2x4xf32>, %4 : tensor<2x4xf32>, %6 : tensor<2x4xf32>
}
""",
        [
            "6:3: applied: the factor is part of constant weights",
            "7:3: missed: the factor is not folded into weights: it is no constant",
            "9:3: missed: the factor is not folded into weights: nn.dense before it has no constant weights; no "
            "operator alone reads the product",
            "11:3: missed: the factor is not folded into weights: it is along axis 0, the channels of nn.dense "
            "are axis 1; no operator alone reads the product",
        ],
    ),
    (
        "relay-fuse-attention{least-bytes=256}",
        """\
relay.func @main("q" %q: tensor<2x8x4xf32>, "p" %p: tensor<1x8x8xf32>) {
  %s = relay.nn.batch_matmul(%q, %q) : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  %w = relay.nn.softmax(%s) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %y = relay.nn.batch_matmul(%w, %q) {transpose_b = false} : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %t = relay.nn.batch_matmul(%p, %p) : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %u = relay.nn.softmax(%t) : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %z = relay.nn.batch_matmul(%u, %p) : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  relay.return %y : tensor<2x8x4xf32>, %z : tensor<1x8x8xf32>
}
""",
        [
            "4:3: applied: one kernel computes the 3 operators of an attention",
            "5:3: missed: 256 bytes of scores, expected more than 256",
        ],
    ),
    (
        "relay-fuse-operators",
        _OPERATORS,
        [
            "4:3: missed: exp is not fused with nn.dense: nn.dense reads it by the pattern out_fusable, expected at "
            "most comm_reduce",
            "5:3: missed: nn.dense is not fused with transpose: transpose reads it by the pattern injective, expected "
            "at most elemwise",
            "6:3: missed: transpose is not fused with exp: the kernel of exp has the pattern comm_reduce, expected at "
            "most injective",
            "8:3: missed: sum is not fused with sqrt: its pattern is comm_reduce",
            "10:3: missed: exp is not fused with tanh, nn.relu: its readers have no common reader that all paths reach",
            "11:3: missed: nn.relu is not fused with nn.relu: its result leaves the operators of the block, by "
            "relay.return",
            "14:3: missed: exp is not fused with sum: the kernel of subtract would have two reductions or products",
            "15:3: missed: sum is not fused with subtract: its pattern is comm_reduce",
            "16:3: missed: sum is not fused with subtract: its pattern is comm_reduce",
            "4:3: applied: one kernel computes nn.dense, nn.relu and exp",
            "8:3: applied: one kernel computes exp and sum",
        ],
    ),
    (
        "relay-fuse-operators{level=1}",
        """\
relay.func @main("x" %x: tensor<4x8xf32>) {
  %0 = relay.transpose(%x) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = relay.exp(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  relay.return %1 : tensor<8x4xf32>
}
""",
        ["2:3: missed: transpose is not fused with exp: level 1 fuses no injective operator with its readers"],
    ),
    (
        "relay-fuse-operators{level=0}",
        """\
relay.func @main("x" %x: tensor<8xf32>) {
  %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.exp(%0) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %1 : tensor<8xf32>
}
""",
        ["2:3: missed: exp is not fused with exp: level is 0"],
    ),
    (
        "tir-sanitize",
        """\
func.func @f() {
  func.return
}
""",
        ["1:1: missed: func.func is not checked, expected tir.func"],
    ),
    (
        "tir-promote-elements",
        """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), S: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": False})
    for k in range(8):
        S[0] = S[0] + A[k]
    for k in range(8):
        B[0] = B[0] + 1.0
        T.evaluate(T.call_extern("int32", "abs", k))
""",
        [
            "4:5: missed: 1 elements of S stay in memory during loop k: A may be the same memory",
            "6:5: missed: 1 elements of B stay in memory during loop k: the loop contains tir.call_extern",
        ],
    ),
    (
        "tir-pad-buffers",
        """\
tir.func @main("n" %n: i32) {
  %s = tir.alloc_buffer "S" attributes {stepwell.aligned = [[2 : i32, 32 : i32, 1 : i32]]} : memref<8x32xf32, "shared">
  %t = tir.alloc_buffer "T" dims [%n]
    attributes {stepwell.aligned = [[2 : i32, 8 : i32, 1 : i32]]} : memref<8x?xf32, "shared">
}
""",
        [
            "2:3: applied: buffer S grows from 8x32 to 8x33 elements",
            "3:3: missed: buffer T keeps its shape: it has dynamic extents or strides",
        ],
    ),
    (
        "relay-plan-memory",
        """\
relay.func primitive @fused_exp("p0" %p0: tensor<8xf32>) {
  %0 = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %0 : tensor<8xf32>
}
relay.func primitive @fused_sin("p0" %p0: tensor<?xf32, #relay.sizes<"n">>) {
  %0 = relay.sin(%p0) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  relay.return %0 : tensor<?xf32, #relay.sizes<"n">>
}
relay.func @main("x" %x: tensor<8xf32>, "y" %y: tensor<?xf32, #relay.sizes<"n">>, "c" %c: tensor<i1>) {
  %0 = relay.call @fused_exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.call @fused_sin(%y) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  %2 = relay.sin(%1) : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>
  %3 = relay.if %c : tensor<i1> -> tensor<8xf32> {
    %4 = relay.call @fused_exp(%0) : (tensor<8xf32>) -> tensor<8xf32>
    %5 = relay.call @fused_exp(%4) : (tensor<8xf32>) -> tensor<8xf32>
    relay.yield %5 : tensor<8xf32>
  } else {
    relay.yield %0 : tensor<8xf32>
  }
  relay.return %2 : tensor<?xf32, #relay.sizes<"n">>, %3 : tensor<8xf32>
}
""",
        [
            "9:1: applied: the workspace has 64 bytes, its tensors have 64 bytes in all",
            "9:1: applied: a dynamic workspace has 64 * n bytes",
            "12:3: missed: relay.sin has no place in the workspace, run relay-fuse-operators first",
            "14:5: missed: result 0 has no place in the workspace: it is in a branch",
        ],
    ),
    ("tir-hoist-conditions", BOUND, ["2:5: missed: function main stays as it is: loops are bound to threads"]),
    ("tir-check-bounds", BLOCKS, ["4:14: missed: blocks are not checked, run tir-resolve-blocks first: B"]),
    *(
        (name, BLOCKS, ["4:14: missed: blocks stay as they are, run tir-resolve-blocks first: B"])
        for name in (
            "tir-promote-tiles",
            "tir-hoist-conditions",
            "tir-partition-loops",
            "tir-promote-elements",
            "tir-pad-buffers",
        )
    ),
]
"""The pipeline, whose last pass makes the remarks, the program, and the remarks without the names of file and pass."""


def remarks_of(program: str, pipeline: str) -> list[str]:
    """The remarks of the last pass of a pipeline, without the names of file and pass."""
    name = pipeline.split(",")[-1].partition("{")[0]
    landings = ("func.func", "relay.func", "relax.func", "te.func", "tir.func")
    parse = parse_mlir if program.startswith(landings) else parse_tvmscript
    module = parse(program, filename="p")
    with collect_remarks() as remarks:
        apply_passes(module, pipeline)
    return [
        str(remark).removeprefix("p:").replace(f"{name}: ", "", 1) for remark in remarks if remark.pass_name == name
    ]


@pytest.mark.parametrize(("pipeline", "program", "expected"), CASES)
def test_a_pass_reports_its_decisions(pipeline: str, program: str, expected: list[str]) -> None:
    assert remarks_of(program, pipeline) == expected


def _reporting_passes() -> list[str]:
    modules = {name: import_module(f"stepwell.transforms.{place}") for name, place in PASSES.items()}
    return [name for name, module in modules.items() if hasattr(module, "_remarks")]


@pytest.mark.parametrize("name", _reporting_passes())
def test_remarks_have_the_name_of_the_pass(name: str) -> None:
    remarks = import_module(f"stepwell.transforms.{PASSES[name]}")._remarks
    assert isinstance(remarks, PassRemarks)
    assert remarks.pass_name == name


@pytest.mark.parametrize("name", sorted({*_reporting_passes()} - {"tir-schedule-cpu", "tir-check-bounds"}))
def test_every_reporting_pass_has_both_kinds_of_remarks_in_a_case(name: str) -> None:
    remarks = [
        remark for pipeline, _, expected in CASES if pipeline.split(",")[-1].startswith(name) for remark in expected
    ]
    assert any(": applied: " in remark for remark in remarks)
    assert any(": missed: " in remark for remark in remarks)


def test_a_loop_without_a_location_has_that_of_its_first_statement() -> None:
    program = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in T.unroll(4):
        A[i] = 1.0
"""
    module = parse_tvmscript(program, filename="p")
    (loop,) = (op for op in module.op.walk() if op.name == "tir.for")
    loop.location = type(module.op)([]).location
    with collect_remarks() as remarks:
        apply_passes(module, "tir-unroll-loops")
    assert [str(remark.place) for remark in remarks] == ["p:4:9"]
