// RUN: stepwell-opt %s -p tir-schedule-gpu -t tvmscript | filecheck %s

// Elements are divided among threads.
tir.func @scale("A" %A: memref<1000xf32>, "B" %B: memref<1000xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 1000] {
    tir.block "B" (spatial "vi" %vi : i32 in [0 +: 1000] = %i) {
      tir.access reads %A[%vi] : memref<1000xf32>
      tir.access writes %B[%vi] : memref<1000xf32>
      %a = tir.load %A[%vi] : memref<1000xf32>
      %b = arith.addf %a, %a : f32
      tir.store %b, %B[%vi] : memref<1000xf32>
    }
  }
}
// CHECK-LABEL: def scale
// CHECK:       for i_0 in T.thread_binding(4, thread="blockIdx.x"):
// CHECK-NEXT:      for i_1 in T.thread_binding(256, thread="threadIdx.x"):
// CHECK-NEXT:          with T.block("B"):
// CHECK:                   T.where(i_0 * 256 + i_1 < 1000)

// What is in no block is done by one thread.
tir.func @first("A" %A: memref<8xi32>) {
  %zero = arith.constant 0 : i32
  tir.store %zero, %A[%zero] : memref<8xi32>
}
// CHECK-LABEL: def first
// CHECK:       for bx in T.thread_binding(1, thread="blockIdx.x"):
// CHECK-NEXT:      for tx in T.thread_binding(1, thread="threadIdx.x"):
// CHECK-NEXT:          A[0] = 0

// What is bound already stays as it is.
tir.func @bound("A" %A: memref<8xi32>) {
  tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
    tir.store %tx, %A[%tx] : memref<8xi32>
  }
  %zero = arith.constant 0 : i32
  tir.store %zero, %A[%zero] : memref<8xi32>
}
// CHECK-LABEL: def bound
// CHECK-NOT:   blockIdx
// CHECK:       A[0] = 0

// So does what the host does: calls of C functions with memory of the device.
tir.func @library("A" %A: memref<8xi32>) attrs {tir.is_host_func = true} {
  %a = tir.buffer_data %A : memref<8xi32> -> !tir.handle<i32>
  tir.call_extern "f"(%a) : !tir.handle<i32>
}
// CHECK-LABEL: def library
// CHECK-NOT:   Idx
// CHECK:       T.call_extern({{.*}}"f", A.data)
