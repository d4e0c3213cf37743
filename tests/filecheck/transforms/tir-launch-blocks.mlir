// RUN: stepwell-opt %s -p tir-launch-blocks | filecheck %s

// Loops over blocks come to the front, one launch for each axis; one with fewer numbers is a branch.
tir.func @main("A" %A: memref<4x8xf32>, "B" %B: memref<4x8xf32>, "x" %x: f32) {
  tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
    tir.for thread_binding "i" %i : i32 in [0 +: 4] thread "blockIdx.x" {
      tir.store %x, %A[%i, %tx] : memref<4x8xf32>
    }
    tir.for thread_binding "j" %j : i32 in [0 +: 2] thread "blockIdx.x" {
      tir.store %x, %B[%j, %tx] : memref<4x8xf32>
    }
  }
}
// CHECK:       tir.launch_thread "i" %[[bx:.*]] : i32 in 4 thread "blockIdx.x" {
// CHECK-NEXT:    tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
// CHECK-NEXT:      tir.store %x, %A[%[[bx]], %tx] : memref<4x8xf32>
// CHECK-NEXT:      %[[two:.*]] = arith.constant 2 : i32
// CHECK-NEXT:      %[[has:.*]] = arith.cmpi slt, %[[bx]], %[[two]] : i32
// CHECK-NEXT:      tir.if %[[has]] {
// CHECK-NEXT:        tir.store %x, %B[%[[bx]], %tx] : memref<4x8xf32>

// A kernel without loops over blocks is one block; each outermost loop is a kernel.
tir.func @two("A" %A: memref<8xf32>, "n" %n: i32, "x" %x: f32) {
  tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
    tir.store %x, %A[%tx] : memref<8xf32>
  }
  tir.for thread_binding "b" %b : i32 in [0 +: %n] thread "blockIdx.y" {
    tir.store %x, %A[%b] : memref<8xf32>
  }
}
// CHECK-LABEL: tir.func @two(
// CHECK-NEXT:    tir.launch_thread "bx" %{{.*}} : i32 in 1 thread "blockIdx.x" {
// CHECK-NEXT:      tir.for thread_binding "tx"
// CHECK:         tir.launch_thread "b" %{{.*}} : i32 in %n thread "blockIdx.y" {
// CHECK-NEXT:      tir.store
