// RUN: stepwell-opt %s -p contract-floats | filecheck %s

tir.func @sums("A" %A: memref<8xf32>, "a" %a: f32, "b" %b: f32, "c" %c: f32, "h" %h: f16) {
  %0 = arith.constant 0 : i32
  %p = arith.mulf %a, %b : f32
  %s = arith.addf %c, %p : f32
  tir.store %s, %A[%0] : memref<8xf32>
  %q = arith.mulf %a, %b : f32
  %d = arith.subf %q, %c : f32
  tir.store %d, %A[%0] : memref<8xf32>
  %r = arith.mulf %a, %b : f32
  %e = arith.subf %c, %r : f32
  tir.store %e, %A[%0] : memref<8xf32>
}
// CHECK:         tir.func @sums(
// CHECK:           %s = math.fma %a, %b, %c : f32
// CHECK:           %{{.*}} = arith.negf %c : f32
// CHECK-NEXT:      %d = math.fma %a, %b, %{{.*}} : f32
// CHECK:           %{{.*}} = arith.negf %a : f32
// CHECK-NEXT:      %e = math.fma %{{.*}}, %b, %c : f32

tir.func @others("A" %A: memref<8xf32>, "H" %H: memref<8xf16>, "a" %a: f32, "b" %b: f32, "h" %h: f16) {
  %0 = arith.constant 0 : i32
  // A product that something else uses, and sums that no instruction computes.
  %p = arith.mulf %a, %b : f32
  %s = arith.addf %p, %b : f32
  %t = arith.mulf %s, %p : f32
  tir.store %t, %A[%0] : memref<8xf32>
  %q = arith.mulf %h, %h : f16
  %u = arith.addf %q, %h : f16
  tir.store %u, %H[%0] : memref<8xf16>
}
// CHECK:         tir.func @others(
// CHECK-NOT:       math.fma
