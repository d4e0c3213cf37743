// RUN: stepwell-opt %s -p tir-launch-threads | filecheck %s

// One launch; fewer threads are a branch; without a loop it is the first thread; memory of threads and of the block.
tir.func @main("A" %A: memref<8xf32>, "x" %x: f32) {
  %l = tir.alloc_buffer "L" attributes {stepwell.of_threads = ["threadIdx.x"]} : memref<8x2xf32, "local">
  %s = tir.alloc_buffer "S" : memref<1xf32, "shared">
  tir.launch_thread "bx" %bx : i32 in 1 thread "blockIdx.x" {
    tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
      %c1 = arith.constant 1 : i32
      tir.store %x, %l[%tx, %c1] : memref<8x2xf32, "local">
    }
    tir.for thread_binding "ty" %ty : i32 in [0 +: 4] thread "threadIdx.x" {
      %c1 = arith.constant 1 : i32
      %y = tir.load %l[%ty, %c1] : memref<8x2xf32, "local">
      tir.store %y, %A[%ty] : memref<8xf32>
    }
    %c0 = arith.constant 0 : i32
    tir.store %x, %s[%c0] : memref<1xf32, "shared">
  }
}
// CHECK:       tir.launch_thread "bx" %bx : i32 in 1 thread "blockIdx.x" {
// CHECK-NEXT:    %[[S:.*]] = tir.alloc_buffer "S" : memref<1xf32, "shared">
// CHECK-NEXT:    tir.launch_thread "tx" %[[tx:.*]] : i32 in 8 thread "threadIdx.x" {
// CHECK-NEXT:      %[[L:.*]] = tir.alloc_buffer "L" : memref<2xf32, "local">
// CHECK:           tir.store %x, %[[L]][%{{.*}}] : memref<2xf32, "local">
// CHECK:           %[[has:.*]] = arith.cmpi slt, %[[tx]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[has]] {
// CHECK:             %[[y:.*]] = tir.load %[[L]][%{{.*}}] : memref<2xf32, "local">
// CHECK-NEXT:        tir.store %[[y]], %A[%[[tx]]] : memref<8xf32>
// CHECK-NEXT:      }
// CHECK:           %[[first:.*]] = arith.cmpi eq, %[[tx]], %{{.*}} : i32
// CHECK:           tir.if %[[first]] {
// CHECK:             tir.store %x, %[[S]][%{{.*}}] : memref<1xf32, "shared">
