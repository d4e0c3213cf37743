// RUN: stepwell-opt %s -p contract-floats | filecheck %s
// RUN: stepwell-opt %s -p contract-floats{reductions=true} | filecheck %s --check-prefix REDUCTIONS

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

// Of reductions, only the updates of their elements.
tir.func @product("A" %A: memref<8xf32>, "B" %B: memref<8xf32>, "C" %C: memref<1xf32>) {
  %0 = arith.constant 0 : i32
  tir.for serial "k" %k : i32 in [0 +: 8] {
    tir.block "C" (reduce "vk" %vk : i32 in [0 +: 8] = %k) {
      tir.init {
        %1 = arith.constant 0.0 : f32
        %z = arith.constant 0 : i32
        tir.store %1, %C[%z] : memref<1xf32>
      }
      %a = arith.constant 0 : i32
      %2 = tir.load %C[%a] : memref<1xf32>
      %3 = tir.load %A[%vk] : memref<8xf32>
      %4 = tir.load %B[%vk] : memref<8xf32>
      %5 = arith.mulf %3, %3 : f32
      %6 = arith.addf %5, %4 : f32
      %7 = arith.mulf %6, %4 : f32
      %8 = arith.addf %2, %7 : f32
      %b = arith.constant 0 : i32
      tir.store %8, %C[%b] : memref<1xf32>
    }
  }
}
// CHECK:         tir.func @product(
// REDUCTIONS:     tir.func @sums(
// REDUCTIONS-NOT:   math.fma
// REDUCTIONS:     tir.func @product(
// REDUCTIONS:       arith.mulf
// REDUCTIONS:       [[FACTOR:%.+]] = arith.addf
// REDUCTIONS-NOT:   arith.mulf
// REDUCTIONS:       [[SUM:%.+]] = math.fma [[FACTOR]], %{{.+}}, %{{.+}} : f32
// REDUCTIONS:       tir.store [[SUM]], %C
