// RUN: stepwell-opt %s -p tir-check-launches | filecheck %s

// What a GPU can launch stays as it is.
tir.func @main("A" %A: memref<4x1024xf32>, "x" %x: f32) {
  tir.launch_thread "bx" %bx : i32 in 4 thread "blockIdx.x" {
    %s = tir.alloc_buffer "S" : memref<12288xf32, "shared">
    tir.launch_thread "tx" %tx : i32 in 1024 thread "threadIdx.x" {
      tir.store %x, %s[%tx] : memref<12288xf32, "shared">
      tir.store %x, %A[%bx, %tx] : memref<4x1024xf32>
    }
  }
}
// CHECK:       tir.launch_thread "bx" %bx : i32 in 4 thread "blockIdx.x" {
// CHECK-NEXT:    %s = tir.alloc_buffer "S" : memref<12288xf32, "shared">
// CHECK-NEXT:    tir.launch_thread "tx" %tx : i32 in 1024 thread "threadIdx.x" {
