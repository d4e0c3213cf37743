// RUN: stepwell-opt %s -p tir-merge-kernels | filecheck %s

// Kernels that differ in the number of rows call one function; a public kernel keeps its parameters.
tir.func @scale("A" %A: memref<32x48xf32>, "B" %B: memref<48xf32>) attrs {relay.kernel = true} {
  tir.for serial "i" %i : i32 in [0 +: 32] {
    tir.for vectorized "j" %j : i32 in [0 +: 48] {
      tir.block "A" (spatial "vi" %vi : i32 in [0 +: 32] = %i, spatial "vj" %vj : i32 in [0 +: 48] = %j) {
        tir.access reads %B[%vj] : memref<48xf32>
        tir.access writes %A[%vi, %vj] : memref<32x48xf32>
        %b = tir.load %B[%vj] : memref<48xf32>
        tir.store %b, %A[%vi, %vj] : memref<32x48xf32>
      }
    }
  }
}
tir.func private @scale_1("A" %A: memref<40x48xf32>, "B" %B: memref<48xf32>) attrs {relay.kernel = true} {
  tir.for serial "i" %i : i32 in [0 +: 40] {
    tir.for vectorized "j" %j : i32 in [0 +: 48] {
      tir.block "A" (spatial "vi" %vi : i32 in [0 +: 40] = %i, spatial "vj" %vj : i32 in [0 +: 48] = %j) {
        tir.access reads %B[%vj] : memref<48xf32>
        tir.access writes %A[%vi, %vj] : memref<40x48xf32>
        %b = tir.load %B[%vj] : memref<48xf32>
        tir.store %b, %A[%vi, %vj] : memref<40x48xf32>
      }
    }
  }
}
tir.func @caller("A" %A: memref<40x48xf32>, "B" %B: memref<48xf32>) {
  tir.call @scale_1(%A, %B) : memref<40x48xf32>, memref<48xf32>
}
// CHECK:       tir.func private @scale.merged("A" %A: !tir.handle<f32>, "B" %B: memref<48xf32>, "extent" %extent: i32) attrs {relay.kernel = true} {
// CHECK-NEXT:    %A_1 = tir.decl_buffer "A" %A dims [%extent] : !tir.handle<f32> -> memref<?x48xf32>
// CHECK-NEXT:    tir.for serial "i" %i : i32 in [0 +: %extent] {
// CHECK-NEXT:      tir.for vectorized "j" %j : i32 in [0 +: 48] {
// CHECK-NEXT:        tir.block "A" (spatial "vi" %vi : i32 in [0 +: %extent] = %i, spatial "vj" %vj : i32 in [0 +: 48] = %j) {
// CHECK-NEXT:          tir.access reads %B[%vj] : memref<48xf32>
// CHECK-NEXT:          tir.access writes %A_1[%vi, %vj] : memref<?x48xf32>
// CHECK:       tir.func @scale("A" %A: memref<32x48xf32>, "B" %B: memref<48xf32>)
// CHECK:         %[[N:.*]] = arith.constant 32 : i32
// CHECK-NEXT:    tir.call @scale.merged(%{{.*}}, %{{.*}}, %[[N]])
// CHECK-NOT:   @scale_1
// CHECK:       tir.func @caller
// CHECK-NEXT:    %[[N:.*]] = arith.constant 40 : i32
// CHECK-NEXT:    tir.call @scale.merged(%A, %B, %[[N]]) : memref<40x48xf32>, memref<48xf32>, i32
