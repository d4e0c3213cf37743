// RUN: stepwell-opt %s -p tir-pad-buffers | filecheck %s

// Rows get elements until their stride is what was asked for; outer strides are counted with them.
// CHECK-LABEL: tir.func @padded
tir.func @padded("x" %x: f32) {
  // CHECK-NEXT: tir.alloc_buffer "S" : memref<8x33xf32, "shared">
  %s = tir.alloc_buffer "S" attributes {stepwell.aligned = [[2 : i32, 32 : i32, 1 : i32]]} : memref<8x32xf32, "shared">
  // CHECK-NEXT: tir.alloc_buffer "T" : memref<2x5x20xf16, "shared.dyn">
  %t = tir.alloc_buffer "T" attributes {stepwell.aligned = [[2 : i32, 8 : i32, 4 : i32], [3 : i32, 50 : i32, 0 : i32]]} : memref<2x4x16xf16, "shared.dyn">
  %c = arith.constant 7 : i32
  // CHECK: tir.store %x, %{{.+}}[%c, %c] : memref<8x33xf32, "shared">
  tir.store %x, %s[%c, %c] : memref<8x32xf32, "shared">
}

// What cannot be, and other memory, stays.
// CHECK-LABEL: tir.func @stays
tir.func @stays() {
  // CHECK-NEXT: tir.alloc_buffer "A" : memref<8x4x32xf32, "shared">
  %a = tir.alloc_buffer "A" attributes {stepwell.aligned = [[1 : i32, 32 : i32, 1 : i32], [3 : i32, 64 : i32, 1 : i32]]} : memref<8x4x32xf32, "shared">
  // CHECK-NEXT: tir.alloc_buffer "L" : memref<8x32xf32, "local">
  %l = tir.alloc_buffer "L" attributes {stepwell.aligned = [[2 : i32, 32 : i32, 1 : i32]]} : memref<8x32xf32, "local">
}
